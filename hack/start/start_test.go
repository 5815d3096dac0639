// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			name: "fields that the API server writes",
			in: `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d","uid":"u","resourceVersion":"1","generation":1,
				"creationTimestamp":null,"managedFields":[],"labels":{"b":"1","a":"2"}},"spec":{"clusterIP":"kept"},"status":{}}`,
			want: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a":"2","b":"1"},"name":"d"},"spec":{"clusterIP":"kept"}}`,
		},
		{
			name: "fields that a Service is allocated",
			in: `{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
				"healthCheckNodePort":30001,"ports":[{"port":443,"nodePort":30000}]}}`,
			want: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":443}]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, err := decode([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := decode([]byte(`[]`)); err == nil {
		t.Error("a list must be an error")
	}
}

func TestAnnotate(t *testing.T) {
	var o planeOptions
	if err := o.annotate("a=b,c="); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "c": ""}, o.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"a", "=b"} {
		if err := o.annotate(wrong); err == nil {
			t.Errorf("%q must be an error", wrong)
		}
	}
}

// TestStored checks that the stored sample becomes one of another provider, with the objects that the profile of it looks up.
func TestStored(t *testing.T) {
	p, err := planeOptions{Provider: "acme"}.generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := decode(p.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(p.Cluster), "openstack") || namespace.GetLabels()["shoot.gardener.cloud/provider"] != "acme" {
		t.Errorf("the provider is not acme: %s %s", p.Namespace, p.Cluster)
	}
	files, err := folder.Read("../../example/profiles/azure/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := profile.Load(files...)
	gardener, err := decode(p.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range lookedUp(namespace, gardener, p.Objects, documents) {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	for _, want := range []string{"Infrastructure sample", "Secret cloudprovider", "ConfigMap kubelet-acr-config"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
}
