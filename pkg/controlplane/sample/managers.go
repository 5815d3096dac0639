// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener/imagevector"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/autoscaling/clusterautoscaler"
	kubecontrollermanager "github.com/gardener/gardener/pkg/component/kubernetes/controllermanager"
	kubescheduler "github.com/gardener/gardener/pkg/component/kubernetes/scheduler"
	vpnseedserver "github.com/gardener/gardener/pkg/component/networking/vpn/seedserver"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
)

// controllerManager deploys the kube-controller-manager (pkg/gardenlet/operation/botanist/kubecontrollermanager.go).
func (p *plane) controllerManager(ctx context.Context) error {
	image, err := p.image(imagevector.ContainerImageNameKubeControllerManager)
	if err != nil {
		return err
	}
	values := kubecontrollermanager.Values{
		RuntimeVersion: p.runtimeVersion, TargetVersion: p.targetVersion, Image: image,
		Config:            p.manifest.Spec.Kubernetes.KubeControllerManager,
		PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane300,
		NamePrefix:        p.prefix, IsWorkerless: p.Workerless,
	}
	if p.prefix != "" {
		gardenizeControllerManager(&values)
	}
	deployer := kubecontrollermanager.New(logr.Discard(), clientSet{client: p.client}, p.namespace, p.secrets, values)
	deployer.SetReplicaCount(p.replicas(1))
	deployer.SetRuntimeConfig(p.manifest.Spec.Kubernetes.KubeAPIServer.RuntimeConfig)
	deployer.SetServiceNetworks(ranges(p.network.services))
	if !p.Workerless {
		deployer.SetPodNetworks(ranges(p.network.pods))
	}
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the kube-controller-manager: %w", err)
	}
	return nil
}

// scheduler deploys the kube-scheduler (pkg/gardenlet/operation/botanist/kubescheduler.go).
func (p *plane) scheduler(ctx context.Context) error {
	image, err := p.image(imagevector.ContainerImageNameKubeScheduler)
	if err != nil {
		return err
	}
	deployer := kubescheduler.New(p.client, p.namespace, p.secrets, image, p.replicas(1), p.manifest.Spec.Kubernetes.KubeScheduler)
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the kube-scheduler: %w", err)
	}
	return nil
}

// clusterAutoscaler deploys the cluster-autoscaler with one machine deployment a zone, as a Worker resource reports them
// (pkg/gardenlet/operation/botanist/clusterautoscaler.go).
func (p *plane) clusterAutoscaler(ctx context.Context) error {
	image, err := p.image(imagevector.ContainerImageNameClusterAutoscaler)
	if err != nil {
		return err
	}
	workers := p.manifest.Spec.Provider.Workers
	deployer := clusterautoscaler.New(p.client, p.namespace, p.secrets, image, p.replicas(1),
		p.manifest.Spec.Kubernetes.ClusterAutoscaler, workers, p.runtimeVersion)
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
	deployer.SetMaxNodesTotal(p.network.maxNodes)
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the cluster-autoscaler: %w", err)
	}
	return nil
}

// machineControllerManager deploys the machine-controller-manager without the sidecar of a provider, which is for
// webhooks to add (pkg/gardenlet/operation/botanist/machinecontrollermanager.go).
func (p *plane) machineControllerManager(ctx context.Context) error {
	image, err := p.image(imagevector.ContainerImageNameMachineControllerManager)
	if err != nil {
		return err
	}
	deployer := machinecontrollermanager.New(p.client, p.namespace, p.secrets, machinecontrollermanager.Values{Image: image})
	deployer.SetReplicas(p.replicas(1))
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the machine-controller-manager: %w", err)
	}
	return nil
}

// vpnSeedServer deploys the VPN server, a StatefulSet when it is highly available and a Deployment otherwise
// (pkg/gardenlet/operation/botanist/vpnseedserver.go).
func (p *plane) vpnSeedServer(ctx context.Context) error {
	proxy, err := p.image(imagevector.ContainerImageNameEnvoyProxy)
	if err != nil {
		return err
	}
	server, err := p.image(imagevector.ContainerImageNameVpnServer)
	if err != nil {
		return err
	}
	replicas := p.replicas(1)
	if p.HighAvailability {
		replicas = p.replicas(vpnseedserver.HighAvailabilityReplicaCount)
	}
	deployer := vpnseedserver.New(p.client, p.namespace, p.secrets, func() string { return "istio-ingress" }, vpnseedserver.Values{
		ImageAPIServerProxy: proxy, ImageVPNSeedServer: server, KubeAPIServerHost: ptr.To("api." + p.domain()),
		Network: vpnseedserver.NetworkValues{
			IPFamilies: p.network.families,
			PodCIDRs:   ranges(p.network.pods), ServiceCIDRs: ranges(p.network.services), NodeCIDRs: ranges(p.network.nodes),
		},
		SeedPodNetwork: seedPods, Replicas: replicas, HighAvailabilityEnabled: p.HighAvailability,
		HighAvailabilityNumberOfSeedServers:  vpnseedserver.HighAvailabilityReplicaCount,
		HighAvailabilityNumberOfShootClients: vpnseedserver.HighAvailabilityReplicaCount,
	})
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the vpn-seed-server: %w", err)
	}
	return nil
}
