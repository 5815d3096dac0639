// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// factSource has facts that were decoded from the sample, without a cluster between, and looks up in the cluster. What is not there,
// though a lookup needs it, it creates, so that names which are computed need not be known before.
type factSource struct {
	facts.Source

	known    *facts.Facts
	client   client.Client
	provider string
	// kinds are those of the control plane itself, of which nothing is made up.
	kinds map[string]bool
	lock  *sync.Mutex
}

// Read gives the known facts.
func (s factSource) Read(context.Context, string) (*facts.Facts, error) { return s.known, nil }

// Lookup looks up, and once more after it has created what was not there.
func (s factSource) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.Found, error) {
	found, err := s.Source.Lookup(ctx, namespace, l)
	missing := errors.Is(err, facts.ErrNotFound) || err == nil && found == nil
	if !missing || l.ObjectName == "" || s.kinds[l.Kind] {
		return found, err
	}
	object := sampleOf(namespace, s.provider, l)
	if object == nil {
		return found, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if problem := s.provide(ctx, object); problem != nil {
		return nil, fmt.Errorf("providing %s %s: %w", l.Kind, l.ObjectName, problem)
	}
	return s.Source.Lookup(ctx, namespace, l)
}

// provide creates an object with its status. One of a kind that is not there is left out, and one that is there is completed.
func (s factSource) provide(ctx context.Context, object *unstructured.Unstructured) error {
	status := object.Object["status"]
	err := s.client.Create(ctx, object)
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsAlreadyExists(err):
		err = s.client.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
	if err != nil || status == nil {
		return err
	}
	object.Object["status"] = status
	return s.client.Status().Update(ctx, object)
}

// sampleOf is an object for a lookup: an Infrastructure or a BackupBucket as a provider leaves it; of other kinds, which nobody knows
// here, what the lookup cannot do without. Nil: nothing is needed.
func sampleOf(namespace, provider string, l facts.LookupRequest) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	switch l.GroupVersionKind {
	case facts.Infrastructure:
		object.Object["spec"] = extensionSpec(provider)
		object.Object["status"] = map[string]any{
			"nodesCIDR": "10.250.0.0/16", "egressCIDRs": []any{"203.0.113.4/32"}, "observedGeneration": int64(1),
			"networking": map[string]any{"nodes": []any{"10.250.0.0/16"}, "pods": []any{"100.64.0.0/11"}, "services": []any{"100.104.0.0/13"}},
		}
	case facts.BackupBucket:
		object.Object["spec"] = extensionSpec(provider)
	default:
		if l.Optional {
			return nil
		}
	}
	object.SetGroupVersionKind(l.GroupVersionKind)
	object.SetName(l.ObjectName)
	object.SetNamespace(l.In(namespace))
	if l.Optional {
		return object
	}
	for _, path := range l.Fields {
		if _, there := path.In(object.Object); !there {
			setSample(object.Object, path)
		}
	}
	if len(l.Keys) > 0 {
		data := map[string]any{}
		for _, key := range l.Keys {
			data[key] = "sample-" + key
		}
		field := "data"
		if l.IsSecret() {
			field = "stringData"
		}
		object.Object[field] = data
	}
	return object
}

// extensionSpec is what every resource of the group extensions.gardener.cloud has.
func extensionSpec(provider string) map[string]any {
	return map[string]any{"type": provider, "region": "local", "secretRef": map[string]any{"name": "cloudprovider", "namespace": "garden"}}
}

// setSample writes a text that says what it is. A path through a list is left out: nobody knows what else its items have.
func setSample(object map[string]any, path facts.Path) {
	steps, err := fieldpath.Parse(string(path))
	if err != nil || slices.ContainsFunc(steps, func(s fieldpath.Step) bool { return s.By != "" || s.Position }) {
		return
	}
	keys := steps.Keys()
	last := keys[len(keys)-1]
	_ = unstructured.SetNestedField(object, "sample-"+strings.ToLower(last), keys...)
}
