// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"hash/maphash"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// sharedResources decodes cloud profiles and seeds once for each content, because every Cluster holds its own copy of both, and decoding
// a big cloud profile takes milliseconds.
type sharedResources struct {
	seed          maphash.Seed
	cloudProfiles *cache[uint64, shared[*facts.CloudProfile]]
	seeds         *cache[uint64, shared[*facts.Seed]]
}

// shared is a decoded resource with the bytes that it was decoded from.
type shared[T any] struct {
	raw   []byte
	value T
}

// maximumShared is how many contents of each are kept: a seed has few cloud profiles, each in few versions at one time.
const maximumShared = 64

func newSharedResources() sharedResources {
	return sharedResources{
		seed:          maphash.MakeSeed(),
		cloudProfiles: newCache[uint64, shared[*facts.CloudProfile]](maximumShared),
		seeds:         newCache[uint64, shared[*facts.Seed]](maximumShared),
	}
}

// decode decodes the Shoot, and the others when they are asked for: most rules name neither, and finding a content among those that
// are known already reads all of it.
func (s *sharedResources) decode(cluster *extensionsv1alpha1.Cluster) (*facts.Facts, error) {
	f := &facts.Facts{Namespace: facts.Namespace{Name: cluster.Name}}
	if raw := cluster.Spec.CloudProfile.Raw; raw != nil {
		f.CloudProfile = facts.Lazy(func() (*facts.CloudProfile, error) {
			return decodeShared(s.seed, s.cloudProfiles, raw, facts.DecodeCloudProfile)
		})
	}
	if raw := cluster.Spec.Seed.Raw; raw != nil {
		f.Seed = facts.Lazy(func() (*facts.Seed, error) { return decodeShared(s.seed, s.seeds, raw, facts.DecodeSeed) })
	}
	var err error
	f.Shoot, err = facts.DecodeShoot(cluster.Spec.Shoot.Raw)
	return f, err
}

func decodeShared[T any](seed maphash.Seed, known *cache[uint64, shared[T]], raw []byte, decode func([]byte) (T, error)) (T, error) {
	s, err := known.get(maphash.Bytes(seed, raw),
		func(s shared[T]) bool { return bytes.Equal(s.raw, raw) },
		func() (shared[T], error) {
			value, err := decode(raw)
			return shared[T]{raw, value}, err
		})
	return s.value, err
}
