// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

var (
	// ErrNoNamespace is wrapped by the error for a namespace that does not exist or has no control plane.
	ErrNoNamespace = errors.New("no control plane")
	// ErrNoControlPlane means that the profiles apply to no namespace of the seed.
	ErrNoControlPlane = errors.New("no namespace of the seed has a provider of the profiles")
)

// The resources with facts about a control plane.
var (
	clusters = target.Form{Group: "extensions.gardener.cloud", Version: "v1alpha1", Resource: "clusters"}
	gardens  = target.Form{Group: "operator.gardener.cloud", Version: "v1alpha1", Resource: "gardens"}
)

// parallel is the number of control planes that are read concurrently.
const parallel = 8

// ControlPlanes returns the names of the namespaces for which the webhooks of the program are called, sorted. It fails
// with ErrNoControlPlane if there is none.
func (s *Seed) ControlPlanes(ctx context.Context, program *mutation.Program) ([]string, error) {
	all := program.Registrations()
	shoots := slices.DeleteFunc(slices.Clone(all), func(r mutation.Registration) bool { return r.Garden })
	namespaces, err := drift.ControlPlanes(ctx, s, shoots)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, namespace := range namespaces {
		names = append(names, namespace.Name)
	}
	if len(shoots) < len(all) {
		// If it is unreadable, Snapshots reports it as one unreadable control plane.
		if _, err := drift.ReadNamespace(ctx, s, target.GardenNamespace); !apierrors.IsNotFound(err) {
			names = append(names, target.GardenNamespace)
		}
	}
	if len(names) == 0 {
		return nil, ErrNoControlPlane
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Snapshots reads control planes, several at a time, and calls progress with the number of completed ones. An
// unreadable one contains its error; the remaining ones are still read.
func (s *Seed) Snapshots(ctx context.Context, names []string, progress func(done, of int), program *mutation.Program) ([]*Plane, error) {
	planes := make([]*Plane, len(names))
	err := compare.Each(ctx, parallel, len(names), progress, func(ctx context.Context, i int) error {
		plane, err := s.Snapshot(ctx, names[i], program)
		if err != nil {
			plane = &Plane{Err: err}
		}
		plane.Name, planes[i] = names[i], plane
		return nil
	})
	return planes, err
}

// Extend reads the objects that another program has rules for, too. It fails if they cannot be read.
func (s *Seed) Extend(ctx context.Context, planes []*Plane, program *mutation.Program) error {
	return compare.Each(ctx, parallel, len(planes), nil, func(ctx context.Context, i int) error {
		if planes[i].Err == nil {
			planes[i].Err = s.extend(ctx, planes[i], program)
		}
		return nil
	})
}

// Plane is the current control plane in the seed.
type Plane struct {
	// Name is the name of the namespace.
	Name string
	// Snapshot has the objects restored to Gardener's values as far as known, and in Old the current ones; nil with an
	// error.
	Snapshot *snapshot.Snapshot
	// Taken holds the restored values of each object, by snapshot.OldKey.
	Taken map[string]*annotation.Restored
	// Err is the error of reading the control plane.
	Err error

	// forms lists the forms of the objects that were read.
	forms []target.Form
}

// Snapshot reads the objects of one control plane for which the program has rules. The error wraps ErrNoNamespace if
// the namespace does not exist.
func (s *Seed) Snapshot(ctx context.Context, name string, program *mutation.Program) (*Plane, error) {
	source, err := s.source(ctx, name)
	if err != nil {
		return nil, err
	}
	plane := &Plane{Name: name, Taken: map[string]*annotation.Restored{}, Snapshot: &snapshot.Snapshot{
		Title: name, Facts: source.facts, Old: map[string][]byte{}, Live: source,
	}}
	if err := s.extend(ctx, plane, program); err != nil {
		return nil, err
	}
	return plane, nil
}

// source returns the source of facts and lookups of one control plane. The error wraps ErrNoNamespace if the namespace
// does not exist or has no control plane.
func (s *Seed) source(ctx context.Context, name string) (*lookups, error) {
	namespace, err := drift.ReadNamespace(ctx, s, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: the seed has no namespace %s", ErrNoNamespace, name)
	} else if err != nil {
		return nil, err
	}
	known, err := s.facts(ctx, name)
	if err != nil {
		return nil, err
	}
	return &lookups{seed: s, facts: known.WithNamespace(namespace), known: map[string]lookup{}}, nil
}

// extend reads the objects with rules of the program, except those of forms that were already read.
func (s *Seed) extend(ctx context.Context, plane *Plane, program *mutation.Program) error {
	var selected []mutation.Registration
	var forms []target.Form
	for _, r := range program.Registrations() {
		if namespace := plane.Snapshot.Namespace(); !r.Selects(namespace.Name, namespace.Labels) {
			continue
		}
		selected = append(selected, r)
		for _, form := range r.Forms {
			if form.Parts = 0; !slices.Contains(plane.forms, form) {
				plane.forms, forms = append(plane.forms, form), append(forms, form)
			}
		}
	}
	for _, form := range drift.Distinct(forms) {
		err := drift.Objects(ctx, s, form, plane.Name, page, func(raw json.RawMessage) error { return plane.add(raw, form, selected) })
		if err != nil {
			return fmt.Errorf("reading %s of %s: %w", form, plane.Name, err)
		}
	}
	slices.SortFunc(plane.Snapshot.Objects, func(a, b manifest.Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// facts returns the facts of the Cluster or the Garden.
func (s *Seed) facts(ctx context.Context, name string) (*facts.Facts, error) {
	if name == target.GardenNamespace {
		var all []json.RawMessage
		err := drift.List(ctx, s, gardens, "", "", page, func(raw json.RawMessage) error {
			all = append(all, raw)
			return nil
		})
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading the Garden: %w", err)
		case len(all) != 1:
			return nil, fmt.Errorf("%w: there are %d Gardens where there must be one", ErrNoNamespace, len(all))
		}
		return facts.FromGarden(all[0])
	}
	raw, err := s.Read(ctx, drift.Path(clusters, "", name), nil)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: there is no Cluster %s, which describes the shoot", ErrNoNamespace, name)
	} else if err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", name, err)
	}
	return facts.FromCluster(raw)
}

// add adds an object in its current state and as written by Gardener, if one of the webhooks is called for it.
func (p *Plane) add(raw []byte, form target.Form, selected []mutation.Registration) error {
	current, name, err := drift.ReadObject(raw, form)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(selected, func(r mutation.Registration) bool { return r.Has(form.Group, form.Kind, name) }) {
		return nil
	}
	taken, err := annotation.Restore(current)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	object, err := manifest.New(taken.Object, source.Position{File: "the seed"})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	key := snapshot.OldKey(object)
	if p.Snapshot.Old[key] != nil {
		return nil
	}
	p.Snapshot.Objects = append(p.Snapshot.Objects, object)
	p.Snapshot.Old[key], p.Taken[key] = current, taken
	return nil
}

// lookups is the source of facts and lookups of one control plane. It reads an object when a rule uses it, once for each
// requested part, and keeps only the requested parts.
type lookups struct {
	seed  *Seed
	facts *facts.Facts

	// mutex guards known, and is held while an object is read.
	mutex sync.Mutex
	known map[string]lookup
}

// lookup is the result of a lookup.
type lookup struct {
	found *facts.LookupResult
	err   error
}

var _ facts.Source = (*lookups)(nil)

// Read implements facts.Source.
func (l *lookups) Read(context.Context, string) (*facts.Facts, error) { return l.facts, nil }

// Lookup implements facts.Source. It keeps errors, except if the caller gave up or the request timed out.
func (l *lookups) Lookup(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.LookupResult, error) {
	key, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", request.Kind, request.ObjectName, err)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if known, ok := l.known[string(key)]; ok {
		return known.found, known.err
	}
	found, err := l.read(ctx, namespace, request)
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		l.known[string(key)] = lookup{found, err}
	}
	return found, err
}

func (l *lookups) read(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.LookupResult, error) {
	form := target.Form{Group: request.Group, Version: request.Version, Resource: request.Resource}
	namespace = request.In(namespace)
	if request.Scope == facts.ScopeUnknown && !l.namespaced(ctx, form) {
		namespace = ""
	}
	raw, err := l.seed.Read(ctx, drift.Path(form, namespace, request.ObjectName), nil)
	if apierrors.IsNotFound(err) {
		return nil, request.Missing()
	} else if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w: %w", request.Kind, request.ObjectName, facts.ErrUnavailable, err)
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", request.Kind, request.ObjectName, facts.ErrUndecodable)
	}
	return request.Read(object)
}

// namespaced returns whether the objects of a form are in namespaces, as those of unknown kinds.
func (l *lookups) namespaced(ctx context.Context, form target.Form) bool {
	path := strings.TrimSuffix(drift.Path(form, "", ""), "/"+form.Resource)
	var known metav1.APIResourceList
	if raw, err := l.seed.Read(ctx, path, nil); err != nil || json.Unmarshal(raw, &known) != nil {
		return true
	}
	return !slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Name == form.Resource && !r.Namespaced })
}
