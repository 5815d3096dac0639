// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// Standing is the side of the objects as they stand in the seed.
type Standing struct{}

// standing is the author of values that, as far as known, Gardener did not write.
var standing = render.Author{Rule: "as it stands"}

// Admit implements compare.Side.
func (Standing) Admit(_ context.Context, s *scene.Scene, object manifest.Object) (*render.Change, error) {
	return become(object, s.Old[scene.OldKey(object)], standing)
}

// Installed is the side of the webhooks that are installed in the seed: they are asked by an update that is a dry run, of the object as
// Gardener writes it.
type Installed struct {
	Seed *Seed
	// Resources are the plurals of the kinds of objects, as the forms of programs have them.
	Resources map[schema.GroupKind]string
}

// installed is the author of changes by the installed webhooks.
var installed = render.Author{Rule: "the installed webhooks"}

// NewInstalled returns the side for objects with rules in the programs.
func NewInstalled(s *Seed, programs ...*mutation.Program) Installed {
	side := Installed{Seed: s, Resources: map[schema.GroupKind]string{}}
	for _, program := range programs {
		for _, r := range program.Registrations() {
			for _, form := range r.Forms {
				side.Resources[schema.GroupKind{Group: form.Group, Kind: form.Kind}] = form.Resource
			}
		}
	}
	return side
}

// Admit implements compare.Side. An object that a webhook of Graft denies is a change with Denied set; if the webhooks
// cannot be called, or the update is refused for another reason, the error wraps compare.ErrUnknown.
func (i Installed) Admit(ctx context.Context, s *scene.Scene, object manifest.Object) (*render.Change, error) {
	gv, err := schema.ParseGroupVersion(object.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("asking about %s: %w", object, err)
	}
	of := resource{GroupVersion: gv, plural: i.Resources[schema.GroupKind{Group: gv.Group, Kind: object.Kind}], namespace: s.Namespace().Name}
	answer, err := i.Seed.dryRun(ctx, of, object)
	if apierrors.IsConflict(err) {
		// The object was changed concurrently: use its new version.
		if object.JSON, err = i.renew(ctx, of, object); err == nil {
			answer, err = i.Seed.dryRun(ctx, of, object)
		}
	}
	if err == nil {
		return become(object, answer, installed)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	change, problem := render.NewChange(object.JSON)
	if problem != nil {
		return nil, problem
	}
	if change.Denied = denial(err); change.Denied == nil {
		return nil, fmt.Errorf("%w: %s", compare.ErrUnknown, advice(err))
	}
	return change, nil
}

// dryRun returns the object that kube-apiserver would store, without storing it.
func (s *Seed) dryRun(ctx context.Context, of resource, object manifest.Object) ([]byte, error) {
	query := url.Values{"dryRun": {"All"}, "fieldValidation": {"Ignore"}, "fieldManager": {"graft"}}
	return s.do(ctx, http.MethodPut, of.path(object.Name), query, runtime.ContentTypeJSON, object.JSON)
}

// renew returns the object with its current version.
func (i Installed) renew(ctx context.Context, of resource, object manifest.Object) ([]byte, error) {
	raw, err := i.Seed.get(ctx, of, object.Name)
	if err != nil {
		return nil, err
	}
	now, _, err := tidy(raw, target.Form{Group: of.Group, Version: of.Version, Kind: object.Kind})
	if err != nil {
		return nil, err
	}
	taken, err := mutation.TakeBack(now)
	if err != nil {
		return nil, err
	}
	return taken.Object, nil
}

// become returns the change from the object written by Gardener to the result of another author.
func become(object manifest.Object, after []byte, by render.Author) (*render.Change, error) {
	change, err := render.NewChange(object.JSON)
	if err != nil {
		return nil, err
	}
	unmarked, err := mutation.Unmarked(after)
	if err != nil {
		return nil, err
	}
	return change, change.Become(by, unmarked)
}

// webhookDomain ends the names of Graft's webhooks (pkg/controlplane/webhook/registration.go).
const webhookDomain = ".graft.extensions.gardener.cloud"

// denied is the prefix of kube-apiserver's message for a denial by a webhook (k8s.io/apiserver
// pkg/admission/plugin/webhook/errors).
const denied = "admission webhook "

// denial returns the reason why a webhook of Graft denied an object, or nil for another error.
func denial(err error) error {
	rest, ok := strings.CutPrefix(messageOf(err), denied)
	if !ok {
		return nil
	}
	name, reason, ok := strings.Cut(rest, " denied the request")
	if !ok || !strings.HasSuffix(strings.Trim(name, `"`), webhookDomain) {
		return nil
	}
	return errors.New(strings.TrimPrefix(reason, ": "))
}

// messageOf returns the message of kube-apiserver, or an empty string for another error.
func messageOf(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Message
	}
	return ""
}

// advice returns a description of the error with the required action.
func advice(err error) string {
	switch message := messageOf(err); {
	case strings.HasPrefix(message, denied):
		return "another webhook refuses the dry run: " + message
	case strings.Contains(message, "failed calling webhook"):
		return "the installed webhooks do not answer: " + message
	case apierrors.IsForbidden(err):
		return "the dry run is not permitted, which needs the verb update (--no-dry-run only reads): " + message
	case apierrors.IsInvalid(err):
		return "the API server refuses the object as Gardener writes it: " + message
	default:
		return err.Error()
	}
}

// Versions counts the objects of the control planes by the versions of profiles that mutated them; the empty name
// counts objects without a mark.
func Versions(planes []*Plane) map[string]int {
	count := map[string]int{}
	for _, plane := range planes {
		for _, taken := range plane.Taken {
			if len(taken.Profiles) == 0 {
				count[""]++
			}
			for _, version := range slices.Compact(slices.Sorted(slices.Values(taken.Profiles))) {
				count[version]++
			}
		}
	}
	return count
}
