// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"net"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener/imagevector"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/component/apiserver"
	kubeapiserver "github.com/gardener/gardener/pkg/component/kubernetes/apiserver"
	kubeapiserverexposure "github.com/gardener/gardener/pkg/component/kubernetes/apiserverexposure"
	vpnseedserver "github.com/gardener/gardener/pkg/component/networking/vpn/seedserver"
)

// apiServer deploys the kube-apiserver with the values of gardenlet (pkg/gardenlet/operation/botanist/kubeapiserver.go
// and pkg/component/shared/kubeapiserver.go, which would import the monitoring stack).
func (p *plane) apiServer(ctx context.Context) error {
	values := p.apiServerValues(p.Shoot.Spec.Kubernetes.KubeAPIServer)
	return kubeapiserver.New(p.clientSet(), p.namespace, p.secrets, values).Deploy(ctx)
}

func (p *plane) apiServerValues(config *gardencorev1beta1.KubeAPIServerConfig) kubeapiserver.Values {
	hostname := "api." + p.domain()
	enabled, disabled := admissionPlugins(config.AdmissionPlugins)
	values := kubeapiserver.Values{
		Values: apiserver.Values{
			EnabledAdmissionPlugins: enabled, DisabledAdmissionPlugins: disabled,
			ETCDEncryption: apiserver.ETCDEncryptionConfig{
				EncryptWithCurrentKey: true, EncryptionProvider: ptr.Deref(config.EncryptionConfig.Provider.Type, ""),
				ResourcesToEncrypt: []string{"secrets"}, EncryptedResources: []string{"secrets"},
			},
			FeatureGates: config.FeatureGates, Logging: config.Logging, Requests: config.Requests,
			RuntimeVersion: p.runtimeVersion, WatchCacheSizes: config.WatchCacheSizes,
		},
		AnonymousAuthenticationEnabled:      config.EnableAnonymousAuthentication,
		APIAudiences:                        []string{"kubernetes", "gardener"},
		AuthorizationWebhooks:               p.authorizationWebhooks(),
		Autoscaling:                         p.apiServerAutoscaling(),
		DefaultNotReadyTolerationSeconds:    config.DefaultNotReadyTolerationSeconds,
		DefaultUnreachableTolerationSeconds: config.DefaultUnreachableTolerationSeconds,
		EventTTL:                            config.EventTTL,
		ExternalHostname:                    hostname,
		Images: kubeapiserver.Images{
			EnvoyProxy:    p.images[imagevector.ContainerImageNameEnvoyProxy].String(),
			KubeAPIServer: p.images[imagevector.ContainerImageNameKubeApiserver].String(),
			VPNClient:     p.images[imagevector.ContainerImageNameVpnClient].String(),
		},
		IsWorkerless:      p.Workerless,
		NamePrefix:        p.prefix,
		OIDC:              config.OIDCConfig,
		PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane500,
		RuntimeConfig:     config.RuntimeConfig,
		ServerCertificate: kubeapiserver.ServerCertificateConfig{
			ExtraIPAddresses: []net.IP{net.ParseIP(p.Networks.InShoot)}, ExtraDNSNames: []string{p.namespace, p.domain(), hostname},
		},
		ServiceAccount:      kubeapiserver.ComputeKubeAPIServerServiceAccountConfig(config.ServiceAccountConfig, hostname, ""),
		ServiceNetworkCIDRs: ranges(p.Networks.Services),
		SNI:                 kubeapiserver.SNIConfig{Enabled: true, AdvertiseAddress: p.Networks.Advertised},
		Version:             p.targetVersion,
		VPN:                 p.vpnOfAPIServer(),
	}
	if p.prefix != "" {
		p.gardenize(&values)
	}
	return values
}

func (p *plane) apiServerAutoscaling() kubeapiserver.AutoscalingConfig {
	least := int32(2)
	if p.HighAvailability {
		least = 3
	}
	return kubeapiserver.AutoscalingConfig{
		APIServerResources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("500Mi"),
		}},
		Replicas: ptr.To(p.replicas(least)), MinReplicas: least, MaxReplicas: 6,
	}
}

func (p *plane) vpnOfAPIServer() kubeapiserver.VPNConfig {
	if p.Workerless || p.prefix != "" {
		return kubeapiserver.VPNConfig{}
	}
	return kubeapiserver.VPNConfig{
		Enabled: true, IPFamilies: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4},
		SeedPodNetwork: ranges(p.Seed.Spec.Networks.Pods)[0], PodNetworkCIDRs: ranges(p.Networks.Pods), NodeNetworkCIDRs: ranges(p.Networks.Nodes),
		HighAvailabilityEnabled:              p.HighAvailability,
		HighAvailabilityNumberOfSeedServers:  vpnseedserver.HighAvailabilityReplicaCount,
		HighAvailabilityNumberOfShootClients: vpnseedserver.HighAvailabilityReplicaCount,
	}
}

// authorizationWebhooks returns the authorizer of the node agents, which every shoot with nodes has.
func (p *plane) authorizationWebhooks() []kubeapiserver.AuthorizationWebhook {
	if p.Workerless || p.prefix != "" {
		return nil
	}
	return []kubeapiserver.AuthorizationWebhook{{
		Name:       "node-agent-authorizer",
		Kubeconfig: []byte("apiVersion: v1\nkind: Config\n"),
		WebhookConfiguration: apiserverv1beta1.WebhookConfiguration{
			AuthorizedTTL: metav1.Duration{Duration: 1}, UnauthorizedTTL: metav1.Duration{Duration: 1},
			Timeout: metav1.Duration{Duration: 10 * time.Second}, FailurePolicy: apiserverv1beta1.FailurePolicyDeny,
			SubjectAccessReviewVersion: "v1", MatchConditionSubjectAccessReviewVersion: "v1",
			MatchConditions: []apiserverv1beta1.WebhookMatchCondition{{Expression: "'" + v1beta1constants.NodeAgentsGroup + "' in request.groups"}},
		},
	}}
}

// apiServerService deploys the Service, of type ClusterIP since the API server is exposed by SNI.
func (p *plane) apiServerService(ctx context.Context) error {
	return kubeapiserverexposure.NewService(logr.Discard(), p.client, p.namespace,
		&kubeapiserverexposure.ServiceValues{NamePrefix: p.prefix, RuntimeKubernetesVersion: p.runtimeVersion},
		func() client.ObjectKey { return client.ObjectKey{} }, nil, nil, nil).Deploy(ctx)
}

// admissionPlugins returns the enabled and the disabled plugins of the Shoot. gardenlet always enables NodeRestriction.
func admissionPlugins(configured []gardencorev1beta1.AdmissionPlugin) (enabled []apiserver.AdmissionPluginConfig, disabled []gardencorev1beta1.AdmissionPlugin) {
	plugins := []gardencorev1beta1.AdmissionPlugin{{Name: "NodeRestriction"}}
	for _, plugin := range configured {
		if plugin.Name == plugins[0].Name {
			plugins[0] = plugin
		} else {
			plugins = append(plugins, plugin)
		}
	}
	for _, plugin := range plugins {
		if ptr.Deref(plugin.Disabled, false) {
			disabled = append(disabled, plugin)
		} else {
			enabled = append(enabled, apiserver.AdmissionPluginConfig{AdmissionPlugin: plugin})
		}
	}
	return enabled, disabled
}
