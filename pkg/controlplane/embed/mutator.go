// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed lets an existing Gardener extension use profiles in its own manager: a Mutator is an
// extensionswebhook.Mutator of Gardener's extension library.
//
// It runs the engine of Graft's own webhooks. The library decodes objects into Go types, or into unstructured objects,
// which lose nothing. A Mutator accepts the latter (see Mutator.Types).
//
// The package must not register webhooks, serve, or reload profiles: the extension's manager does all that. Start
// reading at Load and NewMutator; docs/usage/embedding.md has an example.
package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/Masterminds/semver/v3"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
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
	options Options
	program *mutation.Program
	// registrations are those of the set for the provider, and for a virtual garden.
	registrations []mutation.Registration
}

var _ extensionswebhook.Mutator = (*Mutator)(nil)

// NewMutator returns a mutator of profiles. It returns source.Findings with positions if profiles are wrong. It fails
// without a source of facts.
func NewMutator(profiles []*profile.Document, o Options) (*Mutator, error) {
	if o.Facts == nil {
		return nil, errors.New("the mutator has no source of facts")
	}
	o.Set = cmp.Or(o.Set, target.ControlPlane)
	program, err := compiler.Compile(profiles, compiler.Options{Generation: contract.Today, ImageOverwrite: o.Images, Kubernetes: o.Kubernetes})
	if err != nil {
		return nil, fmt.Errorf("compiling the profiles: %w", err)
	}
	m := &Mutator{options: o, program: program}
	for _, r := range program.Registrations() {
		if r.Set == o.Set && (r.Garden || r.Provider == o.Provider) {
			m.registrations = append(m.registrations, r)
		}
	}
	if m.registrations == nil {
		return nil, fmt.Errorf("compiling the profiles for %s of provider %q: %w", o.Set, o.Provider, ErrNoRules)
	}
	return m, nil
}

// Types returns the kinds of objects with rules, as unstructured objects, which lose nothing.
func (m *Mutator) Types() []extensionswebhook.Type {
	var kinds []schema.GroupVersionKind
	for _, registration := range m.registrations {
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

// ErrTyped means that an object has a Go type, in which fields would be lost.
var ErrTyped = errors.New("the object is not unstructured: register the webhook with Mutator.Types, or convert the object")

// Mutate implements extensionswebhook.Mutator for unstructured objects. An object without a rule stays unchanged. The error
// begins with its reason, as in docs/failures.md, and wraps a *mutation.Failure, or it is ErrTyped.
func (m *Mutator) Mutate(ctx context.Context, current, old client.Object) error {
	object, ok := current.(*unstructured.Unstructured)
	before, isUnstructured := old.(*unstructured.Unstructured)
	if !ok || old != nil && !isUnstructured {
		return fmt.Errorf("mutating %s: %w", current.GetName(), ErrTyped)
	}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	raw, err := encode(object)
	if err != nil {
		return err
	}
	oldRaw, err := encode(before)
	if err != nil {
		return err
	}
	gvk := object.GroupVersionKind()
	parsed, err := document.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	request := mutation.Request{
		Set: m.options.Set, Provider: m.options.Provider, Garden: object.GetNamespace() == target.GardenNamespace,
		Operation: "UPDATE", Namespace: object.GetNamespace(), Name: object.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: raw, OldObject: oldRaw, Document: parsed,
	}
	if oldRaw == nil {
		request.Operation = "CREATE"
	}
	if request.Garden {
		request.Provider = ""
	}
	if !slices.ContainsFunc(m.registrations, func(r mutation.Registration) bool { return r.Garden == request.Garden }) {
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
	changed := &unstructured.Unstructured{}
	if changed.UnmarshalJSON(parsed.Bytes()) != nil {
		return errors.New("decoding the result: it has no kind") // the library's error has the whole object
	}
	object.Object = changed.Object
	return nil
}

// encode returns the JSON of an object, or nil without one.
func encode(u *unstructured.Unstructured) ([]byte, error) {
	if u == nil {
		return nil, nil
	}
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", u.GetName(), err)
	}
	return raw, nil
}

// ErrNoProfiles means that there is no profile to be loaded.
var ErrNoProfiles = errors.New("no profiles")

// Load reads the profiles in the top folder of a file system, such as an embed.FS: all files that end in .yaml or .yml,
// except those that a profile uses as a file. For a folder on disk, pass the FS of an os.Root, which does not follow
// links out of it. An error of a profile is of type source.Findings, with positions.
func Load(folder fs.FS) ([]*profile.Document, error) {
	files, err := readProfiles(folder)
	if err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	files = profile.WithoutAttachments(files, func(_ source.File, path string) string { return path })
	if len(files) == 0 {
		return nil, fmt.Errorf("loading profiles: %w", ErrNoProfiles)
	}
	documents, findings := profile.Load(files...)
	if err := findings.Err(); err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	return documents, nil
}

func readProfiles(folder fs.FS) ([]source.File, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, err
	}
	var files []source.File
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			continue
		}
		data, err := disk.ReadFS(folder, name, disk.DocumentSize)
		if err != nil {
			return nil, err
		}
		files = append(files, profile.Attach(source.File{Name: name, Data: data}, func(attached string) ([]byte, error) {
			return disk.ReadFS(folder, attached, disk.DocumentSize)
		}))
	}
	return files, nil
}
