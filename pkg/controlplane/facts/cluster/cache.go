// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"hash/maphash"

	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// cache keeps the values that were used last. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	recent *lru.Cache
}

func newCache[K comparable, V any](size int) *cache[K, V] { return &cache[K, V]{lru.New(size)} }

// get returns the value of the key if it is valid, and otherwise replaces it by the result of create. Two callers may make one at the same
// time. Errors are not kept.
func (c *cache[K, V]) get(key K, good func(V) bool, create func() (V, error)) (V, error) {
	if value, ok := c.lookup(key); ok && good(value) {
		return value, nil
	}
	value, err := create()
	if err == nil {
		c.store(key, value)
	}
	return value, err
}

func (c *cache[K, V]) lookup(key K) (V, bool) {
	kept, ok := c.recent.Get(key)
	value, _ := kept.(V)
	return value, ok
}

func (c *cache[K, V]) store(key K, value V) { c.recent.Add(key, value) }

func (c *cache[K, V]) remove(key K) { c.recent.Remove(key) }

// sharedResources keep cloud profiles and seeds once for each content, because every Cluster holds its own copy of both, and a cloud
// profile may be big.
type sharedResources struct {
	seed          maphash.Seed
	cloudProfiles *cache[uint64, shared[facts.CloudProfile]]
	seeds         *cache[uint64, shared[facts.Seed]]
}

// shared is a resource with the bytes that it is decoded from.
type shared[T any] struct {
	raw  []byte
	part *facts.Part[T]
}

// maximumShared limits the cached contents of each kind: a seed has few CloudProfiles, each in few versions.
const maximumShared = 64

func newSharedResources() sharedResources {
	return sharedResources{
		seed:          maphash.MakeSeed(),
		cloudProfiles: newCache[uint64, shared[facts.CloudProfile]](maximumShared),
		seeds:         newCache[uint64, shared[facts.Seed]](maximumShared),
	}
}

// met holds the resources found in a Cluster. It refers to no other part of the Cluster: it copies the bytes that it
// keeps.
type met struct {
	shared *sharedResources
	parts  facts.Parts
	facts  *facts.Facts
}

// of returns an empty result for a Cluster. Only these parts of the Cluster are used.
func (s *sharedResources) of(cluster string, parts facts.Parts) *met {
	return &met{s, parts, &facts.Facts{Namespace: facts.Namespace{Name: cluster}}}
}

// cloudProfile keeps the cloud profile, if it is used, and decodes it on first use.
func (m *met) cloudProfile(raw []byte) error {
	if m.parts.CloudProfile && !absent(raw) {
		m.facts.CloudProfile = share(m.shared.seed, m.shared.cloudProfiles, raw, facts.DecodeCloudProfile)
	}
	return nil
}

// seed works like cloudProfile.
func (m *met) seed(raw []byte) error {
	if m.parts.Seed && !absent(raw) {
		m.facts.Seed = share(m.shared.seed, m.shared.seeds, raw, facts.DecodeSeed)
	}
	return nil
}

// shoot decodes the shoot immediately.
func (m *met) shoot(raw []byte) (err error) {
	if m.parts.Manifest {
		raw = bytes.Clone(raw)
	}
	if m.facts.Shoot, err = facts.DecodeShoot(raw); m.facts.Shoot != nil && !m.parts.Manifest {
		m.facts.Shoot.Manifest = facts.Dropped()
	}
	return err
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// share returns the existing part with the same content, so that only one copy is kept and decoded.
func share[T any](seed maphash.Seed, known *cache[uint64, shared[T]], raw []byte, decode func([]byte) (*T, error)) *facts.Part[T] {
	s, _ := known.get(maphash.Bytes(seed, raw),
		func(s shared[T]) bool { return bytes.Equal(s.raw, raw) },
		func() (shared[T], error) {
			raw := bytes.Clone(raw)
			return shared[T]{raw, facts.Lazy(func() (*T, error) { return decode(raw) })}, nil
		})
	return s.part
}

// turns limits concurrent reads of Clusters, and lets callers that need the same Cluster share one read: admissions of
// a control plane arrive together, just after its Cluster has changed.
type turns struct {
	seed  maphash.Seed
	lanes [16]chan struct{}
}

func newTurns() *turns {
	t := &turns{seed: maphash.MakeSeed()}
	for i := range t.lanes {
		t.lanes[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits until the caller may read for a namespace. The caller must call the returned function afterwards.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	lane := t.lanes[maphash.String(t.seed, namespace)%uint64(len(t.lanes))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, readError(ctx.Err())
	}
}
