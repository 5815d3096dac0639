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

// maximumShared is how many contents of each are kept: a seed has few cloud profiles, each in few versions at one time.
const maximumShared = 64

func newSharedResources() sharedResources {
	return sharedResources{
		seed:          maphash.MakeSeed(),
		cloudProfiles: newCache[uint64, shared[facts.CloudProfile]](maximumShared),
		seeds:         newCache[uint64, shared[facts.Seed]](maximumShared),
	}
}

// decode decodes the Shoot, and the parts that are named when they are asked for. The facts hold on to nothing else of the Cluster.
func (s *sharedResources) decode(cluster *extensionsv1alpha1.Cluster, parts facts.Parts) (*facts.Facts, error) {
	f := &facts.Facts{Namespace: facts.Namespace{Name: cluster.Name}}
	if raw := cluster.Spec.CloudProfile.Raw; raw != nil && parts.CloudProfile {
		f.CloudProfile = share(s.seed, s.cloudProfiles, raw, facts.DecodeCloudProfile)
	}
	if raw := cluster.Spec.Seed.Raw; raw != nil && parts.Seed {
		f.Seed = share(s.seed, s.seeds, raw, facts.DecodeSeed)
	}
	var err error
	if f.Shoot, err = facts.DecodeShoot(cluster.Spec.Shoot.Raw); f.Shoot != nil && !parts.Manifest {
		f.Shoot.Manifest = facts.Dropped()
	}
	return f, err
}

// share returns the part of which the content is known already, so that one copy of it is kept and decoded.
func share[T any](seed maphash.Seed, known *cache[uint64, shared[T]], raw []byte, decode func([]byte) (*T, error)) *facts.Part[T] {
	s, _ := known.get(maphash.Bytes(seed, raw),
		func(s shared[T]) bool { return bytes.Equal(s.raw, raw) },
		func() (shared[T], error) {
			return shared[T]{raw, facts.Lazy(func() (*T, error) { return decode(raw) })}, nil
		})
	return s.part
}
