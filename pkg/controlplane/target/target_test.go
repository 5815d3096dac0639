// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		name              string
		garden            bool
		group, kind, as   string
		want, wantVersion string
	}{
		{"kube-apiserver", false, "apps", "Deployment", "kube-apiserver", "kube-apiserver", "v1"},
		{"the Service of the same name", false, "", "Service", "kube-apiserver", "kube-apiserver-service", "v1"},
		{"another group", false, "extensions", "Deployment", "kube-apiserver", "", ""},
		{"another name", false, "apps", "Deployment", "kube-apiserver-2", "", ""},
		{"etcd today", false, "druid.gardener.cloud", "Etcd", "etcd-main", "etcd-main", "v1alpha1"},
		{"etcd of the older generation", false, "apps", "StatefulSet", "etcd-events", "etcd-events", "v1"},
		{"highly available VPN", false, "apps", "StatefulSet", "vpn-seed-server", "vpn-seed-server", "v1"},
		{"VPA", false, "autoscaling.k8s.io", "VerticalPodAutoscaler", "machine-controller-manager-vpa", "machine-controller-manager-vpa", "v1"},
		{"virtual garden", true, "apps", "Deployment", "virtual-garden-kube-apiserver", "virtual-garden-kube-apiserver", "v1"},
		{"a shoot's name in the garden", true, "apps", "Deployment", "kube-apiserver", "", ""},
		{"a garden's name in a shoot", false, "apps", "Deployment", "virtual-garden-kube-apiserver", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, form := target.Match(test.garden, test.group, test.kind, test.as)
			if test.want == "" {
				if found != nil {
					t.Fatalf("found %s", found.Name)
				}
				return
			}
			if found == nil || found.Name != test.want || form.Version != test.wantVersion {
				t.Fatalf("found %v as %v, want %s", found, form, test.want)
			}
		})
	}
}

// TestNames holds that every target can be looked up, has a form, and a container where it has a pod template.
func TestNames(t *testing.T) {
	names := target.Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("the names are not sorted or not unique: %v", names)
	}
	for _, name := range names {
		found, ok := target.Lookup(name)
		if !ok || len(found.Forms) == 0 || found.Summary == "" {
			t.Errorf("%s is not whole: %+v", name, found)
			continue
		}
		if found.Has(target.PodTemplate) && (found.Container == "" || found.Component == "") {
			t.Errorf("%s has a pod template, and container or component are not named", name)
		}
	}
}

func TestNamespaceLabel(t *testing.T) {
	for set, want := range map[target.Set]string{
		target.ControlPlane: "shoot.gardener.cloud/provider", target.Exposure: "seed.gardener.cloud/provider",
		target.Backup: "backup.gardener.cloud/provider",
	} {
		if got := set.NamespaceLabel(); got != want {
			t.Errorf("%s: %s", set, got)
		}
	}
}
