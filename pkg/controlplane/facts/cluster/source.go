// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads facts from a seed: the Cluster with the name of the control plane's namespace, the namespace,
// and the Garden for the namespace "garden".
//
// Each version of a Cluster is decoded once. Most Clusters share their cloud profile and seed: these are kept once for
// each content, and decoded only if a rule uses them. No cache stores whole Clusters, because each contains a cloud
// profile: the cached metadata of a Cluster has its stored version, and a version that is not decoded yet is read.
// Objects from a cached reader are read without a copy and never changed. Lookups ask the API server, so that no cache
// stores Secrets. Start reading at New.
package cluster

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Options configure a Source. The zero value is usable.
type Options struct {
	// Clusters is the maximum number of cached Clusters; 0 means 512. The least recently used one is removed first.
	Clusters int
	// MetadataOnly reads the metadata of Clusters with the cached reader, and each new version with the direct one.
	// Otherwise, whole Clusters are read with the cached reader, which suits programs that have the informer anyway.
	MetadataOnly bool
}

// Source implements facts.Source.
type Source struct {
	cached, direct client.Reader
	facts          *lru.Cache // of versioned, by namespace
	shared         *lru.Cache // of *facts.LazyResource, by content
	metadataOnly   bool
	turns          [16]*semaphore.Weighted
}

var (
	_ facts.Source    = (*Source)(nil)
	_ facts.Refresher = (*Source)(nil)
)

// New returns a Source. It reads namespaces, Gardens and Clusters with the cached reader, whose data may be outdated. If
// an object is missing, it reads it once more with the direct reader, from kube-apiserver. It makes lookups with the
// direct reader. The schemes of both must contain Cluster (extensions.gardener.cloud/v1alpha1) and the core group.
func New(cached, direct client.Reader, options Options) *Source {
	s := &Source{
		cached: cached, direct: direct, facts: lru.New(cmp.Or(options.Clusters, 512)), shared: lru.New(maximumShared),
		metadataOnly: options.MetadataOnly,
	}
	for i := range s.turns {
		s.turns[i] = semaphore.NewWeighted(1)
	}
	return s
}

// Read implements facts.Source. With MetadataOnly, it reads a Cluster from kube-apiserver unless the facts of the latest
// known version are cached.
func (s *Source) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return s.readGarden(ctx, s.cached, s.direct)
	}
	meta, err := s.readNamespace(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case !s.metadataOnly:
		return s.readCluster(ctx, meta, s.cached, s.direct)
	}
	if f := s.latestFacts(ctx, meta); f != nil {
		return f, nil
	}
	turn := s.turn(namespace)
	if err := turn.Acquire(ctx, 1); err != nil {
		return nil, readError(err)
	}
	defer turn.Release(1)
	// Another caller may have read it in the meantime.
	if f := s.latestFacts(ctx, meta); f != nil {
		return f, nil
	}
	return s.readCluster(ctx, meta, s.direct)
}

// Refresh implements facts.Refresher: it reads the Cluster or the Garden from the API server. For a known version, it
// returns the cached facts.
func (s *Source) Refresh(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return s.readGarden(ctx, s.direct)
	}
	meta, err := s.readNamespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return s.readCluster(ctx, meta, s.direct)
}

func (s *Source) readNamespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := get(ctx, client.ObjectKey{Name: name}, namespace, s.cached, s.direct); err != nil {
		return nil, fmt.Errorf("reading the Namespace %s: %w", name, err)
	}
	return namespace, nil
}

var gardenKind = schema.GroupVersionKind{Group: "operator.gardener.cloud", Version: "v1alpha1", Kind: "Garden"}

// readGarden reads the single Garden. Its CustomResourceDefinition may be missing.
func (s *Source) readGarden(ctx context.Context, readers ...client.Reader) (*facts.Facts, error) {
	garden, err := findGarden(ctx, readers)
	if err != nil {
		return nil, fmt.Errorf("reading the Garden: %w", err)
	}
	namespace, err := s.readNamespace(ctx, target.GardenNamespace)
	if err != nil {
		return nil, err
	}
	v := version{garden.GetUID(), garden.GetResourceVersion(), namespace.ResourceVersion}
	return s.decodeOnce(v, namespace, func() (*facts.Facts, error) {
		raw, err := garden.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading the Garden: %w", facts.ErrUndecodable)
		}
		f, err := facts.FromGarden(raw)
		if err != nil {
			return nil, fmt.Errorf("reading the Garden: %w", err)
		}
		return f, nil
	})
}

func findGarden(ctx context.Context, readers []client.Reader) (*unstructured.Unstructured, error) {
	for _, reader := range readers {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gardenKind)
		err := reader.List(ctx, list, &client.ListOptions{UnsafeDisableDeepCopy: ptr.To(true)})
		switch {
		case err == nil && len(list.Items) > 1:
			return nil, fmt.Errorf("there are %d Gardens where one is allowed: %w", len(list.Items), facts.ErrUndecodable)
		case err == nil && len(list.Items) == 1:
			return &list.Items[0], nil
		case err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err):
			return nil, readError(err)
		}
	}
	return nil, facts.ErrNotFound
}

// uncopied is the option to return cached objects without a copy. They are only read here.
var uncopied = []client.GetOption{&client.GetOptions{UnsafeDisableDeepCopy: ptr.To(true)}}

// get reads an object with the first reader that has it, and from a cache without a copy. Immediately after the
// creation of an object, the informer may not have it yet.
func get(ctx context.Context, key client.ObjectKey, into client.Object, readers ...client.Reader) error {
	var err error
	for _, reader := range readers {
		err = reader.Get(ctx, key, into, uncopied...)
		if err == nil {
			return nil
		}
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return readError(err)
}

// readError converts an error of a reader to one of facts. The text of an API error names the object but never contains
// its content.
func readError(err error) error {
	if apierrors.IsNotFound(err) {
		return facts.ErrNotFound
	}
	return fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
}

// Lookup implements facts.Source. It reads the object from kube-apiserver: once, within the context's deadline, and
// without caching.
func (s *Source) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.LookupResult, error) {
	key := client.ObjectKey{Namespace: l.In(namespace), Name: l.ObjectName}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(l.GroupVersionKind)
	err := s.direct.Get(ctx, key, object)
	switch {
	// The API server does not serve the kind, so the object does not exist.
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, l.Missing()
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("reading the %s %s: %w", l.Kind, key, readError(ctx.Err()))
	case err != nil:
		return nil, fmt.Errorf("reading the %s %s: %w", l.Kind, key, readError(err))
	}
	return l.Read(object.Object)
}
