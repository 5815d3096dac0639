// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// lookupWatchers has the watchers for the objects with constant names that the active program looks up.
type lookupWatchers struct {
	client client.WithWatch // nil: nothing is watched

	mutex    sync.RWMutex
	context  context.Context // nil before Start
	watchers map[watched]*watcher
	group    sync.WaitGroup
}

// Serve watches the objects with constant names in these requests, and stops all other watches. Before Start, it only
// stores the requests.
func (s *Source) Serve(requests []facts.LookupRequest) {
	wanted := map[watched]facts.Selection{}
	for _, l := range requests {
		if !l.Computed {
			key := keyOf(l)
			wanted[key] = wanted[key].Join(l.Selection())
		}
	}
	s.lookups.serve(wanted)
}

func keyOf(l facts.LookupRequest) watched {
	return watched{l.GroupVersionKind, l.Namespace, l.ObjectName}
}

func (l *lookupWatchers) serve(wanted map[watched]facts.Selection) {
	if l.client == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for key, w := range l.watchers {
		if selection, ok := wanted[key]; !ok || !reflect.DeepEqual(selection, w.selection) {
			w.stop()
			delete(l.watchers, key)
		}
	}
	if l.watchers == nil {
		l.watchers = map[watched]*watcher{}
	}
	for key, selection := range wanted {
		if l.watchers[key] == nil {
			l.watchers[key] = newWatcher(key, selection, l.client)
			l.start(l.watchers[key])
		}
	}
}

// start runs a watcher once there is a context.
func (l *lookupWatchers) start(w *watcher) {
	if l.context == nil || l.context.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(l.context)
	l.group.Go(func() { w.controller.RunWithContext(ctx) })
}

// Start runs the watches and follows the versions of Clusters until the context ends. It never fails.
func (s *Source) Start(ctx context.Context) error {
	if s.versions.client != nil {
		s.lookups.group.Go(func() { s.versions.controller.RunWithContext(ctx) })
	}
	s.lookups.mutex.Lock()
	s.lookups.context = ctx
	for w := range maps.Values(s.lookups.watchers) {
		s.lookups.start(w)
	}
	s.lookups.mutex.Unlock()
	<-ctx.Done()
	s.lookups.group.Wait()
	return nil
}

// NeedLeaderElection returns false: every replica handles admissions.
func (*Source) NeedLeaderElection() bool { return false }

// watcher returns the watcher for a request, or nil.
func (l *lookupWatchers) watcher(r facts.LookupRequest) *watcher {
	if r.Computed || l.client == nil {
		return nil
	}
	l.mutex.RLock()
	w := l.watchers[keyOf(r)]
	l.mutex.RUnlock()
	if w == nil || !w.selection.Covers(r.Selection()) {
		return nil
	}
	return w
}

// cached returns the watcher's copy of the object for a control plane; absent reports that it does not exist.
func (w *watcher) cached(namespace string, r facts.LookupRequest) (found *facts.Found, absent bool) {
	in := r.In(namespace)
	if found, absent = w.get(in), w.lacks(in); found == nil && r.Scope == facts.ScopeUnknown {
		return w.get(""), absent && w.lacks("")
	}
	return found, absent
}

// Lookup implements facts.Source. It reads objects without a watcher, and those with computed names, from
// kube-apiserver: once, within the context's deadline, and without caching. A watcher also knows that an optional
// object does not exist.
func (s *Source) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.Found, error) {
	if w := s.lookups.watcher(l); w != nil {
		found, absent := w.cached(namespace, l)
		if absent && l.Optional {
			return nil, nil
		}
		// A missing key may have been added since the last event.
		if found != nil {
			if picked, err := l.Pick(found); err == nil {
				return picked, nil
			}
		}
	}
	key := client.ObjectKey{Namespace: l.In(namespace), Name: l.ObjectName}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(l.GroupVersionKind)
	err := s.direct.Get(ctx, key, object)
	switch {
	// The API server does not serve the kind, so the object does not exist.
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, l.Missing()
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("reading the %s %s: %w", l.Kind, key, readError(ctx.Err()))
	case err != nil:
		return nil, fmt.Errorf("reading the %s %s: %w", l.Kind, key, readError(err))
	}
	return l.Read(object.Object)
}
