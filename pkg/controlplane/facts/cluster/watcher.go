// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
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

// watcher follows objects with an informer that stores only the selected parts of each. It is safe for concurrent use.
type watcher struct {
	watched
	selection  facts.Selection
	client     client.WithWatch
	store      toolscache.Store
	controller toolscache.Controller
	stop       context.CancelFunc

	// watches is true if the API server accepted the last request for a watch.
	watches atomic.Bool
}

func newWatcher(objects watched, selection facts.Selection, c client.WithWatch) *watcher {
	w := &watcher{watched: objects, selection: selection, client: c, stop: func() {}}
	w.store, w.controller = toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: &toolscache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch},
		Handler:       toolscache.ResourceEventHandlerFuncs{},
		Transform:     w.pick,
	})
	return w
}

// get returns the known object in a namespace, or nil.
func (w *watcher) get(namespace string) *facts.Found {
	if p := w.stored(namespace); p != nil {
		return p.found
	}
	return nil
}

// lacks reports whether the watch knows that the namespace has no such object.
func (w *watcher) lacks(namespace string) bool {
	return w.controller.HasSynced() && w.watches.Load() && w.stored(namespace) == nil
}

func (w *watcher) stored(namespace string) *pick {
	object, _, _ := w.store.GetByKey(toolscache.NewObjectName(namespace, w.name).String())
	p, _ := object.(*pick)
	return p
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
	return list, nil
}

func (w *watcher) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	events, err := w.client.Watch(ctx, w.newList(), w.options(o))
	w.watches.Store(err == nil)
	return events, err
}

// pick is the stored part of an object.
type pick struct {
	metav1.ObjectMeta

	// found has the selected parts. It is nil for an unreadable object, which a lookup reads to get the error.
	found *facts.Found
}

// pick returns the required parts of an object, independently of the client's type.
func (w *watcher) pick(object any) (any, error) {
	plain, ok := object.(*unstructured.Unstructured)
	if !ok {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		plain = &unstructured.Unstructured{Object: content}
		plain.SetGroupVersionKind(w.GroupVersionKind)
	}
	found, _ := w.selection.Of(plain.Object)
	return &pick{*identity(plain), found}, nil
}
