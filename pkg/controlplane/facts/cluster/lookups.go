// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// watcher follows objects with an informer that stores only a part of each. It is safe for concurrent use.
type watcher struct {
	store      toolscache.Store
	controller toolscache.Controller
	// watches is true if the API server accepted the last request for a watch.
	watches atomic.Bool
}

// newWatcher returns a watcher of the objects that the list and the options select; keep returns the stored part.
func newWatcher(
	c client.WithWatch, newList func() client.ObjectList, only client.ListOptions, keep toolscache.TransformFunc, handler toolscache.ResourceEventHandler,
) *watcher {
	w := &watcher{}
	with := func(o metav1.ListOptions) *client.ListOptions {
		options := only
		options.Limit, options.Continue, options.Raw = o.Limit, o.Continue, &o
		return &options
	}
	w.store, w.controller = toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: &toolscache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				list := newList()
				if err := c.List(ctx, list, with(o)); err != nil {
					w.watches.Store(false)
					return nil, err
				}
				return list, nil
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				events, err := c.Watch(ctx, newList(), with(o))
				w.watches.Store(err == nil)
				return events, err
			},
		},
		Handler: handler, Transform: keep,
	})
	return w
}

func identity(m metav1.Object) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}
}

// watched are the objects of one name, in all namespaces or in one.
type watched struct {
	schema.GroupVersionKind
	namespace, name string
}

// lookupWatcher follows the objects of lookups with a constant name, and stores only the requested parts of each.
type lookupWatcher struct {
	*watcher
	name     string
	requests []facts.LookupRequest
	stop     context.CancelFunc
}

// picked is the stored part of an object.
type picked struct {
	metav1.ObjectMeta

	// found has the parts for each request of the watcher. It is nil for an unreadable object, which a lookup reads to
	// get the error.
	found []*facts.Found
}

func newLookupWatcher(key watched, requests []facts.LookupRequest, c client.WithWatch) *lookupWatcher {
	list := func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(key.GroupVersion().WithKind(key.Kind + "List"))
		return list
	}
	keep := func(object any) (any, error) {
		plain, ok := object.(*unstructured.Unstructured)
		if !ok { // some clients return typed objects
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				return nil, err
			}
			plain = &unstructured.Unstructured{Object: content}
		}
		return pick(plain, requests), nil
	}
	// kube-apiserver authorizes requests in this form by resourceNames.
	only := client.ListOptions{Namespace: key.namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.name)}
	return &lookupWatcher{newWatcher(c, list, only, keep, toolscache.ResourceEventHandlerFuncs{}), key.name, requests, func() {}}
}

func pick(object *unstructured.Unstructured, requests []facts.LookupRequest) *picked {
	p := &picked{ObjectMeta: *identity(object)}
	for _, r := range requests {
		found, _ := r.Select(object.Object)
		p.found = append(p.found, found)
	}
	return p
}

// get returns the parts for the request with an index from the known object in a namespace. It returns nil if it is not
// known; absent reports that the watch knows that it does not exist.
func (w *lookupWatcher) get(namespace string, request int) (found *facts.Found, absent bool) {
	object, exists, _ := w.store.GetByKey(toolscache.NewObjectName(namespace, w.name).String())
	if p, ok := object.(*picked); ok {
		found = p.found[request]
	}
	return found, !exists && w.controller.HasSynced() && w.watches.Load()
}

// lookupWatchers has the watchers for the objects with constant names that the active program looks up.
type lookupWatchers struct {
	client client.WithWatch // nil: nothing is watched

	mutex    sync.RWMutex
	context  context.Context // nil before Start
	watchers map[watched]*lookupWatcher
	group    sync.WaitGroup
}

// Serve watches the objects with constant names in these requests, and stops all other watches. Before Start, it only
// stores the requests.
func (s *Source) Serve(requests []facts.LookupRequest) {
	l := &s.lookups
	if l.client == nil {
		return
	}
	wanted := map[watched][]facts.LookupRequest{}
	for _, r := range requests {
		if key := keyOf(r); !r.Computed && indexOf(wanted[key], r) < 0 {
			wanted[key] = append(wanted[key], r)
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for key, w := range l.watchers {
		if !reflect.DeepEqual(wanted[key], w.requests) {
			w.stop()
			delete(l.watchers, key)
		}
	}
	for key, requests := range wanted {
		if l.watchers[key] == nil {
			l.watchers[key] = newLookupWatcher(key, requests, l.client)
			l.start(l.watchers[key])
		}
	}
}

func keyOf(l facts.LookupRequest) watched {
	return watched{l.GroupVersionKind, l.Namespace, l.ObjectName}
}

// indexOf returns the index of a request for the same parts of the same object, or -1.
func indexOf(requests []facts.LookupRequest, r facts.LookupRequest) int {
	return slices.IndexFunc(requests, func(known facts.LookupRequest) bool {
		known.Name, known.Optional = r.Name, r.Optional
		return reflect.DeepEqual(known, r)
	})
}

// start runs a watcher once there is a context.
func (l *lookupWatchers) start(w *lookupWatcher) {
	if l.context == nil || l.context.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(l.context)
	l.group.Go(func() { w.controller.RunWithContext(ctx) })
}

// Start runs the watches and follows the versions of Clusters until the context ends. It never fails.
func (s *Source) Start(ctx context.Context) error {
	l := &s.lookups
	if s.clusters != nil {
		l.group.Go(func() { s.clusters.controller.RunWithContext(ctx) })
	}
	l.mutex.Lock()
	l.context = ctx
	for _, w := range l.watchers {
		l.start(w)
	}
	l.mutex.Unlock()
	<-ctx.Done()
	l.group.Wait()
	return nil
}

// NeedLeaderElection returns false: every replica handles admissions.
func (*Source) NeedLeaderElection() bool { return false }

// watched returns the watcher's copy of the object for a control plane, or nil without one. absent reports that a
// watcher knows that it does not exist.
func (l *lookupWatchers) watched(namespace string, r facts.LookupRequest) (found *facts.Found, absent bool) {
	if r.Computed {
		return nil, false
	}
	l.mutex.RLock()
	w := l.watchers[keyOf(r)]
	l.mutex.RUnlock()
	if w == nil {
		return nil, false
	}
	request := indexOf(w.requests, r)
	if request < 0 {
		return nil, false
	}
	found, absent = w.get(r.In(namespace), request)
	if found == nil && r.Scope == facts.ScopeUnknown {
		clusterScoped, missing := w.get("", request)
		return clusterScoped, absent && missing
	}
	return found, absent
}

// Lookup implements facts.Source. It reads objects without a watcher, and those with computed names, from
// kube-apiserver: once, within the context's deadline, and without caching. A watcher also knows that an optional
// object does not exist.
func (s *Source) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.Found, error) {
	found, absent := s.lookups.watched(namespace, l)
	if absent && l.Optional {
		return nil, nil
	}
	// A missing key may have been added since the last event.
	if found != nil && l.Check(found) == nil {
		return found, nil
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
