// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	podsecurity "k8s.io/pod-security-admission/api"
)

// ShootOptions describe a shoot with a control plane in the seed.
type ShootOptions struct {
	// Shoot is required, with a provider type. Its status.technicalID is the namespace. The default is
	// shoot--<project>--<name>, where the shoot's own namespace is garden-<project>.
	Shoot *gardencorev1beta1.Shoot
	// Seed and CloudProfile have the defaults [NewSeed] and [NewCloudProfile] for the shoot's provider.
	Seed         *gardencorev1beta1.Seed
	CloudProfile *gardencorev1beta1.CloudProfile
	// Extensions are the types of the shoot's extensions. Each becomes a label of the namespace.
	Extensions []string
	// Labels are added to the namespace last. An empty value removes a label.
	Labels map[string]string
	// WithoutCluster omits the Cluster resource.
	WithoutCluster bool
}

// CreateShoot creates the namespace of a shoot's control plane, with the labels and annotations of gardenlet
// (pkg/gardenlet/operation/botanist/namespaces.go), and its Cluster resource. It updates both if the shoot exists. It
// returns the name of the namespace.
func (l *Landscape) CreateShoot(ctx context.Context, options ShootOptions) (string, error) {
	if options.Shoot == nil || options.Shoot.Spec.Provider.Type == "" {
		return "", errors.New("creating a shoot: Shoot with a provider type is required")
	}
	if options.Seed == nil {
		options.Seed = NewSeed(options.Shoot.Spec.Provider.Type)
	}
	if options.CloudProfile == nil {
		options.CloudProfile = NewCloudProfile(options.Shoot.Spec.Provider.Type)
	}
	namespace := newNamespace(options)
	if err := l.createOrUpdate(ctx, namespace); err != nil {
		return "", fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
	}
	if options.WithoutCluster {
		return namespace.Name, nil
	}
	if err := l.createOrUpdate(ctx, newCluster(namespace.Name, options)); err != nil {
		return "", fmt.Errorf("creating cluster %s: %w", namespace.Name, err)
	}
	return namespace.Name, nil
}

// newCluster returns the Cluster resource as gardenlet writes it (pkg/extensions/cluster.go).
func newCluster(name string, options ShootOptions) *extensionsv1alpha1.Cluster {
	shoot, seed, profile := options.Shoot.DeepCopy(), options.Seed.DeepCopy(), options.CloudProfile.DeepCopy()
	shoot.Status.TechnicalID = name
	shoot.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	seed.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Seed"))
	profile.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("CloudProfile"))
	return &extensionsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: extensionsv1alpha1.ClusterSpec{
			Shoot:        runtime.RawExtension{Object: shoot},
			Seed:         runtime.RawExtension{Object: seed},
			CloudProfile: runtime.RawExtension{Object: profile},
		},
	}
}

// newNamespace returns the namespace as gardenlet writes it.
func newNamespace(options ShootOptions) *corev1.Namespace {
	shoot, seed := options.Shoot, options.Seed
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: technicalID(shoot),
		Labels: map[string]string{
			constants.GardenRole:                             constants.GardenRoleShoot,
			constants.LabelSeedProvider:                      seed.Spec.Provider.Type,
			constants.LabelShootProvider:                     shoot.Spec.Provider.Type,
			constants.LabelBackupProvider:                    seed.Spec.Provider.Type,
			podsecurity.EnforceLevelLabel:                    string(podsecurity.LevelPrivileged),
			resourcesv1alpha1.HighAvailabilityConfigConsider: "true",
		},
		Annotations: map[string]string{
			constants.ShootUID: string(shoot.Status.UID),
			resourcesv1alpha1.HighAvailabilityConfigFailureToleranceType: "",
		},
	}}
	if seed.Spec.Backup != nil {
		namespace.Labels[constants.LabelBackupProvider] = seed.Spec.Backup.Provider
	}
	if networking := shoot.Spec.Networking; networking != nil && networking.Type != nil {
		namespace.Labels[constants.LabelNetworkingProvider] = *networking.Type
	}
	for _, extension := range options.Extensions {
		namespace.Labels[constants.LabelExtensionPrefix+extension] = "true"
	}
	annotateZones(namespace, shoot, seed.Spec.Provider.Zones)
	maps.Copy(namespace.Labels, options.Labels)
	maps.DeleteFunc(namespace.Labels, func(_, value string) bool { return value == "" })
	return namespace
}

// annotateZones adds annotations for the failure tolerance and the zones of the control plane: three zones for "zone",
// one otherwise. gardenlet chooses them at random, this function chooses the first ones.
func annotateZones(namespace *corev1.Namespace, shoot *gardencorev1beta1.Shoot, zones []string) {
	wanted := 1
	if tolerance := helper.GetFailureToleranceType(shoot); tolerance != nil {
		namespace.Annotations[resourcesv1alpha1.HighAvailabilityConfigFailureToleranceType] = string(*tolerance)
		if *tolerance == gardencorev1beta1.FailureToleranceTypeZone {
			wanted = 3
		}
	}
	if chosen := zones[:min(wanted, len(zones))]; len(chosen) > 0 {
		namespace.Annotations[resourcesv1alpha1.HighAvailabilityConfigZones] = strings.Join(chosen, ",")
	}
}

// technicalID returns the name of a shoot's namespace in the seed.
func technicalID(shoot *gardencorev1beta1.Shoot) string {
	if shoot.Status.TechnicalID != "" {
		return shoot.Status.TechnicalID
	}
	return "shoot--" + strings.TrimPrefix(shoot.Namespace, "garden-") + "--" + shoot.Name
}
