// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	factscluster "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// unlabelled is a namespace without webhooks. Nothing is stored in it; dry runs in it show the API server's own
// changes.
const unlabelled = "start-without-webhooks"

// defaults is the author of the API server's defaults for values that rules wrote, such as the mode of a
// volume.
var defaults = render.Author{Rule: "default of the API"}

// subject is an object of the control plane: as Gardener writes it, as the engine changes it, and as the API
// server stored it.
type subject struct {
	json   []byte
	change *render.Change
	// touched is true if the engine changes the object.
	touched bool
	// refused is the reason why the engine or the API server rejects the object, or nil.
	refused error
	// problems are differences between the API server and the engine. difference shows them for a stored
	// object.
	problems   []string
	difference *render.Change
}

func (s *subject) problem(format string, arguments ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, arguments...))
}

func (s *subject) name() string { return s.change.Kind + " " + s.change.Name }

// weight orders objects by their number of changes.
func (s *subject) weight() int {
	switch {
	case s.touched || len(s.problems) > 0:
		return 2
	case len(s.change.Applied) > 0:
		return 1
	default:
		return 0
	}
}

// cluster is the API server with the shoot's namespace.
type cluster struct {
	client    client.Client
	namespace *unstructured.Unstructured
	facts     facts.Source
}

// newCluster creates the namespaces, the Cluster, and the objects that the profiles look up. It keeps existing
// ones.
func newCluster(ctx context.Context, c client.Client, p plane, documents []*profile.Document) (*cluster, error) {
	namespace, err := decode(p.Namespace)
	if err != nil {
		return nil, err
	}
	g := &cluster{client: c, namespace: namespace, facts: factscluster.New(c, c, factscluster.Options{})}
	gardener, err := decode(p.Cluster)
	if err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{namespace.DeepCopy(), gardener, newObject("v1", "Namespace", "", unlabelled),
		newObject("v1", "Namespace", "", installNamespace)}
	for _, object := range append(objects, lookedUp(namespace, gardener, p.Objects, documents)...) {
		status := object.Object["status"]
		err := c.Create(ctx, object)
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err == nil && status != nil {
			object.Object["status"] = status
			err = c.Status().Update(ctx, object)
		}
		if err != nil {
			return nil, fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return g, nil
}

// lookedUp returns the Secrets and ConfigMaps that lookups name, with the values sample-<key>, the shoot's
// Infrastructure, and the BackupBucket of its etcd.
func lookedUp(namespace, gardener *unstructured.Unstructured, plane []json.RawMessage, documents []*profile.Document) []*unstructured.Unstructured {
	provider, in := namespace.GetLabels()["shoot.gardener.cloud/provider"], namespace.GetName()
	spec := map[string]any{"type": provider, "region": "local", "secretRef": map[string]any{"name": "cloudprovider", "namespace": "garden"}}
	shoot, _, _ := unstructured.NestedString(gardener.Object, "spec", "shoot", "metadata", "name")
	const group = "extensions.gardener.cloud/v1alpha1"
	infrastructure := newObject(group, "Infrastructure", in, shoot)
	infrastructure.Object["spec"] = spec
	infrastructure.Object["status"] = map[string]any{
		"nodesCIDR": "10.250.0.0/16", "egressCIDRs": []any{"203.0.113.4/32"}, "observedGeneration": int64(1),
		"networking": map[string]any{"nodes": []any{"10.250.0.0/16"}, "pods": []any{"100.64.0.0/11"}, "services": []any{"100.104.0.0/13"}},
	}
	objects := []*unstructured.Unstructured{infrastructure}
	for _, raw := range plane {
		object, err := decode(raw)
		if bucket, ok, _ := unstructured.NestedString(object.Object, "spec", "backup", "store", "container"); err == nil && ok {
			objects = append(objects, newObject(group, "BackupBucket", "", bucket))
			objects[len(objects)-1].Object["spec"] = spec
		}
	}
	data := map[string]map[string]any{}
	for _, document := range documents {
		for _, lookup := range mutation.WithLookups(document).Lookups {
			kind, name := "Secret", lookup.Secret.Value
			if name == "" {
				kind, name = "ConfigMap", lookup.ConfigMap.Value
			}
			if name == "" || strings.Contains(name, "${") {
				continue
			}
			if data[kind+name] == nil {
				data[kind+name] = map[string]any{}
				objects = append(objects, newObject("v1", kind, in, name))
				objects[len(objects)-1].Object["data"] = data[kind+name]
			}
			for _, key := range lookup.Keys {
				value := "sample-" + key
				if kind == "Secret" {
					value = base64.StdEncoding.EncodeToString([]byte(value))
				}
				data[kind+name][key] = value
			}
		}
	}
	return objects
}

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// each runs a step for all subjects, a few concurrently.
func each(ctx context.Context, subjects []*subject, step func(context.Context, *subject) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(6)
	for _, s := range subjects {
		group.Go(func() error { return step(ctx, s) })
	}
	return group.Wait()
}

// predict computes the expected result for each object.
func (g *cluster) predict(ctx context.Context, program *mutation.Program, subjects []*subject) error {
	return each(ctx, subjects, func(ctx context.Context, s *subject) error {
		before, err := g.dryRun(ctx, s.json, unlabelled)
		if err != nil {
			return err
		}
		if s.change, err = render.NewChange(before); err != nil {
			return err
		}
		var failure *mutation.Failure
		if err := s.change.Admit(ctx, program, g.admission(), g.facts); errors.As(err, &failure) {
			s.refused = err
			return nil
		} else if err != nil {
			return err
		}
		if s.touched = !bytes.Equal(before, s.change.Bytes()); !s.touched {
			return nil
		}
		expected, err := g.dryRun(ctx, s.change.Bytes(), unlabelled)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			s.refused = fmt.Errorf("the API server rejects the result of the rules: %w", err)
			return nil
		}
		if err != nil {
			return err
		}
		return s.change.Complete(defaults, expected)
	})
}

func (g *cluster) admission() render.Admission {
	return render.Admission{Namespace: g.namespace.GetName(), Labels: g.namespace.GetLabels(), Operation: "CREATE"}
}

// dryRun returns the objects as the API server would store them in a namespace.
func (g *cluster) dryRun(ctx context.Context, raw []byte, namespace string) ([]byte, error) {
	object, err := decode(raw)
	if err != nil {
		return nil, err
	}
	object.SetNamespace(namespace)
	if err := g.client.Create(ctx, object, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("asking the API server about %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	object.SetNamespace(g.namespace.GetName())
	return encode(object)
}

// waitCalled waits until the API server gives the expected answer for the first object that the rules change:
// registrations and changed profiles take effect after a moment. After 5 s it returns anyway, and the
// comparison shows the problem.
func (g *cluster) waitCalled(ctx context.Context, subjects []*subject) {
	for _, s := range subjects {
		if !s.touched {
			continue
		}
		for range 100 {
			got, err := g.dryRun(ctx, s.json, g.namespace.GetName())
			if ctx.Err() != nil || s.refused != nil && err != nil || s.refused == nil && err == nil && bytes.Equal(got, s.change.Bytes()) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		return
	}
}

// remove deletes objects, stored or not.
func (g *cluster) remove(ctx context.Context, subjects []*subject) error {
	return each(ctx, subjects, func(ctx context.Context, s *subject) error {
		object, err := decode(s.json)
		if err != nil {
			return err
		}
		return client.IgnoreNotFound(g.client.Delete(ctx, object))
	})
}

// deploy creates the objects, reads them back, and records differences from the prediction.
func (g *cluster) deploy(ctx context.Context, program *mutation.Program, subjects []*subject) error {
	return each(ctx, subjects, func(ctx context.Context, s *subject) error {
		object, err := decode(s.json)
		if err != nil {
			return err
		}
		denied := g.client.Create(ctx, object)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.change.Denied = denied
		switch {
		case denied != nil:
			s.problem("it was denied: %v (the engine: %v)", denied, s.refused)
			return nil
		case s.refused != nil:
			s.problem("it was admitted, but the engine denies it: %v", s.refused)
			return nil //nolint:nilerr // a refusal by the engine is a result, shown in the report
		}
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("reading %s back: %w", s.name(), err)
		}
		stored, err := encode(object)
		if err != nil {
			return err
		}
		return g.verify(ctx, program, s, stored)
	})
}

// verify compares the stored object with the prediction, and admits it again, which must not change it.
func (g *cluster) verify(ctx context.Context, program *mutation.Program, s *subject, stored []byte) error {
	if !bytes.Equal(stored, s.change.Bytes()) {
		s.problem("the stored object (+) differs from the result of the profiles (-)")
		var err error
		if s.difference, err = render.NewChange(s.change.Bytes()); err != nil {
			return err
		}
		s.difference.HideAs(s.change)
		if err := s.difference.Become(render.NoRule, stored); err != nil {
			return err
		}
	}
	again, err := render.NewChange(stored)
	if err != nil {
		return err
	}
	if err := again.Admit(ctx, program, g.admission(), g.facts); err != nil {
		s.problem("the stored object could not be admitted again: %v", err)
	}
	for _, applied := range again.Applied {
		if applied.Outcome == mutation.Changed && !bytes.Equal(again.Bytes(), stored) {
			s.problem("rule %s at %s would change the stored object again", applied.Name(), applied.Position)
		}
	}
	return nil
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	return object, nil
}

// encode returns an object in JSON with sorted members, without values that the API server allocates.
func encode(object *unstructured.Unstructured) ([]byte, error) {
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	if object.GetKind() == "Service" {
		for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			unstructured.RemoveNestedField(object.Object, "spec", field)
		}
		ports, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ports")
		list, _ := ports.([]any)
		for _, port := range list {
			if fields, ok := port.(map[string]any); ok {
				delete(fields, "nodePort")
			}
		}
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	return raw, nil
}
