// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

func TestForms(t *testing.T) {
	tests := []struct {
		name, group, kind, as string
		want                  []string
	}{
		{"kube-apiserver", "apps", "Deployment", "kube-apiserver", []string{"kube-apiserver"}},
		{"the Service of the same name", "", "Service", "kube-apiserver", []string{"kube-apiserver-service"}},
		{"matches nothing of another API group", "extensions", "Deployment", "kube-apiserver", nil},
		{"matches nothing with another name", "apps", "Deployment", "kube-apiserver-2", nil},
		{"matches an Etcd resource", "druid.gardener.cloud", "Etcd", "etcd-main", []string{"etcd-main"}},
		{"etcd of the older generation", "apps", "StatefulSet", "etcd-events", []string{"etcd-events"}},
		{"highly available VPN", "apps", "StatefulSet", "vpn-seed-server", []string{"vpn-seed-server"}},
		{"matches a VerticalPodAutoscaler", "autoscaling.k8s.io", "VerticalPodAutoscaler", "machine-controller-manager-vpa", []string{"machine-controller-manager-vpa"}},
		{"matches the kube-apiserver of a virtual garden", "apps", "Deployment", "virtual-garden-kube-apiserver", []string{"virtual-garden-kube-apiserver"}},
		{"matches kubelet and node in an OperatingSystemConfig", "extensions.gardener.cloud", "OperatingSystemConfig", "any", []string{"kubelet", "node"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, name := range target.Names() {
				found, _ := target.Lookup(name)
				if slices.ContainsFunc(found.Forms, func(f target.Form) bool { return f.Is(test.group, test.kind, test.as) }) {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found as %v, want %v", got, test.want)
			}
		})
	}
}

// TestNames checks that every target has a name and a form, and a container if it has a pod template.
func TestNames(t *testing.T) {
	names := target.Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("the names are not sorted or not unique: %v", names)
	}
	for _, name := range names {
		found, ok := target.Lookup(name)
		if !ok || len(found.Forms) == 0 || found.Summary == "" {
			t.Errorf("the target %s lacks forms or a summary: %+v", name, found)
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
