// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// stage is the shoot's namespace and what is known of it, with the engine that the program runs itself to know what the
// API server must store.
type stage struct {
	client    client.Client
	program   *mutation.Program
	namespace *corev1.Namespace
	source    facts.Source
}

// unlabelled is a namespace for which no webhook is called. Nothing is stored in it: it shows what the API server makes of an
// object on its own.
const unlabelled = "start-without-webhooks"

// newStage creates the namespaces, the Cluster, and what the profiles look up; subjects are what will be deployed.
func newStage(ctx context.Context, c client.Client, o sample.Options, program *mutation.Program, profiles []*profile.Document, subjects []*subject) (*stage, error) {
	namespace, err := sample.Namespace(o)
	if err != nil {
		return nil, err
	}
	shoot, err := sample.Cluster(o)
	if err != nil {
		return nil, err
	}
	known, err := sample.Facts(o)
	if err != nil {
		return nil, err
	}
	for _, object := range []client.Object{namespace, shoot, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unlabelled}}} {
		if err := c.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return nil, fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	source := factSource{
		Source: cluster.New(c, c, cluster.Options{}), known: known, client: c, provider: o.Provider, kinds: kindsOf(subjects), lock: &sync.Mutex{},
	}
	g := &stage{client: c, program: program, namespace: namespace, source: source}
	return g, g.provide(ctx, profiles)
}

// kindsOf are the kinds of which the control plane has objects, and those that every one has.
func kindsOf(subjects []*subject) map[string]bool {
	kinds := map[string]bool{"Cluster": true, "Namespace": true}
	for _, s := range subjects {
		kinds[s.sample.Object.GetObjectKind().GroupVersionKind().Kind] = true
	}
	return kinds
}

// provide creates what the profiles look up, or adds the keys that are missing: others may have been edited meanwhile.
func (g *stage) provide(ctx context.Context, profiles []*profile.Document) error {
	for _, object := range lookedUp(g.namespace.Name, profiles) {
		err := g.client.Create(ctx, object)
		if apierrors.IsAlreadyExists(err) {
			err = g.complete(ctx, object)
		}
		if err != nil {
			return fmt.Errorf("providing %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

func (g *stage) complete(ctx context.Context, object client.Object) error {
	switch wanted := object.(type) {
	case *corev1.Secret:
		current := &corev1.Secret{}
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return err
		}
		current.StringData = maps.Clone(wanted.StringData)
		maps.DeleteFunc(current.StringData, func(key, _ string) bool { _, ok := current.Data[key]; return ok })
		return g.client.Update(ctx, current)
	case *corev1.ConfigMap:
		current := &corev1.ConfigMap{}
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return err
		}
		all := maps.Clone(wanted.Data)
		maps.Copy(all, current.Data)
		current.Data = all
		return g.client.Update(ctx, current)
	default:
		return errors.New("neither a Secret nor a ConfigMap")
	}
}

// lookedUp are the objects that the profiles' lookups read, with values that say what they are.
func lookedUp(namespace string, profiles []*profile.Document) []client.Object {
	secrets, configMaps := map[string]map[string]string{}, map[string]map[string]string{}
	for _, document := range profiles {
		for _, lookup := range mutation.WithLookups(document).Lookups {
			kind, name := secrets, lookup.Secret.Value
			if name == "" {
				kind, name = configMaps, lookup.ConfigMap.Value
			}
			if name == "" || strings.Contains(name, "${") {
				continue
			}
			if kind[name] == nil {
				kind[name] = map[string]string{}
			}
			for _, key := range lookup.Keys {
				kind[name][key] = "sample-" + key
			}
		}
	}
	var objects []client.Object
	for name, data := range secrets {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data})
	}
	for name, data := range configMaps {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
	}
	return objects
}
