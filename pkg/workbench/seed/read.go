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
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

var (
	// ErrNoNamespace is wrapped by the error for a namespace that does not exist or has no control plane.
	ErrNoNamespace = errors.New("no control plane")
	// ErrNoControlPlane means that the profiles apply to no namespace of the seed.
	ErrNoControlPlane = errors.New("no namespace of the seed has a provider of the profiles")
)

var (
	namespaces = resource{GroupVersion: schema.GroupVersion{Version: "v1"}, plural: "namespaces"}
	clusters   = resource{GroupVersion: schema.GroupVersion{Group: "extensions.gardener.cloud", Version: "v1alpha1"}, plural: "clusters"}
	gardens    = resource{GroupVersion: schema.GroupVersion{Group: "operator.gardener.cloud", Version: "v1alpha1"}, plural: "gardens"}
)

// parallel is the number of control planes that are read concurrently.
const parallel = 8

// ControlPlanes returns the names of the namespaces for which the webhooks of the programs are called, sorted. It fails
// with ErrNoControlPlane if there is none.
func (s *Seed) ControlPlanes(ctx context.Context, programs ...*mutation.Program) ([]string, error) {
	providers := map[target.Set][]string{}
	found := map[string]bool{}
	for _, program := range programs {
		for _, r := range program.Registrations() {
			if r.Garden {
				found[target.GardenNamespace] = true
			} else if !slices.Contains(providers[r.Set], r.Provider) {
				providers[r.Set] = append(providers[r.Set], r.Provider)
			}
		}
	}
	for set, names := range providers {
		selector := fmt.Sprintf("%s in (%s)", set.NamespaceLabel(), strings.Join(names, ","))
		err := s.list(ctx, namespaces, selector, func(raw json.RawMessage) error {
			namespace, err := decodeNamespace(raw)
			found[namespace.Name] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
	}
	if found[target.GardenNamespace] {
		if _, err := s.get(ctx, namespaces, target.GardenNamespace); apierrors.IsNotFound(err) {
			delete(found, target.GardenNamespace)
		}
	}
	if len(found) == 0 {
		return nil, ErrNoControlPlane
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Snapshots reads control planes, several at a time, and calls progress with the number of completed ones. An
// unreadable one contains its error; the remaining ones are still read.
func (s *Seed) Snapshots(ctx context.Context, names []string, progress func(done, of int), programs ...*mutation.Program) ([]*Plane, error) {
	planes := make([]*Plane, len(names))
	err := each(ctx, len(names), progress, func(ctx context.Context, i int) {
		plane, err := s.Snapshot(ctx, names[i], programs...)
		if err != nil {
			plane = &Plane{Err: err}
		}
		plane.Name, planes[i] = names[i], plane
	})
	return planes, err
}

// Extend reads the objects that other programs have rules for, too. It fails if they cannot be read.
func (s *Seed) Extend(ctx context.Context, planes []*Plane, progress func(done, of int), programs ...*mutation.Program) error {
	return each(ctx, len(planes), progress, func(ctx context.Context, i int) {
		if planes[i].Err == nil {
			planes[i].Err = s.extend(ctx, planes[i], programs)
		}
	})
}

// each calls a function for control planes, several at a time. It fails with the context's error.
func each(ctx context.Context, count int, progress func(done, of int), do func(ctx context.Context, i int)) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var (
		lock sync.Mutex
		done int
	)
	for i := range count {
		group.Go(func() error {
			if do(inner, i); inner.Err() != nil {
				return inner.Err()
			}
			lock.Lock()
			defer lock.Unlock()
			if done++; progress != nil {
				progress(done, count)
			}
			return nil
		})
	}
	return group.Wait()
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

// Snapshot reads the objects of one control plane for which the programs have rules. The error wraps ErrNoNamespace if
// the namespace does not exist.
func (s *Seed) Snapshot(ctx context.Context, name string, programs ...*mutation.Program) (*Plane, error) {
	raw, err := s.get(ctx, namespaces, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: the seed has no namespace %s", ErrNoNamespace, name)
	} else if err != nil {
		return nil, fmt.Errorf("reading the Namespace %s: %w", name, err)
	}
	namespace, err := decodeNamespace(raw)
	if err != nil {
		return nil, err
	}
	known, err := s.facts(ctx, name)
	if err != nil {
		return nil, err
	}
	known = known.WithNamespace(namespace)
	plane := &Plane{Name: name, Taken: map[string]*annotation.Restored{}, Snapshot: &snapshot.Snapshot{
		Title: name, Facts: known, Old: map[string][]byte{}, Live: newLookups(s, known),
	}}
	if err := s.extend(ctx, plane, programs); err != nil {
		return nil, err
	}
	return plane, nil
}

// extend reads the objects with rules of the programs, except those that were already read.
func (s *Seed) extend(ctx context.Context, plane *Plane, programs []*mutation.Program) error {
	for _, wanted := range formsOf(plane.Snapshot.Namespace(), programs) {
		if slices.Contains(plane.forms, wanted) {
			continue
		}
		if err := s.objects(ctx, plane, wanted); err != nil {
			return err
		}
		plane.forms = append(plane.forms, wanted)
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
		err := s.list(ctx, gardens, "", func(raw json.RawMessage) error {
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
	raw, err := s.get(ctx, clusters, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: there is no Cluster %s, which describes the shoot", ErrNoNamespace, name)
	} else if err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", name, err)
	}
	return facts.FromCluster(raw)
}

// formsOf returns the forms of objects with rules in the namespace, each once; a form with any name makes named forms
// of the same kind superfluous.
func formsOf(namespace facts.Namespace, programs []*mutation.Program) []target.Form {
	var forms []target.Form
	for _, program := range programs {
		for _, r := range program.Registrations() {
			if !r.Selects(namespace.Name, namespace.Labels) {
				continue
			}
			for _, form := range r.Forms {
				form.Parts = 0
				if !slices.Contains(forms, form) {
					forms = append(forms, form)
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(forms), func(f target.Form) bool {
		anyName := f
		anyName.Name = ""
		return f.Name != "" && slices.Contains(forms, anyName)
	})
}

// objects reads the existing objects of a form.
func (s *Seed) objects(ctx context.Context, plane *Plane, form target.Form) error {
	of := resource{GroupVersion: schema.GroupVersion{Group: form.Group, Version: form.Version}, plural: form.Resource, namespace: plane.Name}
	if form.Name != "" && !strings.HasSuffix(form.Name, "*") {
		raw, err := s.get(ctx, of, form.Name)
		if apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading %s of %s: %w", form, plane.Name, err)
		}
		return plane.add(raw, form)
	}
	err := s.list(ctx, of, "", func(raw json.RawMessage) error {
		return plane.add(raw, form)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("listing %s of %s: %w", form.Resource, plane.Name, err)
	}
	return nil
}

// add adds an object in its current state and as written by Gardener.
func (p *Plane) add(raw []byte, form target.Form) error {
	current, name, err := tidy(raw, form)
	if err != nil {
		return fmt.Errorf("reading %s of %s: %w", form, p.Name, err)
	}
	if prefix, isPrefix := strings.CutSuffix(form.Name, "*"); isPrefix && !strings.HasPrefix(name, prefix) {
		return nil
	}
	taken, err := annotation.Restore(current)
	if err != nil {
		return fmt.Errorf("reading %s %s of %s: %w", form.Kind, name, p.Name, err)
	}
	object, err := manifest.New(taken.Object, source.Position{File: "the seed"})
	if err != nil {
		return fmt.Errorf("reading %s %s of %s: %w", form.Kind, name, p.Name, err)
	}
	key := snapshot.OldKey(object)
	if p.Snapshot.Old[key] != nil {
		return nil
	}
	p.Snapshot.Objects = append(p.Snapshot.Objects, object)
	p.Snapshot.Old[key], p.Taken[key] = current, taken
	return nil
}

// tidy adds the kind to an object of a list, and removes its managed fields.
func tidy(raw []byte, form target.Form) (object []byte, name string, err error) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	root := parsed.Root()
	version := schema.GroupVersion{Group: form.Group, Version: form.Version}.String()
	for key, value := range map[string]string{"apiVersion": version, "kind": form.Kind} {
		if root.Get(key) == nil {
			if _, err := root.Set(key, document.Quote(value)); err != nil {
				return nil, "", err
			}
		}
	}
	root.Get("metadata").Remove("managedFields")
	name, _ = root.Find("metadata", "name").Text()
	return parsed.Bytes(), name, nil
}

func decodeNamespace(raw []byte) (facts.Namespace, error) {
	var namespace struct {
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &namespace); err != nil {
		return facts.Namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return facts.Namespace(namespace.Metadata), nil
}

// memo keeps values by key. Callers of one key wait for the first.
type memo[V any] struct {
	// failures reports that errors are kept, except if the caller gave up or timed out.
	failures bool
	known    sync.Map
}

// result is a value that is read at its first use.
type result[V any] struct{ read func() (V, error) }

// get returns a value, and reads a missing one.
func (m *memo[V]) get(ctx context.Context, key string, read func(context.Context) (V, error)) (V, error) {
	for {
		found, waited := m.known.LoadOrStore(key, &result[V]{sync.OnceValues(func() (V, error) { return read(ctx) })})
		value, err := found.(*result[V]).read()
		gaveUp := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		if err == nil || m.failures && !gaveUp && ctx.Err() == nil {
			return value, err
		}
		m.known.CompareAndDelete(key, found)
		if !waited || !gaveUp || ctx.Err() != nil {
			return value, err
		}
	}
}

func (m *memo[V]) forget(key string) { m.known.Delete(key) }

// lookups is the Source of one control plane. It reads an object when a rule uses it, once for each requested part, and
// keeps only the requested parts.
type lookups struct {
	seed  *Seed
	facts *facts.Facts
	known memo[*facts.Found]
}

var _ facts.Source = (*lookups)(nil)

func newLookups(s *Seed, f *facts.Facts) *lookups {
	return &lookups{seed: s, facts: f, known: memo[*facts.Found]{failures: true}}
}

// Read implements facts.Source.
func (l *lookups) Read(context.Context, string) (*facts.Facts, error) { return l.facts, nil }

// Lookup implements facts.Source.
func (l *lookups) Lookup(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.Found, error) {
	key, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", request.Kind, request.ObjectName, err)
	}
	return l.known.get(ctx, string(key), func(ctx context.Context) (*facts.Found, error) { return l.read(ctx, namespace, request) })
}

func (l *lookups) read(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.Found, error) {
	of := resource{GroupVersion: request.GroupVersion(), plural: request.Resource, namespace: request.In(namespace)}
	if request.Scope == facts.ScopeUnknown {
		namespaced, err := l.seed.namespaced(ctx, of)
		if err != nil {
			return nil, fmt.Errorf("reading the %s %s: %w: %w", request.Kind, request.ObjectName, facts.ErrUnavailable, err)
		}
		if !namespaced {
			of.namespace = ""
		}
	}
	raw, err := l.seed.get(ctx, of, request.ObjectName)
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

// namespaced asks the API server whether the kind is namespaced. It returns true for an unknown kind.
func (s *Seed) namespaced(ctx context.Context, of resource) (bool, error) {
	plurals, err := s.kinds.get(ctx, of.GroupVersion.String(), func(ctx context.Context) (map[string]bool, error) {
		return s.discover(ctx, of.GroupVersion)
	})
	namespaced, ok := plurals[of.plural]
	return namespaced || !ok, err
}

// discover asks which kinds there are, and whether they live in namespaces.
func (s *Seed) discover(ctx context.Context, of schema.GroupVersion) (map[string]bool, error) {
	path := "/apis/" + of.String()
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	raw, err := s.do(ctx, http.MethodGet, path, nil, "", nil)
	if apierrors.IsNotFound(err) {
		return map[string]bool{}, nil
	} else if err != nil {
		return nil, err
	}
	var list struct {
		Resources []struct {
			Name       string `json:"name"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the kinds of %s: %w", of, err)
	}
	plurals := map[string]bool{}
	for _, r := range list.Resources {
		plurals[r.Name] = r.Namespaced
	}
	return plurals, nil
}
