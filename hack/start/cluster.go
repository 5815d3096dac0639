// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// plane is a control plane to deploy, with its namespace and Cluster.
type plane struct {
	scene              *scene.Scene
	namespace, cluster *unstructured.Unstructured
	objects            []*unstructured.Unstructured
}

// generate returns the stored sample if only the provider is set, which needs no compiled Gardener components,
// and otherwise the output of graft-controlplane.
func generate(ctx context.Context, o scene.Options) (plane, error) {
	var generated []scene.Generated
	var err error
	if reflect.DeepEqual(o, scene.Options{Provider: o.Provider}) {
		generated, err = stored(o.Provider)
	} else {
		generated, err = scene.Program{Path: "bin/" + scene.GeneratorName}.Generate(ctx, o)
	}
	if err != nil {
		return plane{}, err
	}
	return newPlane(o, generated[0])
}

func newPlane(o scene.Options, g scene.Generated) (plane, error) {
	var p plane
	var problems [3]error
	p.scene, problems[0] = scene.New(o, g)
	p.namespace, problems[1] = decode(g.Namespace)
	p.cluster, problems[2] = decode(g.Cluster)
	err := errors.Join(problems[:]...)
	for _, raw := range g.Objects {
		object, problem := decode(raw)
		err = errors.Join(err, problem)
		p.objects = append(p.objects, object)
	}
	return p, err
}

// storedPlane is the sample to deploy, storedProvider its provider.
const storedPlane, storedProvider = "today-1.34", "openstack"

// stored returns the stored sample with another provider.
func stored(provider string) ([]scene.Generated, error) {
	planes := static.Planes()
	sample := planes[slices.IndexFunc(planes, func(p static.Plane) bool { return p.Name == storedPlane })]
	convert := func(object []byte) json.RawMessage {
		return bytes.ReplaceAll(object, []byte(`"`+storedProvider+`"`), []byte(`"`+provider+`"`))
	}
	cluster, err := decode(sample.Source)
	if err != nil {
		return nil, err
	}
	namespace := newObject("v1", "Namespace", "", cluster.GetName())
	namespace.SetLabels(map[string]string{
		"gardener.cloud/role": "shoot", "shoot.gardener.cloud/provider": provider,
		"seed.gardener.cloud/provider": provider, "backup.gardener.cloud/provider": provider,
	})
	raw, err := namespace.MarshalJSON()
	g := scene.Generated{Namespace: raw, Cluster: convert(sample.Source)}
	for _, object := range sample.Objects {
		g.Objects = append(g.Objects, convert(object))
	}
	return []scene.Generated{g}, err
}

// copies returns copies of the objects, which a client may change.
func (p plane) copies() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range p.objects {
		all = append(all, object.DeepCopy())
	}
	return all
}

// needed returns the objects that the control plane needs: the namespaces, the Cluster, the shoot's Infrastructure, the BackupBucket
// of its etcd, and the Secrets and ConfigMaps that the profiles look up, with the values sample-<key>.
func (p plane) needed(documents []*profile.Document) ([]*unstructured.Unstructured, error) {
	program, err := compiler.Compile(documents, compiler.Options{})
	if err != nil {
		return nil, err
	}
	shoot, _, _ := unstructured.NestedString(p.cluster.Object, "spec", "shoot", "metadata", "name")
	const group = "extensions.gardener.cloud/v1alpha1"
	spec := map[string]any{
		"type": p.namespace.GetLabels()["shoot.gardener.cloud/provider"], "region": "local",
		"secretRef": map[string]any{"name": "cloudprovider", "namespace": "garden"},
	}
	infrastructure := newObject(group, "Infrastructure", p.namespace.GetName(), shoot)
	infrastructure.Object["spec"] = spec
	infrastructure.Object["status"] = map[string]any{
		"nodesCIDR": "10.250.0.0/16", "egressCIDRs": []any{"203.0.113.4/32"}, "observedGeneration": int64(1),
		"networking": map[string]any{"nodes": []any{"10.250.0.0/16"}, "pods": []any{"100.64.0.0/11"}, "services": []any{"100.104.0.0/13"}},
	}
	all := []*unstructured.Unstructured{p.namespace.DeepCopy(), p.cluster.DeepCopy(), newObject("v1", "Namespace", "", installNamespace), infrastructure}
	for _, object := range p.objects {
		if bucket, ok, _ := unstructured.NestedString(object.Object, "spec", "backup", "store", "container"); ok {
			all = append(all, newObject(group, "BackupBucket", "", bucket))
			all[len(all)-1].Object["spec"] = spec
		}
	}
	p.scene.Invent(program.Lookups()...)
	for _, present := range p.scene.Present {
		object := &unstructured.Unstructured{Object: present}
		all = append(all, newObject("v1", "Namespace", "", object.GetNamespace()), object)
	}
	return all, nil
}

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	return object, nil
}
