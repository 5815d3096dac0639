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

// get returns the value of the key if it is valid, and otherwise replaces it with the result of create. Two callers may
// create it concurrently. Errors are not stored.
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

// sharedResources stores each cloud profile and seed once for each content, because every Cluster contains a copy of
// both, and cloud profiles can be large.
type sharedResources struct {
	seed          maphash.Seed
	cloudProfiles *cache[uint64, shared[facts.CloudProfile]]
	seeds         *cache[uint64, shared[facts.Seed]]
}

// shared is a decoded resource with its bytes.
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

// foundResources has the used resources of a Cluster. It copies their bytes, so that it does not refer to the rest of
// the Cluster.
type foundResources struct {
	shared *sharedResources
	parts  facts.Parts
	facts  *facts.Facts
}

// newResult returns an empty result for a Cluster. It will store only these parts.
func (s *sharedResources) newResult(cluster string, parts facts.Parts) *foundResources {
	return &foundResources{s, parts, &facts.Facts{Namespace: facts.Namespace{Name: cluster}}}
}

// cloudProfile stores the cloud profile if it is used. It is decoded at its first use.
func (f *foundResources) cloudProfile(raw []byte) error {
	if f.parts.CloudProfile && !absent(raw) {
		f.facts.CloudProfile = share(f.shared.seed, f.shared.cloudProfiles, raw, facts.DecodeCloudProfile)
	}
	return nil
}

// seed works like cloudProfile.
func (f *foundResources) seed(raw []byte) error {
	if f.parts.Seed && !absent(raw) {
		f.facts.Seed = share(f.shared.seed, f.shared.seeds, raw, facts.DecodeSeed)
	}
	return nil
}

// shoot decodes the shoot immediately.
func (f *foundResources) shoot(raw []byte) (err error) {
	if f.parts.Manifest {
		raw = bytes.Clone(raw)
	}
	if f.facts.Shoot, err = facts.DecodeShoot(raw); f.facts.Shoot != nil && !f.parts.Manifest {
		f.facts.Shoot.Manifest = facts.Dropped()
	}
	return err
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// share returns the existing part with the same content, so that only one copy is stored and decoded.
func share[T any](seed maphash.Seed, known *cache[uint64, shared[T]], raw []byte, decode func([]byte) (*T, error)) *facts.Part[T] {
	s, _ := known.get(maphash.Bytes(seed, raw),
		func(s shared[T]) bool { return bytes.Equal(s.raw, raw) },
		func() (shared[T], error) {
			raw := bytes.Clone(raw)
			return shared[T]{raw, facts.Lazy(func() (*T, error) { return decode(raw) })}, nil
		})
	return s.part
}

// turns limits concurrent reads of Clusters, and lets callers that need the same Cluster share one read: the admissions
// of a control plane arrive together, just after its Cluster has changed.
type turns struct {
	seed  maphash.Seed
	locks [16]chan struct{}
}

func newTurns() *turns {
	t := &turns{seed: maphash.MakeSeed()}
	for i := range t.locks {
		t.locks[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits until the caller may read for a namespace. The caller must call the returned function afterwards.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	lock := t.locks[maphash.String(t.seed, namespace)%uint64(len(t.locks))]
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, readError(ctx.Err())
	}
}
