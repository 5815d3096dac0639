// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

func TestCluster(t *testing.T) {
	o := Options{
		Provider: "stackit", SeedProvider: "openstack", HighAvailability: true,
		Annotations: map[string]string{"stackit.provider.extensions.gardener.cloud/enable-volume-attributes-class": "true"},
	}
	cluster, err := Cluster(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Cluster(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cluster, again); diff != "" {
		t.Errorf("a second call differs:\n%s", diff)
	}

	var shoot gardencorev1beta1.Shoot
	var seed gardencorev1beta1.Seed
	var profile gardencorev1beta1.CloudProfile
	for raw, into := range map[string]any{
		string(cluster.Spec.Shoot.Raw): &shoot, string(cluster.Spec.Seed.Raw): &seed, string(cluster.Spec.CloudProfile.Raw): &profile,
	} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{
		cluster.Name, shoot.APIVersion, shoot.Kind, seed.Kind, profile.Kind, shoot.Name, shoot.Namespace, shoot.Status.TechnicalID,
		shoot.Spec.Kubernetes.Version, shoot.Spec.Provider.Type, seed.Spec.Provider.Type, seed.Spec.Backup.Provider, profile.Spec.Type,
		string(shoot.Spec.ControlPlane.HighAvailability.FailureTolerance.Type),
		shoot.Annotations["stackit.provider.extensions.gardener.cloud/enable-volume-attributes-class"],
	}
	want := []string{
		"shoot--local--sample", "core.gardener.cloud/v1beta1", "Shoot", "Seed", "CloudProfile", "sample", "garden-local", "shoot--local--sample",
		"1.34.2", "stackit", "openstack", "openstack", "stackit", "zone", "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamespace(t *testing.T) {
	ns, err := Namespace(Options{Provider: "aws", SeedProvider: "gcp", BackupProvider: "azure"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"gardener.cloud/role":                                        "shoot",
		"shoot.gardener.cloud/provider":                              "aws",
		"seed.gardener.cloud/provider":                               "gcp",
		"backup.gardener.cloud/provider":                             "azure",
		"networking.shoot.gardener.cloud/provider":                   "calico",
		"high-availability-config.resources.gardener.cloud/consider": "true",
	}
	if diff := cmp.Diff(want, ns.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
