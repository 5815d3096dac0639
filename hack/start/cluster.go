// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// controlPlane is a control plane to deploy, with its namespace and Cluster.
type controlPlane struct {
	snapshot           *snapshot.Snapshot
	namespace, cluster *unstructured.Unstructured
	objects            []*unstructured.Unstructured
}

// generate returns the stored sample with another provider, which needs no compiled Gardener components.
func generate(provider string) (controlPlane, error) {
	planes := static.Planes()
	sample := planes[slices.IndexFunc(planes, func(p static.Plane) bool { return p.Name == storedPlane })]
	convert := func(object []byte) json.RawMessage {
		return bytes.ReplaceAll(object, []byte(`"`+storedProvider+`"`), []byte(`"`+provider+`"`))
	}
	var p controlPlane
	var problems [3]error
	p.cluster, problems[0] = decode(convert(sample.Source))
	p.namespace = newObject("v1", "Namespace", "", p.cluster.GetName())
	p.namespace.SetLabels(map[string]string{
		"gardener.cloud/role": "shoot", "shoot.gardener.cloud/provider": provider,
		"seed.gardener.cloud/provider": provider, "backup.gardener.cloud/provider": provider,
	})
	g := snapshot.Generated{Cluster: convert(sample.Source)}
	g.Namespace, problems[1] = p.namespace.MarshalJSON()
	p.snapshot, problems[2] = snapshot.New(snapshot.Options{Provider: provider}, g)
	err := errors.Join(problems[:]...)
	for _, raw := range sample.Objects {
		object, problem := decode(convert(raw))
		err = errors.Join(err, problem)
		p.objects = append(p.objects, object)
	}
	return p, err
}

// storedPlane is the sample to deploy, storedProvider its provider.
const storedPlane, storedProvider = "today-1.34", "openstack"

// copies returns copies of the objects, which a client may change.
func (p controlPlane) copies() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range p.objects {
		all = append(all, object.DeepCopy())
	}
	return all
}

// needed returns the objects that the control plane needs: the namespaces, the Cluster, the shoot's Infrastructure, the
// BackupBucket of its etcd, and the Secrets and ConfigMaps that the profiles look up, with the values sample-<key>.
func (p controlPlane) needed(documents []*profile.Document) ([]*unstructured.Unstructured, error) {
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
	p.snapshot.Invent(program.Lookups()...)
	for _, present := range p.snapshot.Present {
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
	err := object.UnmarshalJSON(raw)
	return object, err
}
