// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener/imagevector"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1helper "github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	imagevectorutils "github.com/gardener/gardener/pkg/utils/imagevector"
)

// operatingSystemConfigs deploys the two of each worker pool (pkg/gardenlet/operation/botanist/operatingsystemconfig.go).
func (p *plane) operatingSystemConfigs(ctx context.Context) error {
	images, err := p.nodeImages()
	if err != nil {
		return err
	}
	kubernetes := p.manifest.Spec.Kubernetes
	values := &operatingsystemconfig.Values{
		Namespace: p.namespace, KubernetesVersion: p.targetVersion, Workers: p.manifest.Spec.Provider.Workers,
		InitValues: operatingsystemconfig.InitValues{APIServerURL: "https://api." + p.domain()},
		OriginalValues: operatingsystemconfig.OriginalValues{
			CABundle: certificate, ClusterDNSAddresses: []string{p.network.dns}, ClusterDomain: gardencorev1beta1.DefaultDomain,
			Images: images, KubeletConfig: kubernetes.Kubelet, KubeProxyConfig: kubernetes.KubeProxy,
			KubeProxyEnabled: v1beta1helper.KubeProxyEnabled(kubernetes.KubeProxy), MachineTypes: p.cloudProfile().Spec.MachineTypes,
			SSHPublicKeys: []string{"ssh-rsa sample"}, SSHAccessEnabled: v1beta1helper.ShootEnablesSSHAccess(p.manifest),
			NodeMonitorGracePeriod: metav1.Duration{Duration: 40 * time.Second}, PrimaryIPFamily: p.network.families[0],
			OpenTelemetryCollectorLogShipperEnabled: true, OpenTelemetryIngressHostName: "otc-" + p.domain(),
			ValitailEnabled: true, ValiIngressHostName: "v-" + p.domain(),
		},
	}
	deployer := operatingsystemconfig.New(logr.Discard(), p.client, p.secrets, values, 0, 0, 0)
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploying the operating system configs: %w", err)
	}
	return nil
}

func (p *plane) nodeImages() (map[string]*imagevectorutils.Image, error) {
	version := p.targetVersion.String()
	images, err := imagevectorutils.FindImages(imagevector.Containers(), []string{
		imagevector.ContainerImageNamePauseContainer, imagevector.ContainerImageNameValitail,
		imagevector.ContainerImageNameOpentelemetryCollector,
	}, imagevectorutils.RuntimeVersion(version), imagevectorutils.TargetVersion(version))
	if err != nil {
		return nil, fmt.Errorf("finding the images of nodes: %w", err)
	}
	agent, err := imagevector.Containers().FindImage(imagevector.ContainerImageNameGardenerNodeAgent)
	if err != nil {
		return nil, fmt.Errorf("finding the image of the node agent: %w", err)
	}
	agent.WithOptionalTag(gardenerVersion)
	images[imagevector.ContainerImageNameGardenerNodeAgent] = agent
	return images, nil
}
