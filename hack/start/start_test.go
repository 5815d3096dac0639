// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

func TestAnnotate(t *testing.T) {
	var o scene.Options
	if err := annotate(&o, "a=b,c="); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "c": ""}, o.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"a", "=b"} {
		if err := annotate(&o, wrong); err == nil {
			t.Errorf("%q must be an error", wrong)
		}
	}
}

// TestStored checks that the stored sample becomes one of another provider, with the objects that the profile of it looks up.
func TestStored(t *testing.T) {
	p, err := generate(t.Context(), scene.Options{Provider: "acme"})
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
