// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
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

// latestFacts returns the cached facts if they have the version of the Cluster that the watch reported last, or nil.
func (s *Source) latestFacts(namespace *metav1.PartialObjectMetadata) *facts.Facts {
	cluster := s.stored(namespace.Name)
	if cluster == nil {
		return nil
	}
	return s.cachedFacts(namespace.Name, version{cluster.UID, cluster.ResourceVersion, namespace.ResourceVersion})
}

// stored returns the identity of a Cluster that the watch has reported, or nil.
func (s *Source) stored(name string) *metav1.ObjectMeta {
	if s.clusters == nil {
		return nil
	}
	object, _, _ := s.clusters.store.GetByKey(name)
	identity, _ := object.(*metav1.ObjectMeta)
	return identity
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
func share(known *lru.Cache, kind string, raw []byte, part func([]byte) *facts.Part) *facts.Part {
	key := content{kind, sha256.Sum256(raw)}
	if kept, ok := known.Get(key); ok {
		return kept.(*facts.Part)
	}
	made := part(raw)
	known.Add(key, made)
	return made
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

// watchClusters follows the stored version of each Cluster by its metadata, and drops the facts of deleted Clusters.
func (s *Source) watchClusters(c client.WithWatch) *watcher {
	list := func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("ClusterList"))
		return list
	}
	keep := func(object any) (any, error) {
		if m, ok := object.(metav1.Object); ok {
			return identity(m), nil
		}
		return object, nil
	}
	return newWatcher(c, list, client.ListOptions{}, keep, toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			s.facts.Remove(name)
		}
	}})
}
