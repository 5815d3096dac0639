// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// region is the region of all objects of this file.
const region = "region-1"

// WorkerPool is the name of the worker pool of NewShoot.
const WorkerPool = "worker"

// NewShoot returns a small shoot of project "sample" for a provider type and a Kubernetes version such as 1.34.3.
// Callers change the fields that their case needs.
func NewShoot(name, provider, kubernetes string) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "garden-sample"},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: provider},
			Kubernetes:   gardencorev1beta1.Kubernetes{Version: kubernetes},
			Networking: &gardencorev1beta1.Networking{
				Type:     ptr.To("calico"),
				Nodes:    ptr.To("10.250.0.0/16"),
				Pods:     ptr.To("100.96.0.0/11"),
				Services: ptr.To("100.64.0.0/13"),
			},
			Provider: gardencorev1beta1.Provider{
				Type: provider,
				Workers: []gardencorev1beta1.Worker{{
					Name: WorkerPool, Minimum: 1, Maximum: 3,
					Machine: gardencorev1beta1.Machine{Type: "medium", Architecture: ptr.To("amd64")},
				}},
			},
			Region:   region,
			SeedName: ptr.To("seed-" + provider),
		},
		Status: gardencorev1beta1.ShootStatus{
			TechnicalID: "shoot--sample--" + name,
			UID:         types.UID("00000000-0000-4000-8000-000000000001"),
		},
	}
}

// NewSeed returns a small seed on a provider's infrastructure, with backups at the same provider.
func NewSeed(provider string) *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: "seed-" + provider},
		Spec: gardencorev1beta1.SeedSpec{
			Backup: &gardencorev1beta1.Backup{Provider: provider},
			Networks: gardencorev1beta1.SeedNetworks{
				Nodes: ptr.To("10.240.0.0/16"), Pods: "10.241.128.0/17", Services: "10.241.0.0/17",
			},
			Provider: gardencorev1beta1.SeedProvider{Type: provider, Region: region,
				Zones: []string{region + "a", region + "b", region + "c"}},
		},
	}
}

// NewCloudProfile returns a small CloudProfile with the name of its provider type.
func NewCloudProfile(provider string) *gardencorev1beta1.CloudProfile {
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: provider},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type:         provider,
			Regions:      []gardencorev1beta1.Region{{Name: region}},
			MachineTypes: []gardencorev1beta1.MachineType{{Name: "medium", Architecture: ptr.To("amd64")}},
		},
	}
}
