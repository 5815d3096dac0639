// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// stored identifies the stored version of a Cluster.
type stored struct {
	uid      types.UID
	resource string
}

// versions follows the stored version of each Cluster with an informer for its metadata. Without a client, no version
// is known.
type versions struct {
	client     client.WithWatch
	store      toolscache.Store
	controller toolscache.Controller
}

// newVersions returns versions that call gone with the name of each deleted Cluster. The client may be nil.
func newVersions(c client.WithWatch, gone func(name string)) versions {
	v := versions{client: c}
	v.store, v.controller = toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: &toolscache.ListWatch{ListWithContextFunc: v.list, WatchFuncWithContext: v.watch},
		Transform:     onlyIdentity,
		Handler: toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
			if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				gone(name)
			}
		}},
	})
	return v
}

// latest returns the latest known version of a Cluster. It returns false if the watch has not reported it (yet).
func (v *versions) latest(name string) (stored, bool) {
	object, ok, _ := v.store.GetByKey(name)
	m, isObject := object.(metav1.Object)
	if !ok || !isObject {
		return stored{}, false
	}
	return stored{m.GetUID(), m.GetResourceVersion()}, true
}

func (v *versions) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list := clusterMetadata()
	err := v.client.List(ctx, list, &client.ListOptions{Limit: o.Limit, Continue: o.Continue, Raw: &o})
	return list, err
}

func (v *versions) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return v.client.Watch(ctx, clusterMetadata(), &client.ListOptions{Raw: &o})
}

func clusterMetadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("ClusterList"))
	return list
}

// onlyIdentity removes everything but the identity from an object, such as annotations.
func onlyIdentity(object any) (any, error) {
	m, ok := object.(metav1.Object)
	if !ok {
		return object, nil
	}
	return identity(m), nil
}

func identity(m metav1.Object) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}
}
