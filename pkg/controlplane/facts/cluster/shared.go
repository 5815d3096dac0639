// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"hash/maphash"

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

// met holds the resources found in a Cluster. It refers to no other part of the Cluster: it copies the bytes that it
// keeps.
type met struct {
	shared *sharedResources
	parts  facts.Parts
	facts  *facts.Facts
}

// of returns an empty result for a Cluster of which only these parts are used.
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
