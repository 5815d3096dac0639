// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Planes writes control planes and shares the objects of those that differ only in their providers. Most of the time of
// a control plane is spent on the compression of resources for the shoot, which are not among its objects.
type Planes struct{ similar sync.Map }

// ControlPlane writes the same objects as the function ControlPlane. Edits must differ for different functions Edit.
func (p *Planes) ControlPlane(ctx context.Context, o Options, edits string) ([]Object, error) {
	shared := o
	shared.Provider, shared.SeedProvider, shared.BackupProvider, shared.Edit = "", "", "", nil
	shared.InfrastructureConfig, shared.ControlPlaneConfig, shared.CloudProfileConfig, shared.SeedConfig = nil, nil, nil, nil
	write, _ := p.similar.LoadOrStore(fmt.Sprintf("%#v %q", shared, edits), sync.OnceValues(func() ([]Object, error) { return ControlPlane(ctx, o) }))
	similar, err := write.(func() ([]Object, error))()
	if err != nil {
		return nil, err
	}
	etcds, err := etcds(ctx, o)
	objects := slices.Clone(similar)
	for i, object := range objects {
		if j := slices.IndexFunc(etcds, object.replaces); j >= 0 {
			objects[i] = etcds[j]
		}
	}
	return objects, err
}

// replaces reports whether the other object has the same kind and name.
func (o Object) replaces(other Object) bool {
	return o.Object.GetName() == other.Object.GetName() && o.Object.GetObjectKind().GroupVersionKind() == other.Object.GetObjectKind().GroupVersionKind()
}

// etcds writes the objects of ControlPlane that depend on the providers or their configurations.
func etcds(ctx context.Context, o Options) ([]Object, error) {
	p, err := newPlane(o, "")
	if err != nil {
		return nil, err
	}
	return p.run(ctx, []deployStep{{"etcds", p.etcds}})
}

// CheckFields returns the error of the first field that Gardener does not have in the Shoot, the Seed and the
// CloudProfile, which are members of a JSON object. The error is a FieldError of Kubernetes' JSON. Values of wrong types
// are not reported.
func CheckFields(written []byte) error {
	var into struct {
		Shoot        gardencorev1beta1.Shoot        `json:"shoot"`
		Seed         gardencorev1beta1.Seed         `json:"seed"`
		CloudProfile gardencorev1beta1.CloudProfile `json:"cloudProfile"`
	}
	if len(written) == 0 {
		return nil
	}
	unknown, err := kjson.UnmarshalStrict(written, &into, kjson.DisallowUnknownFields)
	if err != nil || len(unknown) == 0 {
		return nil //nolint:nilerr // the merge with the resource fails, too
	}
	field, ok := errors.AsType[kjson.FieldError](unknown[0])
	if !ok {
		return unknown[0]
	}
	path := field.FieldPath()
	return fmt.Errorf("%w%s", unknown[0], source.Suggest(path[strings.LastIndex(path, ".")+1:], source.FieldsBeside(path, reflect.TypeOf(into))))
}
