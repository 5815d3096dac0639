// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// register has the objects of one kind: their UIDs and names.
type register struct {
	client   metadata.Getter
	selector string
	// node restricts the register to the objects of one node; empty means all.
	node string
	stop context.CancelFunc

	mutex     sync.RWMutex
	reflector *cache.Reflector
	filled    bool
	uids      map[string]struct{}
	// names are UIDs by namespace and name.
	names map[string]string
}

// run keeps the register, until the context ends.
func (r *register) run(ctx context.Context) {
	all := r.client.Namespace(metav1.NamespaceAll)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = r.selector
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = r.selector
			return all.Watch(ctx, options)
		},
	}
	reflector := cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, r, cache.ReflectorOptions{Name: "leaks", TypeDescription: "holders of addresses"})
	r.mutex.Lock()
	r.reflector = reflector
	r.mutex.Unlock()
	reflector.RunWithContext(ctx)
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

// reached returns the version of the register, or 0.
func (r *register) reached() (uint64, error) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	if !r.filled {
		return 0, nil
	}
	// The reflector notes a version when the register has been told of it. While it begins, it has none.
	if text := r.reflector.LastSyncResourceVersion(); text != "" {
		return parseVersion(text)
	}
	return 0, nil
}

var errNoMetadata = errors.New("the cluster sent something without metadata")

// Add implements cache.ReflectorStore.
func (r *register) Add(object any) error { return r.Update(object) }

// Update implements cache.ReflectorStore.
func (r *register) Update(object any) error {
	m, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return errNoMetadata
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.put(m)
	return nil
}

func (r *register) put(m *metav1.PartialObjectMetadata) {
	name := m.Namespace + "/" + m.Name
	if before, known := r.names[name]; known && before != string(m.UID) {
		delete(r.uids, before)
	}
	r.uids[string(m.UID)], r.names[name] = struct{}{}, string(m.UID)
}

// Delete implements cache.ReflectorStore.
func (r *register) Delete(object any) error {
	m, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return errNoMetadata
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.uids, string(m.UID))
	if name := m.Namespace + "/" + m.Name; r.names[name] == string(m.UID) {
		delete(r.names, name)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (r *register) Replace(objects []any, _ string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.uids, r.names = make(map[string]struct{}, len(objects)), make(map[string]string, len(objects))
	for _, object := range objects {
		m, ok := object.(*metav1.PartialObjectMetadata)
		if !ok {
			return errNoMetadata
		}
		r.put(m)
	}
	r.filled = true
	return nil
}

// Resync implements cache.ReflectorStore.
func (r *register) Resync() error { return nil }

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
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if holder.UID != "" {
		_, lives = c.uids[holder.UID]
	} else {
		_, lives = c.names[holder.Namespace+"/"+holder.Name]
	}
	return lives, true
}
