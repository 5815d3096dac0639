// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/gardener/gardener/pkg/client/kubernetes"
)

// recorder is the client for Gardener's components. It keeps the objects as they were written: without resource
// versions, timestamps and managed fields, which a fake API server would add. Methods that components do not call
// during a deployment (watches, sub-resources, server-side apply) are missing and panic.
type recorder struct {
	client.Client

	scheme *runtime.Scheme
	mutex  sync.Mutex
	stored map[recordKey]client.Object
}

type recordKey struct {
	schema.GroupVersionKind
	client.ObjectKey
}

func newRecorder(objects ...client.Object) (*recorder, error) {
	r := &recorder{scheme: kubernetes.SeedScheme, stored: map[recordKey]client.Object{}}
	for _, o := range objects {
		if err := r.Create(context.Background(), o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Scheme returns the scheme of a seed.
func (r *recorder) Scheme() *runtime.Scheme { return r.scheme }

// Get copies a previously written object into o, or fails with NotFound.
func (r *recorder) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	key, err := r.key(name, o)
	if err != nil {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	stored, ok := r.stored[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: key.Group, Resource: key.Kind}, name.Name)
	}
	into, from := reflect.ValueOf(o).Elem(), reflect.ValueOf(stored.DeepCopyObject()).Elem()
	if into.Type() != from.Type() {
		return fmt.Errorf("reading %s %s into a %T", key.Kind, name, o)
	}
	into.Set(from)
	return nil
}

// List returns nothing: components list only objects of former configurations, which a new control plane does not have.
func (r *recorder) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// Create writes o, or returns an AlreadyExists error.
func (r *recorder) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return r.put(o, false)
}

// Update overwrites the object with o.
func (r *recorder) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return r.put(o, true)
}

// Patch overwrites the object with o, because Gardener creates its patches from o itself.
func (r *recorder) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return r.put(o, true)
}

// put stores a copy of o. It fails unless o is stored already, or not, as required.
func (r *recorder) put(o client.Object, stored bool) error {
	key, err := r.key(client.ObjectKeyFromObject(o), o)
	if err != nil {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	resource := schema.GroupResource{Group: key.Group, Resource: key.Kind}
	switch _, ok := r.stored[key]; {
	case ok && !stored:
		return apierrors.NewAlreadyExists(resource, key.Name)
	case !ok && stored:
		return apierrors.NewNotFound(resource, key.Name)
	}
	r.stored[key] = o.DeepCopyObject().(client.Object)
	return nil
}

// Delete forgets o.
func (r *recorder) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	key, err := r.key(client.ObjectKeyFromObject(o), o)
	if err != nil {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.stored, key)
	return nil
}

func (r *recorder) key(name client.ObjectKey, o client.Object) (recordKey, error) {
	gvk, err := apiutil.GVKForObject(o, r.scheme)
	return recordKey{gvk, name}, err
}

// clientSet is the client set of a seed. Components use only its client during a deployment.
type clientSet struct {
	kubernetes.Interface
	client client.Client
}

// Client returns the recorder.
func (c clientSet) Client() client.Client { return c.client }
