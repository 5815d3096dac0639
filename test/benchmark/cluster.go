// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// cloudProfileSize is the size of the largest CloudProfiles in use, in bytes.
const cloudProfileSize = 752_000

// seedCache reads a shoot's Namespace and its Cluster, with a large CloudProfile, from informers' stores like the
// cached reader of controller-runtime: it copies an object for the caller unless the caller forbids it.
type seedCache struct {
	client.Client // the interface of a manager; only Get is called

	stores map[reflect.Type]cache.Store
}

func newSeedCache() (*seedCache, error) {
	options := sample.Options{HighAvailability: true}
	cluster, err := sample.Cluster(options)
	if err != nil {
		return nil, err
	}
	if cluster.Spec.CloudProfile.Raw, err = grow(cluster.Spec.CloudProfile.Raw); err != nil {
		return nil, err
	}
	cluster.UID, cluster.ResourceVersion = "8a3f4f0e-5d1c-4a0b-9a53-1a9a3c3a7b11", "4711"
	namespace, err := sample.Namespace(options)
	if err != nil {
		return nil, err
	}
	partial := &metav1.PartialObjectMetadata{ObjectMeta: namespace.ObjectMeta}
	partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	partial.ResourceVersion = "4712"
	s := &seedCache{stores: map[reflect.Type]cache.Store{}}
	for _, object := range []client.Object{cluster, partial} {
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		if err := store.Add(object); err != nil {
			return nil, err
		}
		s.stores[reflect.TypeOf(object)] = store
	}
	return s, nil
}

// grow adds machine types and image versions to a CloudProfile until it has its size.
func grow(raw []byte) ([]byte, error) {
	var profile gardencorev1beta1.CloudProfile
	if err := json.Unmarshal(raw, &profile); err != nil {
		return nil, err
	}
	machine, image := profile.Spec.MachineTypes[0], &profile.Spec.MachineImages[0]
	version := image.Versions[0]
	one, err := json.Marshal([]any{machine, version})
	if err != nil {
		return nil, err
	}
	for i := range (cloudProfileSize - len(raw)) / len(one) {
		machine.Name, version.Version = fmt.Sprintf("type-%06d", i), fmt.Sprintf("1.%d.0", i)
		profile.Spec.MachineTypes = append(profile.Spec.MachineTypes, machine)
		image.Versions = append(image.Versions, version)
	}
	return json.Marshal(&profile)
}

// Get implements client.Reader.
func (s *seedCache) Get(_ context.Context, key client.ObjectKey, into client.Object,
	options ...client.GetOption) error {
	store, ok := s.stores[reflect.TypeOf(into)]
	if !ok {
		return fmt.Errorf("no informer for %T", into)
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	found, exists, err := store.GetByKey(name)
	if err != nil || !exists {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	get := client.GetOptions{}
	get.ApplyOptions(options)
	if get.UnsafeDisableDeepCopy == nil || !*get.UnsafeDisableDeepCopy {
		found = found.(runtime.Object).DeepCopyObject()
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}
