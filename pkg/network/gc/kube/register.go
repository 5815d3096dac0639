// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// register has the objects of one kind.
type register struct {
	client   metadata.Getter
	selector string
	// node restricts the register to the objects of one node; empty means all.
	node string
	stop context.CancelFunc

	reflector *cache.Reflector
	// objects has the objects by UID, with an index of their namespaces and names.
	objects cache.Indexer
}

// byName is the index by namespace and name.
const byName = "name"

func newRegister(client metadata.Getter, node string) *register {
	r := &register{client: client, node: node, objects: newObjects()}
	if node != "" {
		r.selector = "spec.nodeName=" + node
	}
	all := client.Namespace(metav1.NamespaceAll)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = r.selector
			list, err := all.List(ctx, options)
			if err == nil {
				for i := range list.Items {
					shorten(&list.Items[i])
				}
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = r.selector
			changes, err := all.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(changes, func(e watch.Event) (watch.Event, bool) {
				if m, ok := e.Object.(*metav1.PartialObjectMetadata); ok && e.Type != watch.Bookmark {
					shorten(m)
				}
				return e, true
			}), nil
		},
	}
	r.reflector = cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, r.objects,
		cache.ReflectorOptions{Name: "leaks", TypeDescription: "holders of addresses"})
	return r
}

// newObjects returns an empty set of objects.
func newObjects() cache.Indexer {
	uid := func(object any) (string, error) {
		m, err := meta.Accessor(object)
		if err != nil {
			return "", err
		}
		return string(m.GetUID()), nil
	}
	return cache.NewIndexer(uid, cache.Indexers{byName: func(object any) ([]string, error) {
		name, err := cache.MetaNamespaceKeyFunc(object)
		return []string{name}, err
	}})
}

// shorten removes everything that does not identify an object, because there may be very many.
func shorten(m *metav1.PartialObjectMetadata) {
	m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// version returns the current version in the cluster. It is read from the store, not from the server's cache.
func (r *register) version(ctx context.Context) (uint64, error) {
	list, err := r.client.Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1, FieldSelector: r.selector})
	if err != nil {
		return 0, fmt.Errorf("asking the cluster: %w", err)
	}
	return parseVersion(list.ResourceVersion)
}

// reach waits until the register is at least as new as a version.
func (r *register) reach(ctx context.Context, version uint64) error {
	const look = 100 * time.Millisecond
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		reached, err := r.reached()
		if err != nil || reached >= version {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until all that has happened in the cluster is known: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// reached returns the version of the register, or 0 before it is complete: the reflector notes a version when the
// objects are up to date with it.
func (r *register) reached() (uint64, error) {
	if text := r.reflector.LastSyncResourceVersion(); text != "" {
		return parseVersion(text)
	}
	return 0, nil
}

// count is a register that is complete up to a time.
type count struct {
	*register
	at time.Time
}

// At implements gc.Living.
func (c *count) At() time.Time { return c.at }

// Has implements gc.Living.
func (c *count) Has(holder network.Holder) (lives, counted bool) {
	if c.node != "" && holder.Node != c.node {
		return false, false
	}
	if holder.UID != "" {
		_, lives, _ = c.objects.GetByKey(holder.UID) // never fails
		return lives, true
	}
	found, _ := c.objects.IndexKeys(byName, holder.Namespace+"/"+holder.Name) // the index exists
	return len(found) > 0, true
}
