// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// annotate adds annotations of the form key=value,key=value.
func annotate(o *scene.Options, list string) error {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q is not key=value", pair)
		}
		o.Annotations[key] = value
	}
	return nil
}

// generate returns the stored sample if only the provider is set, which needs no compiled Gardener components,
// and otherwise the output of graft-controlplane.
func generate(ctx context.Context, o scene.Options) (scene.Generated, error) {
	if reflect.DeepEqual(o, scene.Options{Provider: o.Provider}) {
		return stored(o.Provider)
	}
	planes, err := scene.Program{Path: "bin/" + scene.GeneratorName}.Generate(ctx, o)
	if err != nil {
		return scene.Generated{}, err
	}
	return planes[0], nil
}

// storedPlane is the sample to deploy, storedProvider its provider.
const storedPlane, storedProvider = "today-1.34", "openstack"

// stored returns the stored sample with another provider.
func stored(provider string) (scene.Generated, error) {
	convert := func(object []byte) json.RawMessage {
		return bytes.ReplaceAll(object, []byte(`"`+storedProvider+`"`), []byte(`"`+provider+`"`))
	}
	for _, stored := range static.Planes() {
		if stored.Name != storedPlane {
			continue
		}
		var cluster struct{ Metadata struct{ Name string } }
		if err := json.Unmarshal(stored.Source, &cluster); err != nil {
			return scene.Generated{}, fmt.Errorf("reading the stored Cluster: %w", err)
		}
		namespace := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + cluster.Metadata.Name + `","labels":{"gardener.cloud/role":"shoot",` +
			`"shoot.gardener.cloud/provider":"openstack","seed.gardener.cloud/provider":"openstack","backup.gardener.cloud/provider":"openstack"}}}`
		p := scene.Generated{Namespace: convert([]byte(namespace)), Cluster: convert(stored.Source)}
		for _, object := range stored.Objects {
			p.Objects = append(p.Objects, convert(object))
		}
		return p, nil
	}
	return scene.Generated{}, fmt.Errorf("no stored sample %s", storedPlane)
}

// prepare creates the namespaces, the Cluster, and the objects that the profiles look up. It keeps existing ones.
func prepare(ctx context.Context, c client.Client, p scene.Generated, documents []*profile.Document) error {
	namespace, err := decode(p.Namespace)
	if err != nil {
		return err
	}
	gardener, err := decode(p.Cluster)
	if err != nil {
		return err
	}
	objects := []*unstructured.Unstructured{namespace.DeepCopy(), gardener, newObject("v1", "Namespace", "", installNamespace)}
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
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
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
		for _, lookup := range compiler.WithLookups(document).Lookups {
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

func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	return object, nil
}
