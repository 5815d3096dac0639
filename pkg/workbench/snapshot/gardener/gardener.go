// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener is the snapshot.Generator that writes control planes with Gardener's own component code, in this
// process. That code is heavy: graft itself must not link it, and runs graft-controlplane instead. Start reading at Generator.
package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// Generator writes control planes in this process.
type Generator struct{}

var _ snapshot.Generator = Generator{}

// Generate implements snapshot.Generator. The error is always nil.
func (Generator) Generate(ctx context.Context, options ...snapshot.Options) ([]snapshot.Generated, error) {
	planes := make([]snapshot.Generated, len(options))
	var similar sample.Planes
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, o := range options {
		group.Go(func() error {
			err := sample.CheckFields(o.Written)
			if err == nil {
				planes[i], err = plane(ctx, &similar, o)
			}
			if err != nil {
				planes[i].Error = err.Error()
			}
			if field, ok := errors.AsType[kjson.FieldError](err); ok {
				planes[i].Field = field.FieldPath()
			}
			return nil
		})
	}
	return planes, group.Wait()
}

// Serve reads options until the end of the input, one JSON object after the other, and writes a line for each in their
// order. The line contains an Error if the generation fails. Serve itself fails for invalid JSON, and if it cannot
// write.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var options []snapshot.Options
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	for {
		var o snapshot.Options
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the options of control plane %d: %w", len(options)+1, err)
		}
		options = append(options, o)
	}
	planes, err := Generator{}.Generate(ctx, options...)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, generated := range planes {
		if err := encoder.Encode(generated); err != nil {
			return fmt.Errorf("writing control planes: %w", err)
		}
	}
	return nil
}

// plane writes one control plane.
func plane(ctx context.Context, similar *sample.Planes, o snapshot.Options) (snapshot.Generated, error) {
	switch {
	case o.Garden && o.Legacy:
		return snapshot.Generated{}, fmt.Errorf("%w: there is no virtual garden of the older generation", sample.ErrOptions)
	case o.Garden:
		return garden(ctx, o)
	}
	options, err := sampled(o)
	if err != nil {
		return snapshot.Generated{}, err
	}
	var objects []sample.Object
	if o.Legacy {
		objects, err = sample.Legacy(sample.LegacyOptions{Kubernetes: o.Kubernetes, Namespace: o.Namespace, SNI: o.SNI})
	} else {
		objects, err = similar.ControlPlane(ctx, options, string(o.Shoot))
	}
	if err != nil {
		return snapshot.Generated{}, err
	}
	cluster, err := sample.Cluster(options)
	if err != nil {
		return snapshot.Generated{}, err
	}
	for _, part := range []struct {
		into  *[]byte
		patch []byte
	}{{&cluster.Spec.CloudProfile.Raw, o.CloudProfile}, {&cluster.Spec.Seed.Raw, o.Seed}} {
		if *part.into, err = snapshot.Merge(*part.into, part.patch); err != nil {
			return snapshot.Generated{}, err
		}
	}
	namespace, err := sample.Namespace(options)
	if err != nil {
		return snapshot.Generated{}, err
	}
	return written(namespace, cluster, objects)
}

// sampled returns the options of the sample. Those of the older generation have a Cluster of today with their version.
func sampled(o snapshot.Options) (sample.Options, error) {
	options := sample.Options{
		Kubernetes: o.Kubernetes, HighAvailability: o.HighAvailability, IPv6: o.IPv6, Hibernated: o.Hibernated, Workerless: o.Workerless,
		Namespace: o.Namespace, Provider: o.Provider, SeedProvider: o.SeedProvider, BackupProvider: o.BackupProvider, Annotations: o.Annotations,
		InfrastructureConfig: o.InfrastructureConfig, ControlPlaneConfig: o.ControlPlaneConfig, WorkerConfig: o.WorkerConfig,
		CloudProfileConfig: o.CloudProfileConfig, SeedConfig: o.SeedConfig,
	}
	version := ""
	if o.Legacy {
		options.Kubernetes = ""
		if version = o.Kubernetes; version == "" {
			version = "1.20.15"
		}
	}
	// Edit cannot fail, so that the merge is tried before.
	if err := edit(o.Shoot, version, &gardencorev1beta1.Shoot{}); err != nil {
		return options, err
	}
	options.Edit = func(shoot *gardencorev1beta1.Shoot) { _ = edit(o.Shoot, version, shoot) }
	return options, nil
}

// edit merges a patch into the Shoot, and sets the defaults of gardener-apiserver for the new parts.
func edit(patch []byte, version string, shoot *gardencorev1beta1.Shoot) error {
	if len(patch) > 0 {
		raw, err := json.Marshal(shoot)
		if err != nil {
			return fmt.Errorf("encoding the Shoot: %w", err)
		}
		if raw, err = snapshot.Merge(raw, patch); err != nil {
			return err
		}
		status := shoot.Status
		*shoot = gardencorev1beta1.Shoot{}
		if err := json.Unmarshal(raw, shoot); err != nil {
			return fmt.Errorf("merging into the Shoot: %w", source.JSONError(err))
		}
		if shoot.Status.TechnicalID == "" {
			shoot.Status.TechnicalID = status.TechnicalID
		}
		gardencorev1beta1.SetObjectDefaults_Shoot(shoot)
	}
	if version != "" {
		shoot.Spec.Kubernetes.Version = version
	}
	return nil
}

// garden writes the control plane of a virtual garden, and the Garden that asks for it.
func garden(ctx context.Context, o snapshot.Options) (snapshot.Generated, error) {
	options, err := sampled(o)
	if err != nil {
		return snapshot.Generated{}, err
	}
	options.Namespace = ""
	objects, err := sample.VirtualGarden(ctx, options)
	if err != nil {
		return snapshot.Generated{}, err
	}
	version := o.Kubernetes
	if version == "" {
		version = sample.NewestKubernetes
	}
	return written(
		&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "garden"}},
		&operatorv1alpha1.Garden{
			TypeMeta:   metav1.TypeMeta{APIVersion: operatorv1alpha1.SchemeGroupVersion.String(), Kind: "Garden"},
			ObjectMeta: metav1.ObjectMeta{Name: "garden"},
			Spec:       operatorv1alpha1.GardenSpec{VirtualCluster: operatorv1alpha1.VirtualCluster{Kubernetes: operatorv1alpha1.Kubernetes{Version: version}}},
		}, objects)
}

func written(namespace, cluster any, objects []sample.Object) (snapshot.Generated, error) {
	var (
		generated snapshot.Generated
		err       error
	)
	if generated.Namespace, err = json.Marshal(namespace); err != nil {
		return generated, fmt.Errorf("encoding the Namespace: %w", err)
	}
	if generated.Cluster, err = json.Marshal(cluster); err != nil {
		return generated, fmt.Errorf("encoding the Cluster: %w", err)
	}
	for _, o := range objects {
		generated.Objects = append(generated.Objects, o.JSON)
	}
	return generated, nil
}
