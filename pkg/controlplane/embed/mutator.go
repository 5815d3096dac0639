// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Options are the settings for profiles in an extension.
type Options struct {
	// Provider is the type of the extension, such as openstack. Profiles for other providers have no rules here.
	Provider string
	// Set is the set of webhooks of the mutator; the default is target.ControlPlane. Each set needs a mutator.
	Set target.Set
	// Facts are where expressions see the Cluster and lookups: facts/cluster.New over the clients of the manager.
	// An empty facts.Static suffices for rules without facts.
	Facts facts.Source
	// Images override those in the image vectors of profiles, like IMAGEVECTOR_OVERWRITE elsewhere; nil for none.
	Images *image.Vector
	// Kubernetes restricts the served versions; nil means all. Rules are checked only against the flags of these.
	Kubernetes *semver.Constraints
}

// ErrNoRules means that no profile has a rule for the set and the provider.
var ErrNoRules = errors.New("no rules")

// Mutator applies profiles to whole objects. It supports all features of profiles.
type Mutator struct {
	scheme  *runtime.Scheme
	options Options
	// program has the rules of the set and the provider, and those of the set for a virtual garden.
	program *mutation.Program
	// shoots and garden report whether there are rules for shoots and for a virtual garden.
	shoots, garden bool
}

var _ extensionswebhook.Mutator = (*Mutator)(nil)

// NewMutator returns a mutator of profiles; pass the manager's scheme. It returns source.Findings with positions if
// profiles are wrong. It fails without a source of facts.
func NewMutator(scheme *runtime.Scheme, profiles []*profile.Document, o Options) (*Mutator, error) {
	if o.Facts == nil {
		return nil, errors.New("the mutator has no source of facts")
	}
	o.Set = cmp.Or(o.Set, target.ControlPlane)
	program, err := compiler.Compile(profiles, compiler.Options{Generation: contract.Today, ImageOverwrite: o.Images, Kubernetes: o.Kubernetes})
	if err != nil {
		return nil, fmt.Errorf("compiling the profiles: %w", err)
	}
	ours := func(info mutation.RuleInfo) bool {
		return info.Set == o.Set && (info.Garden || info.Provider == o.Provider)
	}
	m := &Mutator{scheme: scheme, options: o, program: program.Only(ours)}
	for _, info := range m.program.Rules() {
		if ours(info) {
			m.shoots, m.garden = m.shoots || !info.Garden, m.garden || info.Garden
		}
	}
	if !m.shoots && !m.garden {
		return nil, fmt.Errorf("compiling the profiles for %s of provider %q: %w", o.Set, o.Provider, ErrNoRules)
	}
	return m, nil
}

// Types returns the kinds of objects with rules, as unstructured objects. A webhook registered with them loses nothing;
// one with typed objects writes only fields that the types have, and unknown fields can move between items of a list
// when earlier items are added or removed, as with Gardener's library.
func (m *Mutator) Types() []extensionswebhook.Type {
	var kinds []schema.GroupVersionKind
	for _, registration := range m.program.Registrations() {
		for _, form := range registration.Forms {
			gvk := schema.GroupVersionKind{Group: form.Group, Version: form.Version, Kind: form.Kind}
			if !slices.Contains(kinds, gvk) {
				kinds = append(kinds, gvk)
			}
		}
	}
	types := make([]extensionswebhook.Type, len(kinds))
	for i, gvk := range kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		types[i].Obj = object
	}
	return types
}

// Mutate implements extensionswebhook.Mutator. An object without a rule stays unchanged. The error begins with its reason, as in
// docs/failures.md, and wraps a *mutation.Failure, or it is ErrFieldUnknown or ErrFieldType.
func (m *Mutator) Mutate(ctx context.Context, current, old client.Object) error {
	if current.GetDeletionTimestamp() != nil {
		return nil
	}
	gvk, err := apiutil.GVKForObject(current, m.scheme)
	if err != nil {
		return fmt.Errorf("finding the kind of %s: %w", current.GetName(), err)
	}
	raw, err := encode(current, gvk)
	if err != nil {
		return err
	}
	oldRaw, err := encode(old, gvk)
	if err != nil {
		return err
	}
	parsed, err := document.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", gvk.Kind, current.GetName(), err)
	}
	request := mutation.Request{
		Set: m.options.Set, Provider: m.options.Provider, Garden: current.GetNamespace() == target.GardenNamespace,
		Operation: "UPDATE", Namespace: current.GetNamespace(), Name: current.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: raw, OldObject: oldRaw, Document: parsed,
	}
	if oldRaw == nil {
		request.Operation = "CREATE"
	}
	if request.Garden {
		request.Provider = ""
	}
	if request.Garden && !m.garden || !request.Garden && !m.shoots {
		return nil
	}
	result, err := m.program.Admit(ctx, request, m.options.Facts)
	var failure *mutation.Failure
	if errors.As(err, &failure) {
		return fmt.Errorf("%s: %w", failure.Reason, failure)
	}
	if err != nil || result.Patch == nil {
		return err
	}
	if err := decode(parsed.Bytes(), current); err != nil {
		return fmt.Errorf("%s %s: %w", gvk.Kind, current.GetName(), err)
	}
	return nil
}
