// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// version identifies the source of decoded facts: the resource, with its version and that of the namespace.
type version struct {
	uid                         types.UID
	resource, namespaceResource string
}

// versioned has the facts of one version.
type versioned struct {
	version
	facts *facts.Facts
}

// ClusterMetadata returns an object to read the metadata of a Cluster with.
func ClusterMetadata() *metav1.PartialObjectMetadata {
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("Cluster"))
	return cluster
}

// latestFacts returns the cached facts if they have the version of the Cluster in the cache of metadata, or nil.
func (s *Source) latestFacts(ctx context.Context, namespace *metav1.PartialObjectMetadata) *facts.Facts {
	cluster := ClusterMetadata()
	if s.cached.Get(ctx, client.ObjectKey{Name: namespace.Name}, cluster, uncopied...) != nil {
		return nil // reading the whole Cluster reports the error
	}
	return s.cachedFacts(namespace.Name, version{cluster.UID, cluster.ResourceVersion, namespace.ResourceVersion})
}

func (s *Source) cachedFacts(namespace string, v version) *facts.Facts {
	kept, _ := s.facts.Get(namespace)
	if known, ok := kept.(versioned); ok && known.version == v {
		return known.facts
	}
	return nil
}

// readCluster reads the Cluster with the first reader that has it. It decodes each version once.
func (s *Source) readCluster(ctx context.Context, namespace *metav1.PartialObjectMetadata, readers ...client.Reader) (*facts.Facts, error) {
	var cluster extensionsv1alpha1.Cluster
	if err := get(ctx, client.ObjectKey{Name: namespace.Name}, &cluster, readers...); err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", namespace.Name, err)
	}
	return s.decodeOnce(version{cluster.UID, cluster.ResourceVersion, namespace.ResourceVersion}, namespace, func() (*facts.Facts, error) {
		cloudProfile := share(s.shared, "CloudProfile", cluster.Spec.CloudProfile.Raw, facts.CloudProfile)
		seed := share(s.shared, "Seed", cluster.Spec.Seed.Raw, facts.Seed)
		return facts.FromParts(namespace.Name, cloudProfile, seed, cluster.Spec.Shoot.Raw)
	})
}

// decodeOnce returns the cached facts of this version, or decodes and caches them. Two callers may decode them
// concurrently. Errors are not cached.
func (s *Source) decodeOnce(v version, namespace *metav1.PartialObjectMetadata, decode func() (*facts.Facts, error)) (*facts.Facts, error) {
	if known := s.cachedFacts(namespace.Name, v); known != nil {
		return known, nil
	}
	decoded, err := decode()
	if err != nil {
		return nil, err
	}
	found := decoded.WithNamespace(facts.Namespace{Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations})
	s.facts.Add(namespace.Name, versioned{v, found})
	return found, nil
}

// maximumShared limits the cached contents of cloud profiles and seeds: a seed has few CloudProfiles, each in few
// versions.
const maximumShared = 64

// content identifies the content of a part, and how it is decoded.
type content struct {
	kind string
	sum  [sha256.Size]byte
}

// share returns the known part with the same content, or makes one. Every Cluster contains a copy of its cloud profile and
// seed, and cloud profiles can be large, so that only one copy is kept and decoded.
func share(known *lru.Cache, kind string, raw []byte, part func([]byte) *facts.LazyResource) *facts.LazyResource {
	key := content{kind, sha256.Sum256(raw)}
	if kept, ok := known.Get(key); ok {
		return kept.(*facts.LazyResource)
	}
	made := part(raw)
	known.Add(key, made)
	return made
}

var seedOfTurns = maphash.MakeSeed()

// turn returns the semaphore for reads of a Cluster. It limits concurrent reads, and lets callers that need the same
// Cluster share one read: the admissions of a control plane arrive together, just after its Cluster has changed.
func (s *Source) turn(namespace string) *semaphore.Weighted {
	return s.turns[maphash.String(seedOfTurns, namespace)%uint64(len(s.turns))]
}
