// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

// TestStored checks that the stored sample becomes one of another provider, with the objects that the profile of it looks up.
func TestStored(t *testing.T) {
	p, err := generate("acme")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := p.cluster.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(cluster), "openstack") || p.namespace.GetLabels()["shoot.gardener.cloud/provider"] != "acme" {
		t.Errorf("the provider is not acme: %v %s", p.namespace, cluster)
	}
	files, err := folder.Read("../../example/profiles/azure/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := profile.Load(files...)
	needed, err := p.needed(documents)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range needed {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	for _, want := range []string{"Infrastructure sample", "Secret cloudprovider", "ConfigMap kubelet-acr-config"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
}
