// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

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

// watched are the objects of one name, in all namespaces or in one.
type watched struct {
	schema.GroupVersionKind
	namespace, name string
}

// watcher follows objects and keeps only the selected parts of each: neither it nor its reflector holds a whole object
// longer than necessary to read it. It is safe for concurrent use.
type watcher struct {
	watched
	selection facts.Selection
	client    client.WithWatch
	stop      context.CancelFunc

	// watches says that the last request for a watch was granted.
	watches atomic.Bool

	mutex sync.RWMutex
	// found maps namespaces to objects, or to nil for unreadable ones; listed reports that it is complete.
	found  map[string]*facts.Found
	listed bool
}

// run follows the objects until the context ends. Where that fails it is tried again, ever more seldom.
func (w *watcher) run(ctx context.Context) {
	reflector := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{
		ListWithContextFunc: w.list, WatchFuncWithContext: w.watch,
	}, nil, w, toolscache.ReflectorOptions{Name: "lookups", TypeDescription: fmt.Sprintf("%s %s", w.Kind, w.name)})
	reflector.RunWithContext(ctx)
}

// get returns the known object in a namespace, or nil.
func (w *watcher) get(namespace string) *facts.Found {
	w.mutex.RLock()
	defer w.mutex.RUnlock()
	return w.found[namespace]
}

// lacks reports whether the watch knows that the namespace has no such object.
func (w *watcher) lacks(namespace string) bool {
	w.mutex.RLock()
	defer w.mutex.RUnlock()
	_, there := w.found[namespace]
	return w.listed && w.watches.Load() && !there
}

// options restricts a request to the name, in the form that kube-apiserver authorizes by resourceNames.
func (w *watcher) options(o metav1.ListOptions) *client.ListOptions {
	return &client.ListOptions{
		Namespace: w.namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.name),
		Limit: o.Limit, Continue: o.Continue, Raw: &o,
	}
}

func (w *watcher) newList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.GroupVersion().WithKind(w.Kind + "List"))
	return list
}

func (w *watcher) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list := w.newList()
	if err := w.client.List(ctx, list, w.options(o)); err != nil {
		w.watches.Store(false)
		return nil, err
	}
	picked := &picks{ListMeta: metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue()}}
	for i := range list.Items {
		picked.Items = append(picked.Items, *w.pick(&list.Items[i]))
	}
	return picked, nil
}

func (w *watcher) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	events, err := w.client.Watch(ctx, w.newList(), w.options(o))
	w.watches.Store(err == nil)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Error {
			return event, true
		}
		object, err := w.plain(event.Object)
		if err != nil {
			return event, false
		}
		event.Object = w.pick(object)
		return event, true
	}), nil
}

// plain returns the object as decoded JSON, independently of the client's type. The reflector must not receive other
// types, because it logs them.
func (w *watcher) plain(object runtime.Object) (*unstructured.Unstructured, error) {
	if plain, ok := object.(*unstructured.Unstructured); ok {
		return plain, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	plain := &unstructured.Unstructured{Object: content}
	if err == nil {
		plain.SetGroupVersionKind(w.GroupVersionKind)
	}
	return plain, err
}

// pick keeps the required parts of an object. It keeps nothing of an unreadable object, so that the caller gets the
// error.
func (w *watcher) pick(object *unstructured.Unstructured) *pick {
	p := &pick{}
	p.Namespace, p.Name, p.ResourceVersion = object.GetNamespace(), object.GetName(), object.GetResourceVersion()
	p.Annotations = bookmarks(object)
	p.found, _ = w.selection.Of(object.Object)
	return p
}

// bookmarks returns the annotations with which the reflector recognizes the end of a list in a watch.
func bookmarks(object *unstructured.Unstructured) map[string]string {
	if value, ok := object.GetAnnotations()[metav1.InitialEventsAnnotationKey]; ok && object.GetName() == "" {
		return map[string]string{metav1.InitialEventsAnnotationKey: value}
	}
	return nil
}

// pick is the part of an object that the reflector handles.
type pick struct {
	metav1.PartialObjectMetadata

	found *facts.Found
}

// DeepCopyObject implements runtime.Object.
func (p *pick) DeepCopyObject() runtime.Object {
	return &pick{PartialObjectMetadata: *p.PartialObjectMetadata.DeepCopy(), found: p.found}
}

// picks are a list.
type picks struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []pick
}

// DeepCopyObject implements runtime.Object.
func (p *picks) DeepCopyObject() runtime.Object {
	return &picks{TypeMeta: p.TypeMeta, ListMeta: p.ListMeta, Items: append([]pick(nil), p.Items...)}
}

var _ toolscache.ReflectorStore = (*watcher)(nil)

// Replace implements cache.ReflectorStore: it is given all objects.
func (w *watcher) Replace(objects []any, _ string) error {
	found := make(map[string]*facts.Found, len(objects))
	for _, object := range objects {
		if p, ok := object.(*pick); ok {
			found[p.Namespace] = p.found
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.found, w.listed = found, true
	return nil
}

// Add implements cache.ReflectorStore.
func (w *watcher) Add(object any) error {
	w.put(object, false)
	return nil
}

// Update implements cache.ReflectorStore.
func (w *watcher) Update(object any) error {
	w.put(object, false)
	return nil
}

// Delete implements cache.ReflectorStore.
func (w *watcher) Delete(object any) error {
	w.put(object, true)
	return nil
}

// Resync implements cache.ReflectorStore.
func (w *watcher) Resync() error { return nil }

// put cannot fail: the reflector would log the object.
func (w *watcher) put(object any, gone bool) {
	p, ok := object.(*pick)
	if !ok {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.found == nil {
		w.found = map[string]*facts.Found{}
	}
	if gone {
		delete(w.found, p.Namespace)
	} else {
		w.found[p.Namespace] = p.found
	}
}
