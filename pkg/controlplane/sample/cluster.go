// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strconv"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
)

// Cluster returns the Cluster resource that gardenlet writes for the shoot, with the Shoot, the Seed and the
// CloudProfile encoded in it. Errors wrap ErrOptions when the options are wrong.
func Cluster(o Options) (*extensionsv1alpha1.Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	cluster := &extensionsv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1alpha1.SchemeGroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Namespace},
	}
	for _, part := range []struct {
		into *runtime.RawExtension
		from any
	}{
		{&cluster.Spec.Shoot, o.shoot()},
		{&cluster.Spec.Seed, o.seed()},
		{&cluster.Spec.CloudProfile, o.cloudProfile()},
	} {
		if part.into.Raw, err = json.Marshal(part.from); err != nil {
			return nil, fmt.Errorf("encoding a part of Cluster %q: %w", o.Namespace, err)
		}
	}
	return cluster, nil
}

// Namespace returns the shoot's namespace in the seed with the labels that select webhooks
// (pkg/gardenlet/operation/botanist/namespaces.go). Errors wrap ErrOptions.
func Namespace(o Options) (*corev1.Namespace, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return o.namespace(), nil
}

func (o Options) namespace() *corev1.Namespace {
	tolerance := ""
	if o.HighAvailability {
		tolerance = string(gardencorev1beta1.FailureToleranceTypeZone)
	}
	namespace := &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.Namespace,
			Labels: map[string]string{
				v1beta1constants.GardenRole:                      v1beta1constants.GardenRoleShoot,
				v1beta1constants.LabelShootProvider:              o.Provider,
				v1beta1constants.LabelSeedProvider:               o.SeedProvider,
				v1beta1constants.LabelBackupProvider:             o.BackupProvider,
				resourcesv1alpha1.HighAvailabilityConfigConsider: "true",
			},
			Annotations: map[string]string{
				v1beta1constants.ShootUID:                                    uid,
				resourcesv1alpha1.HighAvailabilityConfigFailureToleranceType: tolerance,
			},
		},
	}
	if !o.Workerless {
		namespace.Labels[v1beta1constants.LabelNetworkingProvider] = networking
	}
	return namespace
}

// uid is the one UID of all samples, of the shoot, its namespace and the garden.
const uid = "5f0c2c1e-8f1f-4f7b-9d2b-0c8f5a3d7e11"

// shoot builds the Shoot as its owner would write it, and defaults it as the gardener-apiserver does.
func (o Options) shoot() *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{
		TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.name(), Namespace: "garden-" + o.project(), UID: uid, Generation: 1, Annotations: maps.Clone(o.Annotations),
		},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: o.Provider},
			DNS:          &gardencorev1beta1.DNS{Domain: ptr.To(o.domain())},
			Hibernation:  &gardencorev1beta1.Hibernation{Enabled: ptr.To(o.Hibernated)},
			Kubernetes:   gardencorev1beta1.Kubernetes{Version: o.Kubernetes},
			Networking:   &gardencorev1beta1.Networking{Type: ptr.To(networking)},
			Maintenance:  &gardencorev1beta1.Maintenance{TimeWindow: maintenance()},
			Provider: gardencorev1beta1.Provider{
				Type: o.Provider, Workers: o.workers(),
				InfrastructureConfig: raw(o.InfrastructureConfig), ControlPlaneConfig: raw(o.ControlPlaneConfig),
			},
			Purpose:  ptr.To(gardencorev1beta1.ShootPurposeProduction),
			Region:   region,
			SeedName: ptr.To("local"),
		},
		Status: gardencorev1beta1.ShootStatus{
			IsHibernated: o.Hibernated, SeedName: ptr.To("local"), TechnicalID: o.Namespace, UID: uid,
			LastOperation: &gardencorev1beta1.LastOperation{
				Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateProcessing,
			},
		},
	}
	if o.HighAvailability {
		shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{HighAvailability: &gardencorev1beta1.HighAvailability{
			FailureTolerance: gardencorev1beta1.FailureTolerance{Type: gardencorev1beta1.FailureToleranceTypeZone},
		}}
	}
	n := o.networks()
	shoot.Spec.Networking.IPFamilies = n.families
	shoot.Spec.Networking.Services = ptr.To(n.services)
	if o.Workerless {
		shoot.Spec.Networking.Type = nil
	} else {
		shoot.Spec.Networking.Pods, shoot.Spec.Networking.Nodes = ptr.To(n.pods), ptr.To(n.nodes)
	}
	gardencorev1beta1.SetObjectDefaults_Shoot(shoot)
	if o.Edit != nil {
		o.Edit(shoot)
	}
	return shoot
}

// workers returns two pools, so that the sample has several types of operating systems and, if Kubernetes permits it,
// several versions of the kubelet.
func (o Options) workers() []gardencorev1beta1.Worker {
	if o.Workerless {
		return nil
	}
	second := gardencorev1beta1.Worker{
		Name: "memory", Minimum: 1, Maximum: 2, Zones: []string{region + "a"},
		Machine: gardencorev1beta1.Machine{
			Type:  "m1.large",
			Image: &gardencorev1beta1.ShootMachineImage{Name: "suse-chost", Version: ptr.To("15.6.20250501")},
		},
		Taints: []corev1.Taint{{Key: "sample.graft/memory", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
	}
	if older, ok := minorBefore(o.Kubernetes); ok {
		second.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To(older)}
	}
	return []gardencorev1beta1.Worker{{
		Name: "general", Minimum: 2, Maximum: 5, Zones: []string{region + "a", region + "b"},
		Machine: gardencorev1beta1.Machine{
			Type:  "m1.small",
			Image: &gardencorev1beta1.ShootMachineImage{Name: "gardenlinux", Version: ptr.To("1877.3.0")},
		},
		Labels:         map[string]string{"sample.graft/pool": "general"},
		ProviderConfig: raw(o.WorkerConfig),
	}, second}
}

func (o Options) seed() *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{
		TypeMeta:   metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Seed"},
		ObjectMeta: metav1.ObjectMeta{Name: "local"},
		Spec: gardencorev1beta1.SeedSpec{
			Backup: &gardencorev1beta1.Backup{
				Provider: o.BackupProvider, Region: ptr.To(region),
				CredentialsRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "garden", Name: "backup-local"},
			},
			Networks: gardencorev1beta1.SeedNetworks{
				Nodes: ptr.To("10.240.0.0/16"), Pods: seedPods, Services: "10.242.0.0/16",
				IPFamilies: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4},
			},
			Provider: gardencorev1beta1.SeedProvider{
				Type: o.SeedProvider, Region: region, Zones: []string{region + "a", region + "b", region + "c"}, ProviderConfig: raw(o.SeedConfig),
			},
		},
		Status: gardencorev1beta1.SeedStatus{KubernetesVersion: ptr.To("v" + seedVersion)},
	}
}

func (o Options) cloudProfile() *gardencorev1beta1.CloudProfile {
	profile := &gardencorev1beta1.CloudProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "CloudProfile"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Provider},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: o.Provider, ProviderConfig: raw(o.CloudProfileConfig),
			MachineTypes: []gardencorev1beta1.MachineType{
				{Name: "m1.small", CPU: resource.MustParse("2"), GPU: resource.MustParse("0"), Memory: resource.MustParse("8Gi"), Architecture: ptr.To("amd64")},
				{Name: "m1.large", CPU: resource.MustParse("8"), GPU: resource.MustParse("0"), Memory: resource.MustParse("64Gi"), Architecture: ptr.To("amd64")},
			},
			MachineImages: []gardencorev1beta1.MachineImage{
				{Name: "gardenlinux", Versions: []gardencorev1beta1.MachineImageVersion{{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "1877.3.0"}}}},
				{Name: "suse-chost", Versions: []gardencorev1beta1.MachineImageVersion{{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "15.6.20250501"}}}},
			},
			Regions: []gardencorev1beta1.Region{{Name: region, Zones: []gardencorev1beta1.AvailabilityZone{{Name: region + "a"}, {Name: region + "b"}, {Name: region + "c"}}}},
		},
	}
	for minor := newestMinor; minor >= oldestMinor; minor-- {
		profile.Spec.Kubernetes.Versions = append(profile.Spec.Kubernetes.Versions,
			gardencorev1beta1.ExpirableVersion{Version: "1." + strconv.Itoa(minor) + ".0"})
	}
	return profile
}

// maintenance must be set: Gardener's defaulting picks a random one.
func maintenance() *gardencorev1beta1.MaintenanceTimeWindow {
	return &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "230000+0000"}
}

const (
	region   = "region-1"
	seedPods = "10.241.0.0/16"
	// networking is the type of the shoot's network.
	networking = "calico"
)

// networks are the ranges of the shoot and the addresses that gardenlet derives from them.
type networks struct {
	families              []gardencorev1beta1.IPFamily
	nodes, pods, services string
	// inShoot is the address of the API server inside the shoot's network, dns the address of CoreDNS.
	inShoot, dns string
	// advertised is the seed's address of the API server, moved to the range that Gardener reserves for it
	// (pkg/gardenlet/operation/botanist/kubeapiserverexposure.go).
	advertised string
	// maxNodes is the number of nodes that the range of the pods has room for.
	maxNodes int64
}

func (o Options) networks() networks {
	if o.IPv6 {
		return networks{
			families: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv6},
			nodes:    "2001:db8:1::/64", pods: "2001:db8:2::/56", services: "2001:db8:3::/108",
			inShoot: "2001:db8:3::1", dns: "2001:db8:3::a", advertised: "64:ff9b:1::10.242.17.4", maxNodes: 256,
		}
	}
	return networks{
		families: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4},
		nodes:    "10.250.0.0/16", pods: "100.96.0.0/11", services: "100.64.0.0/13",
		inShoot: "100.64.0.1", dns: "100.64.0.10", advertised: "240.242.17.4", maxNodes: 8192,
	}
}

// domain returns the shoot's external domain, below a name reserved for documentation.
func (o Options) domain() string {
	return fmt.Sprintf("%s.%s.shoot.example.com", o.name(), o.project())
}

// ranges parses constants of this package; the empty string is no range.
func ranges(cidr string) []net.IPNet {
	_, n, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil
	}
	return []net.IPNet{*n}
}

// minorBefore returns the first patch version of the minor version before that one, if there are samples of it.
func minorBefore(version string) (string, bool) {
	v, err := semver.NewVersion(version)
	if err != nil || v.Minor() <= oldestMinor {
		return "", false
	}
	return fmt.Sprintf("%d.%d.0", v.Major(), v.Minor()-1), true
}
