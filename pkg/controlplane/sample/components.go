// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener/imagevector"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	v1beta1helper "github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	"github.com/gardener/gardener/pkg/component/autoscaling/clusterautoscaler"
	"github.com/gardener/gardener/pkg/component/etcd/etcd"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	kubeapiserver "github.com/gardener/gardener/pkg/component/kubernetes/apiserver"
	kubecontrollermanager "github.com/gardener/gardener/pkg/component/kubernetes/controllermanager"
	kubescheduler "github.com/gardener/gardener/pkg/component/kubernetes/scheduler"
	vpnseedserver "github.com/gardener/gardener/pkg/component/networking/vpn/seedserver"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
)

// controllerManager deploys the kube-controller-manager (pkg/gardenlet/operation/botanist/kubecontrollermanager.go).
func (p *plane) controllerManager(ctx context.Context) error {
	values := kubecontrollermanager.Values{
		RuntimeVersion: p.runtimeVersion, TargetVersion: p.targetVersion,
		Image:             p.images[imagevector.ContainerImageNameKubeControllerManager].String(),
		Config:            p.Shoot.Spec.Kubernetes.KubeControllerManager,
		PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane300,
		NamePrefix:        p.prefix, IsWorkerless: p.Workerless,
	}
	if p.prefix != "" {
		gardenizeControllerManager(&values)
	}
	deployer := kubecontrollermanager.New(logr.Discard(), p.clientSet(), p.namespace, p.secrets, values)
	deployer.SetReplicaCount(p.replicas(1))
	deployer.SetRuntimeConfig(p.Shoot.Spec.Kubernetes.KubeAPIServer.RuntimeConfig)
	deployer.SetServiceNetworks(ranges(p.Networks.Services))
	if !p.Workerless {
		deployer.SetPodNetworks(ranges(p.Networks.Pods))
	}
	return deployer.Deploy(ctx)
}

// scheduler deploys the kube-scheduler (pkg/gardenlet/operation/botanist/kubescheduler.go).
func (p *plane) scheduler(ctx context.Context) error {
	return kubescheduler.New(p.client, p.namespace, p.secrets, p.images[imagevector.ContainerImageNameKubeScheduler].String(), p.replicas(1),
		p.Shoot.Spec.Kubernetes.KubeScheduler).Deploy(ctx)
}

// clusterAutoscaler deploys the cluster-autoscaler with one machine deployment a zone, as a Worker resource reports
// them (pkg/gardenlet/operation/botanist/clusterautoscaler.go).
func (p *plane) clusterAutoscaler(ctx context.Context) error {
	workers := p.Shoot.Spec.Provider.Workers
	deployer := clusterautoscaler.New(p.client, p.namespace, p.secrets, p.images[imagevector.ContainerImageNameClusterAutoscaler].String(), p.replicas(1),
		p.Shoot.Spec.Kubernetes.ClusterAutoscaler, workers, p.runtimeVersion)
	deployer.SetNamespaceUID(uid)
	var machines []extensionsv1alpha1.MachineDeployment
	for _, worker := range workers {
		for i := range worker.Zones {
			machines = append(machines, extensionsv1alpha1.MachineDeployment{
				Name: fmt.Sprintf("%s-%s-z%d", p.namespace, worker.Name, i+1), Minimum: worker.Minimum, Maximum: worker.Maximum,
			})
		}
	}
	deployer.SetMachineDeployments(machines)
	deployer.SetMaxNodesTotal(p.Networks.MaxNodes)
	return deployer.Deploy(ctx)
}

// machineControllerManager deploys the machine-controller-manager without the sidecar of a provider, which is for
// webhooks to add (pkg/gardenlet/operation/botanist/machinecontrollermanager.go).
func (p *plane) machineControllerManager(ctx context.Context) error {
	deployer := machinecontrollermanager.New(p.client, p.namespace, p.secrets, machinecontrollermanager.Values{
		Image: p.images[imagevector.ContainerImageNameMachineControllerManager].String(),
	})
	deployer.SetReplicas(p.replicas(1))
	return deployer.Deploy(ctx)
}

// vpnSeedServer deploys the VPN server, a StatefulSet when it is highly available and a Deployment otherwise
// (pkg/gardenlet/operation/botanist/vpnseedserver.go).
func (p *plane) vpnSeedServer(ctx context.Context) error {
	replicas := p.replicas(1)
	if p.HighAvailability {
		replicas = p.replicas(vpnseedserver.HighAvailabilityReplicaCount)
	}
	return vpnseedserver.New(p.client, p.namespace, p.secrets, func() string { return "istio-ingress" }, vpnseedserver.Values{
		ImageAPIServerProxy: p.images[imagevector.ContainerImageNameEnvoyProxy].String(),
		ImageVPNSeedServer:  p.images[imagevector.ContainerImageNameVpnServer].String(),
		KubeAPIServerHost:   ptr.To("api." + p.domain()),
		Network: vpnseedserver.NetworkValues{
			IPFamilies: p.Networks.Families,
			PodCIDRs:   ranges(p.Networks.Pods), ServiceCIDRs: ranges(p.Networks.Services), NodeCIDRs: ranges(p.Networks.Nodes),
		},
		SeedPodNetwork: p.Seed.Spec.Networks.Pods, Replicas: replicas, HighAvailabilityEnabled: p.HighAvailability,
		HighAvailabilityNumberOfSeedServers:  vpnseedserver.HighAvailabilityReplicaCount,
		HighAvailabilityNumberOfShootClients: vpnseedserver.HighAvailabilityReplicaCount,
	}).Deploy(ctx)
}

// etcds deploys the Etcd resources of etcd-druid (pkg/gardenlet/operation/botanist/etcd.go). Only the main one has a
// backup. They come before the kube-apiserver, which reads the client certificate that they generate.
func (p *plane) etcds(ctx context.Context) error {
	for _, v := range []etcd.Values{
		{
			Role: v1beta1constants.ETCDRoleMain, Class: etcd.ClassImportant, StorageCapacity: "25Gi",
			DefragmentationSchedule: ptr.To("7 22 */3 * *"), EvictionRequirement: ptr.To(v1beta1constants.EvictionRequirementNever),
			BackupConfig: &etcd.BackupConfig{
				Provider: p.BackupProvider, Container: "backups", SecretRefName: v1beta1constants.BackupSecretName,
				Prefix: p.namespace + "--" + uid, FullSnapshotSchedule: "52 21 * * *",
			},
		},
		{
			Role: v1beta1constants.ETCDRoleEvents, Class: etcd.ClassNormal, StorageCapacity: "10Gi",
			DefragmentationSchedule: ptr.To("7 22 */3 * *"),
			EvictionRequirement:     ptr.To(v1beta1constants.EvictionRequirementInMaintenanceWindowOnly),
		},
	} {
		v.NamePrefix = p.prefix
		v.Replicas = p.etcdReplicas()
		v.RuntimeKubernetesVersion = p.runtimeVersion
		v.MaintenanceTimeWindow = gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "230000+0000"}
		v.HighAvailabilityEnabled = p.HighAvailability
		v.PriorityClassName = v1beta1constants.PriorityClassNameShootControlPlane500
		if p.prefix != "" {
			v.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem500
		}
		if err := etcd.New(logr.Discard(), p.client, p.namespace, p.secrets, v).Deploy(ctx); err != nil {
			return fmt.Errorf("%s: %w", v.Role, err)
		}
	}
	return nil
}

// etcdReplicas returns nil for a hibernated shoot, as gardenlet does: a new Etcd then has no replicas field.
func (p *plane) etcdReplicas() *int32 {
	switch {
	case p.Hibernated:
		return nil
	case p.HighAvailability:
		return ptr.To[int32](3)
	default:
		return ptr.To[int32](1)
	}
}

// operatingSystemConfigs deploys the two of each worker pool
// (pkg/gardenlet/operation/botanist/operatingsystemconfig.go).
func (p *plane) operatingSystemConfigs(ctx context.Context) error {
	images, err := images(p.targetVersion.String(), p.targetVersion.String(), imagevector.ContainerImageNamePauseContainer,
		imagevector.ContainerImageNameValitail, imagevector.ContainerImageNameOpentelemetryCollector)
	if err != nil {
		return err
	}
	agent, err := imagevector.Containers().FindImage(imagevector.ContainerImageNameGardenerNodeAgent)
	if err != nil {
		return fmt.Errorf("finding the image of the node agent: %w", err)
	}
	agent.WithOptionalTag(gardenerVersion)
	images[imagevector.ContainerImageNameGardenerNodeAgent] = agent
	kubernetes := p.Shoot.Spec.Kubernetes
	values := &operatingsystemconfig.Values{
		Namespace: p.namespace, KubernetesVersion: p.targetVersion, Workers: p.Shoot.Spec.Provider.Workers,
		InitValues: operatingsystemconfig.InitValues{APIServerURL: "https://api." + p.domain()},
		OriginalValues: operatingsystemconfig.OriginalValues{
			CABundle: certificate, ClusterDNSAddresses: []string{p.Networks.DNS}, ClusterDomain: gardencorev1beta1.DefaultDomain,
			Images: images, KubeletConfig: kubernetes.Kubelet, KubeProxyConfig: kubernetes.KubeProxy,
			KubeProxyEnabled: v1beta1helper.KubeProxyEnabled(kubernetes.KubeProxy), MachineTypes: p.CloudProfile.Spec.MachineTypes,
			SSHPublicKeys: []string{"ssh-rsa sample"}, SSHAccessEnabled: v1beta1helper.ShootEnablesSSHAccess(p.Shoot),
			NodeMonitorGracePeriod: metav1.Duration{Duration: 40 * time.Second}, PrimaryIPFamily: p.Networks.Families[0],
			OpenTelemetryCollectorLogShipperEnabled: true, OpenTelemetryIngressHostName: "otc-" + p.domain(),
			ValitailEnabled: true, ValiIngressHostName: "v-" + p.domain(),
		},
	}
	return operatingsystemconfig.New(logr.Discard(), p.client, p.secrets, values, 0, 0, 0).Deploy(ctx)
}

// VirtualGarden writes the objects of a virtual garden's control plane as gardener-operator does
// (pkg/operator/controller/garden/garden/components.go), in namespace garden and with names that begin with
// virtual-garden-. A garden has no workers and does not hibernate: those options are not read. It fails for invalid
// options, or if Gardener's code fails.
func VirtualGarden(ctx context.Context, o Options) ([]Object, error) {
	o.Workerless, o.Hibernated = true, false
	p, err := newPlane(o, operatorv1alpha1.VirtualGardenNamePrefix)
	if err != nil {
		return nil, err
	}
	return p.run(ctx, p.serverSteps())
}

// gardenNamespace carries no label of a provider: Gardener puts none there.
func gardenNamespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.GardenNamespace},
	}
}

// gardenize changes the values of a shoot's API server into those of a virtual garden's.
func (p *plane) gardenize(values *kubeapiserver.Values) {
	values.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem500
	values.ExternalHostname = "api.virtual-garden.example.com"
	values.ServiceAccount.Issuer = "https://api.virtual-garden.example.com"
	values.SNI = kubeapiserver.SNIConfig{}
	values.Autoscaling.APIServerResources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("600m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
	}
}

func gardenizeControllerManager(values *kubecontrollermanager.Values) {
	values.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem300
	values.ClusterSigningDuration = ptr.To(48 * time.Hour)
	values.ControllerWorkers = kubecontrollermanager.ControllerWorkers{
		GarbageCollector: ptr.To(250), Namespace: ptr.To(100), ResourceQuota: ptr.To(100), ServiceAccountToken: ptr.To(0),
	}
	values.ControllerSyncPeriods = kubecontrollermanager.ControllerSyncPeriods{ResourceQuota: ptr.To(time.Minute)}
}
