// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// stored is which version of a Cluster is stored.
type stored struct {
	uid      types.UID
	resource string
}

// versions follows the stored version of each Cluster through its metadata, without its content. It is safe for
// concurrent use.
type versions struct {
	client client.WithWatch // nil: Clusters are not followed
	wire   *wire            // lists them
	gone   func(name string)

	mutex sync.RWMutex
	known map[string]stored // by name
}

// run follows the Clusters until the context ends. Where that fails, as before there are Clusters at all, it is tried again.
func (v *versions) run(ctx context.Context) {
	reflector := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{
		ListWithContextFunc: v.wire.list, WatchFuncWithContext: v.watch,
	}, nil, v, toolscache.ReflectorOptions{Name: "clusters", TypeDescription: "metadata of Clusters"})
	reflector.RunWithContext(ctx)
}

// of returns the latest known version of a Cluster. It returns false if the watch has not reported it (yet).
func (v *versions) of(name string) (stored, bool) {
	v.mutex.RLock()
	defer v.mutex.RUnlock()
	found, ok := v.known[name]
	return found, ok
}

func (v *versions) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("ClusterList"))
	return v.client.Watch(ctx, list, &client.ListOptions{Raw: &o})
}

var _ toolscache.ReflectorStore = (*versions)(nil)

// Replace implements cache.ReflectorStore: it is given all Clusters.
func (v *versions) Replace(objects []any, _ string) error {
	known := make(map[string]stored, len(objects))
	for _, object := range objects {
		if m, ok := object.(metav1.Object); ok {
			known[m.GetName()] = stored{m.GetUID(), m.GetResourceVersion()}
		}
	}
	v.mutex.Lock()
	before := v.known
	v.known = known
	v.mutex.Unlock()
	for name := range before {
		if _, ok := known[name]; !ok {
			v.gone(name)
		}
	}
	return nil
}

// Add implements cache.ReflectorStore.
func (v *versions) Add(object any) error { return v.Update(object) }

// Update implements cache.ReflectorStore.
func (v *versions) Update(object any) error {
	if m, ok := object.(metav1.Object); ok {
		v.mutex.Lock()
		defer v.mutex.Unlock()
		if v.known == nil {
			v.known = map[string]stored{}
		}
		v.known[m.GetName()] = stored{m.GetUID(), m.GetResourceVersion()}
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (v *versions) Delete(object any) error {
	if m, ok := object.(metav1.Object); ok {
		v.mutex.Lock()
		delete(v.known, m.GetName())
		v.mutex.Unlock()
		v.gone(m.GetName())
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (v *versions) Resync() error { return nil }
