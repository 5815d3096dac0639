// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"fmt"
	"slices"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Mutator applies profiles to whole objects. It supports all features of profiles.
type Mutator struct {
	compiled

	scheme *runtime.Scheme
}

var _ extensionswebhook.Mutator = (*Mutator)(nil)

// NewMutator returns a mutator of profiles; pass the manager's scheme. It returns source.Findings with positions if
// profiles are wrong, or if a rule needs facts and the options have no source of facts.
func NewMutator(scheme *runtime.Scheme, profiles []*profile.Document, o Options) (*Mutator, error) {
	c, err := compile(profiles, o)
	if err != nil {
		return nil, err
	}
	if o.Facts == nil {
		if err := c.refuse(needsFacts); err != nil {
			return nil, fmt.Errorf("making a mutator without facts: %w", err)
		}
		c.options.Facts = &facts.Static{}
	}
	return &Mutator{compiled: *c, scheme: scheme}, nil
}

// needsFacts returns the first variable of the facts that a rule uses, or an empty string.
func needsFacts(info mutation.RuleInfo) string {
	for _, name := range []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", "images", "lookups"} {
		if names(info.References, name) {
			return fmt.Sprintf("names %s, and there is no source of facts", name)
		}
	}
	return ""
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
	result, err := m.admit(ctx, mutation.Request{
		Operation: operationOf(oldRaw), Namespace: current.GetNamespace(), Name: current.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: raw, OldObject: oldRaw, Document: parsed,
	})
	if err != nil || result.Patch == nil {
		return err
	}
	if err := decode(parsed.Bytes(), current); err != nil {
		return fmt.Errorf("%s %s: %w", gvk.Kind, current.GetName(), err)
	}
	return nil
}

// operationOf returns the operation of the request, derived from the old object.
func operationOf(old []byte) string {
	if old == nil {
		return "CREATE"
	}
	return "UPDATE"
}
