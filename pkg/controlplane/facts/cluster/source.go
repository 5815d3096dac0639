// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads facts from a seed: the Cluster with the name of the control plane's namespace, the namespace,
// and the Garden for the namespace "garden".
//
// Each version of a Cluster is decoded once. Most Clusters share their cloud profile and seed: these are decoded once
// for each content, and only if a rule uses them. No cache stores whole Clusters, because each contains a cloud
// profile. A watch of their metadata reports the stored versions, and a version that is not cached is read. Objects
// from a cached reader are read without a copy and never changed. Lookups ask the API server, so that no cache stores
// Secrets. Start reading at New.
package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Options configure a Source. The zero value is usable.
type Options struct {
	// Clusters is the maximum number of cached Clusters; 0 means 512. The least recently used one is removed first.
	Clusters int
	// Watcher follows the versions of Clusters, and the objects of lookups with constant names. If it is nil, Clusters
	// are read with the cached reader, which suits programs that have the informer anyway, and each lookup calls the
	// API server.
	Watcher client.WithWatch
	// Requests reads resources in the group and version of Clusters from kube-apiserver. It is required with a Watcher.
	Requests rest.Interface
}

// Source implements facts.Source.
type Source struct {
	cached, direct client.Reader
	facts          *cache[string, versioned] // by namespace
	shared         sharedResources
	wire           wire
	versions       versions
	turns          *turns
	lookups        lookupWatchers
}

var (
	_ facts.Source    = (*Source)(nil)
	_ facts.Refresher = (*Source)(nil)
)

// version identifies the source of decoded facts: the resource, with its version and that of the namespace.
type version struct {
	uid                         types.UID
	resource, namespaceResource string
}

// versioned has the facts of one version, with the parts of the Cluster that were used when it was read.
type versioned struct {
	version
	parts facts.Parts
	facts *facts.Facts
}

// good reports whether the facts have this version and at least these parts.
func (k versioned) good(v version, parts facts.Parts) bool {
	return k.version == v && k.parts.Cover(parts)
}

// New returns a Source. It reads namespaces and Gardens, and Clusters without a Watcher, with the cached reader, whose
// data may be outdated. If an object is missing, it reads it once more with the direct reader, from kube-apiserver. It
// makes lookups with the direct reader. The schemes of both must contain Cluster (extensions.gardener.cloud/v1alpha1)
// and the core group.
func New(cached, direct client.Reader, options Options) *Source {
	size := options.Clusters
	if size <= 0 {
		size = 512
	}
	s := &Source{
		cached:  cached,
		direct:  direct,
		facts:   newCache[string, versioned](size),
		shared:  newSharedResources(),
		wire:    wire{client: options.Requests},
		turns:   newTurns(),
		lookups: lookupWatchers{client: options.Watcher},
	}
	s.versions = newVersions(options.Watcher, s.facts.remove)
	return s
}

// Read implements facts.Source, with all parts of the Cluster.
func (s *Source) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	return s.Naming(facts.AllParts()).Read(ctx, namespace)
}

// Refresh implements facts.Refresher: it reads the Cluster or the Garden from the API server. For a known version, it
// returns the cached facts.
func (s *Source) Refresh(ctx context.Context, namespace string) (*facts.Facts, error) {
	return s.Naming(facts.AllParts()).Refresh(ctx, namespace)
}

// HasCluster reports whether a namespace belongs to a shoot. It reads the Cluster from the API server if the watch does
// not know it yet.
func (s *Source) HasCluster(ctx context.Context, namespace string) bool {
	if _, known := s.versions.latest(namespace); known {
		return true
	}
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("Cluster"))
	return s.direct.Get(ctx, client.ObjectKey{Name: namespace}, cluster) == nil
}

// readCluster reads the Cluster with the first reader that has it.
func (s *Source) readCluster(ctx context.Context, namespace *metav1.PartialObjectMetadata, parts facts.Parts, readers ...client.Reader) (*facts.Facts, error) {
	var cluster extensionsv1alpha1.Cluster
	if err := get(ctx, client.ObjectKey{Name: namespace.Name}, &cluster, readers...); err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", namespace.Name, err)
	}
	v := version{cluster.UID, cluster.ResourceVersion, namespace.ResourceVersion}
	return s.decodeOnce(v, parts, namespace, func() (*facts.Facts, error) {
		found := s.shared.newResult(namespace.Name, parts)
		if err := errors.Join(found.cloudProfile(cluster.Spec.CloudProfile.Raw), found.seed(cluster.Spec.Seed.Raw), found.shoot(cluster.Spec.Shoot.Raw)); err != nil {
			return nil, fmt.Errorf("reading the Cluster %s: %w", namespace.Name, err)
		}
		return found.facts, nil
	})
}

// receiveCluster reads the Cluster from the API server.
func (s *Source) receiveCluster(ctx context.Context, namespace *metav1.PartialObjectMetadata, parts facts.Parts) (*facts.Facts, error) {
	found := s.shared.newResult(namespace.Name, parts)
	arrived, err := s.wire.get(ctx, namespace.Name, found)
	if err != nil {
		return nil, fmt.Errorf("reading the Cluster %s: %w", namespace.Name, err)
	}
	v := version{arrived.uid, arrived.resource, namespace.ResourceVersion}
	return s.decodeOnce(v, parts, namespace, func() (*facts.Facts, error) { return found.facts, nil })
}

// decodeOnce returns the cached facts of this version, or decodes them.
func (s *Source) decodeOnce(
	v version, parts facts.Parts, namespace *metav1.PartialObjectMetadata, decode func() (*facts.Facts, error),
) (*facts.Facts, error) {
	kept, err := s.facts.get(namespace.Name,
		func(kept versioned) bool { return kept.good(v, parts) },
		func() (versioned, error) {
			f, err := decode()
			if err != nil {
				return versioned{}, err
			}
			return versioned{v, parts, f.WithNamespace(describe(namespace))}, nil
		})
	return kept.facts, err
}

func (s *Source) readNamespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := get(ctx, client.ObjectKey{Name: name}, namespace, s.cached, s.direct); err != nil {
		return nil, fmt.Errorf("reading the Namespace %s: %w", name, err)
	}
	return namespace, nil
}

func describe(namespace *metav1.PartialObjectMetadata) facts.Namespace {
	return facts.Namespace{Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations}
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
	return s.decodeOnce(v, facts.Parts{}, namespace, func() (*facts.Facts, error) {
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
	if err != nil {
		return readError(err)
	}
	return nil
}

// readError converts an error of a reader to one of facts. The text of an API error names the object but never contains
// its content.
func readError(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
	case apierrors.IsNotFound(err):
		return facts.ErrNotFound
	default:
		return fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
	}
}

// View is a Source for a program that uses only some parts of a Cluster: other parts are unknown and not kept. Parts
// that were dropped are read again for another program that uses them.
type View struct {
	*Source

	parts facts.Parts
}

var (
	_ facts.Source    = View{}
	_ facts.Refresher = View{}
)

// Naming returns a view for a program that uses these parts.
func (s *Source) Naming(parts facts.Parts) View { return View{s, parts} }

// Read implements facts.Source.
func (v View) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return v.readGarden(ctx, v.cached, v.direct)
	}
	meta, err := v.readNamespace(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case v.versions.client == nil:
		return v.readCluster(ctx, meta, v.parts, v.cached, v.direct)
	}
	if f := v.cachedFacts(meta); f != nil {
		return f, nil
	}
	done, err := v.turns.take(ctx, namespace)
	if err != nil {
		return nil, err
	}
	defer done()
	// Another caller may have read it in the meantime.
	if f := v.cachedFacts(meta); f != nil {
		return f, nil
	}
	return v.receiveCluster(ctx, meta, v.parts)
}

// cachedFacts returns the facts of the latest known version, or nil if they are not cached.
func (v View) cachedFacts(namespace *metav1.PartialObjectMetadata) *facts.Facts {
	current, known := v.versions.latest(namespace.Name)
	if !known {
		return nil
	}
	kept, ok := v.facts.lookup(namespace.Name)
	if !ok || !kept.good(version{current.uid, current.resource, namespace.ResourceVersion}, v.parts) {
		return nil
	}
	return kept.facts
}

// Refresh implements facts.Refresher.
func (v View) Refresh(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return v.readGarden(ctx, v.direct)
	}
	meta, err := v.readNamespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if v.wire.client == nil {
		return v.readCluster(ctx, meta, v.parts, v.direct)
	}
	return v.receiveCluster(ctx, meta, v.parts)
}
