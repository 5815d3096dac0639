// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/coreos/go-systemd/v22/unit"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
)

// ensurer makes the edits of testdata/profile.yaml with the helpers of Gardener's library, where and as extensions use
// them.
type ensurer struct {
	genericmutator.NoopEnsurer
}

// attributesClass reports whether the shoot's version of Kubernetes needs the gate.
func attributesClass(ctx context.Context, gctx extensionscontextwebhook.GardenContext) (bool, error) {
	cluster, err := gctx.GetCluster(ctx)
	if err != nil {
		return false, err
	}
	version, err := semver.NewVersion(cluster.Shoot.Spec.Kubernetes.Version)
	return err == nil && version.LessThan(semver.MustParse("1.34.0")), err
}

const gate = "VolumeAttributesClass=true"

// EnsureKubeAPIServerDeployment edits some flags in args and the rest in command, as extensions do.
func (*ensurer) EnsureKubeAPIServerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, d,
	_ *appsv1.Deployment) error {
	if d.Name == "virtual-garden-kube-apiserver" {
		c := extensionswebhook.ContainerWithName(d.Spec.Template.Spec.Containers, "kube-apiserver")
		c.Args = extensionswebhook.EnsureStringWithPrefixContains(c.Args, "--runtime-config=",
			"storage.k8s.io/v1beta1=true", ",")
		d.Spec.Template.Labels = extensionswebhook.EnsureAnnotationOrLabel(d.Spec.Template.Labels, "injected-by", "provider")
		return nil
	}
	gated, err := attributesClass(ctx, gctx)
	if err != nil {
		return err
	}
	cluster, err := gctx.GetCluster(ctx)
	if err != nil {
		return err
	}
	pod := &d.Spec.Template
	c := extensionswebhook.ContainerWithName(pod.Spec.Containers, "kube-apiserver")
	c.Command = extensionswebhook.EnsureNoStringWithPrefix(c.Command, "--cloud-provider=")
	c.Command = extensionswebhook.EnsureNoStringWithPrefix(c.Command, "--cloud-config=")
	if gated {
		c.Command = extensionswebhook.EnsureStringWithPrefixContains(c.Command, "--feature-gates=", gate, ",")
		c.Args = extensionswebhook.EnsureStringWithPrefixContains(c.Args, "--runtime-config=",
			"storage.k8s.io/v1beta1=true", ",")
	}
	c.Args = extensionswebhook.EnsureStringWithPrefixContains(c.Args, "--enable-admission-plugins=",
		"PersistentVolumeClaimResize", ",")
	c.Args = extensionswebhook.EnsureNoStringWithPrefixContains(c.Args, "--disable-admission-plugins=",
		"PersistentVolumeClaimResize", ",")
	c.VolumeMounts = extensionswebhook.EnsureVolumeMountWithName(c.VolumeMounts, corev1.VolumeMount{
		Name: "cloudprovider", MountPath: "/etc/cloud", ReadOnly: true,
	})
	pod.Spec.Volumes = extensionswebhook.EnsureVolumeWithName(pod.Spec.Volumes, corev1.Volume{
		Name:         "cloudprovider",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "cloudprovider"}},
	})
	c.Env = extensionswebhook.EnsureEnvVarWithName(c.Env, corev1.EnvVar{Name: "REGION", Value: cluster.Shoot.Spec.Region})
	pod.Annotations = extensionswebhook.EnsureAnnotationOrLabel(pod.Annotations, "checksum/cloud", "0123456789abcdef")
	return nil
}

// EnsureKubeControllerManagerDeployment sets --allocate-node-cidrs by removing and appending it, as the extension for
// AWS does.
func (*ensurer) EnsureKubeControllerManagerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext,
	d, _ *appsv1.Deployment) error {
	pod := &d.Spec.Template
	c := extensionswebhook.ContainerWithName(pod.Spec.Containers, "kube-controller-manager")
	if d.Name == "virtual-garden-kube-controller-manager" {
		c.Command = extensionswebhook.EnsureStringWithPrefix(c.Command, "--kube-api-qps=", "200")
		return nil
	}
	c.Command = extensionswebhook.EnsureStringWithPrefix(c.Command, "--cloud-provider=", "external")
	c.Command = extensionswebhook.EnsureNoStringWithPrefix(c.Command, "--cloud-config=")
	c.Command = extensionswebhook.EnsureNoStringWithPrefix(c.Command, "--external-cloud-volume-plugin=")
	c.Command = extensionswebhook.EnsureNoStringWithPrefix(c.Command, "--allocate-node-cidrs=")
	c.Command = append(c.Command, "--allocate-node-cidrs=false")
	c.VolumeMounts = extensionswebhook.EnsureNoVolumeMountWithName(c.VolumeMounts, "etc-ssl")
	pod.Spec.Volumes = extensionswebhook.EnsureNoVolumeWithName(pod.Spec.Volumes, "etc-ssl")
	pod.Labels = extensionswebhook.EnsureAnnotationOrLabel(pod.Labels, "networking.gardener.cloud/to-private-networks",
		"allowed")
	delete(pod.Labels, "networking.gardener.cloud/to-dns")
	return ensureGate(ctx, gctx, c)
}

// EnsureKubeSchedulerDeployment implements genericmutator.Ensurer.
func (*ensurer) EnsureKubeSchedulerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, d,
	_ *appsv1.Deployment) error {
	pod := &d.Spec.Template
	pod.Labels = extensionswebhook.EnsureAnnotationOrLabel(pod.Labels, "injected-by", "provider")
	return ensureGate(ctx, gctx, extensionswebhook.ContainerWithName(pod.Spec.Containers, "kube-scheduler"))
}

// EnsureClusterAutoscalerDeployment implements genericmutator.Ensurer.
func (*ensurer) EnsureClusterAutoscalerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, d,
	_ *appsv1.Deployment) error {
	return ensureGate(ctx, gctx,
		extensionswebhook.ContainerWithName(d.Spec.Template.Spec.Containers, "cluster-autoscaler"))
}

func ensureGate(ctx context.Context, gctx extensionscontextwebhook.GardenContext, c *corev1.Container) error {
	gated, err := attributesClass(ctx, gctx)
	if gated {
		c.Command = extensionswebhook.EnsureStringWithPrefixContains(c.Command, "--feature-gates=", gate, ",")
	}
	return err
}

// EnsureMachineControllerManagerDeployment implements genericmutator.Ensurer.
func (*ensurer) EnsureMachineControllerManagerDeployment(ctx context.Context,
	gctx extensionscontextwebhook.GardenContext, d, _ *appsv1.Deployment) error {
	cluster, err := gctx.GetCluster(ctx)
	if err != nil {
		return err
	}
	pod := &d.Spec.Template.Spec
	c := extensionswebhook.ContainerWithName(pod.Containers, "machine-controller-manager")
	c.Command = extensionswebhook.EnsureStringWithPrefix(c.Command, "--kube-api-qps=", "200")
	pod.Containers = extensionswebhook.EnsureContainerWithName(pod.Containers,
		machinecontrollermanager.ProviderSidecarContainer(
			cluster.Shoot, d.Namespace, "provider-openstack",
			"registry.example.com/machine-controller-manager-provider-openstack:v1"))
	return nil
}

// EnsureMachineControllerManagerVPA implements genericmutator.Ensurer.
func (*ensurer) EnsureMachineControllerManagerVPA(_ context.Context, _ extensionscontextwebhook.GardenContext, v,
	_ *vpaautoscalingv1.VerticalPodAutoscaler) error {
	if v.Spec.ResourcePolicy == nil {
		v.Spec.ResourcePolicy = &vpaautoscalingv1.PodResourcePolicy{}
	}
	v.Spec.ResourcePolicy.ContainerPolicies = extensionswebhook.EnsureVPAContainerResourcePolicyWithName(
		v.Spec.ResourcePolicy.ContainerPolicies,
		machinecontrollermanager.ProviderSidecarVPAContainerPolicy("provider-openstack"))
	return nil
}

// EnsureVPNSeedServerDeployment implements genericmutator.Ensurer.
func (*ensurer) EnsureVPNSeedServerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, d,
	_ *appsv1.Deployment) error {
	return ensureNodeNetwork(ctx, gctx, &d.Spec.Template.Spec)
}

// EnsureVPNSeedServerStatefulSet implements genericmutator.Ensurer.
func (*ensurer) EnsureVPNSeedServerStatefulSet(ctx context.Context, gctx extensionscontextwebhook.GardenContext, s,
	_ *appsv1.StatefulSet) error {
	return ensureNodeNetwork(ctx, gctx, &s.Spec.Template.Spec)
}

func ensureNodeNetwork(ctx context.Context, gctx extensionscontextwebhook.GardenContext, pod *corev1.PodSpec) error {
	cluster, err := gctx.GetCluster(ctx)
	if err != nil {
		return err
	}
	c := extensionswebhook.ContainerWithName(pod.Containers, "vpn-seed-server")
	c.Env = extensionswebhook.EnsureEnvVarWithName(c.Env,
		corev1.EnvVar{Name: "NODE_NETWORK", Value: ptr.Deref(cluster.Shoot.Spec.Networking.Nodes, "")})
	return nil
}

// EnsureETCD implements genericmutator.Ensurer.
func (*ensurer) EnsureETCD(_ context.Context, _ extensionscontextwebhook.GardenContext, e,
	_ *druidcorev1alpha1.Etcd) error {
	capacity := resource.MustParse("20Gi")
	if e.Name == "etcd-main" {
		capacity = resource.MustParse("50Gi")
		e.Annotations = extensionswebhook.EnsureAnnotationOrLabel(e.Annotations, "cloud.example.com/disk", "fast")
	}
	if e.Name == "virtual-garden-etcd-main" {
		capacity = resource.MustParse("100Gi")
	}
	e.Spec.StorageClass, e.Spec.StorageCapacity = ptr.To("fast"), &capacity
	return nil
}

// EnsureKubeletServiceUnitOptions implements genericmutator.Ensurer.
func (*ensurer) EnsureKubeletServiceUnitOptions(_ context.Context, _ extensionscontextwebhook.GardenContext,
	_ *semver.Version,
	options, _ []*unit.UnitOption,
) ([]*unit.UnitOption, error) {
	if option := extensionswebhook.UnitOptionWithSectionAndName(options, "Service", "ExecStart"); option != nil {
		command := extensionswebhook.DeserializeCommandLine(option.Value)
		command = extensionswebhook.EnsureStringWithPrefix(command, "--cloud-provider=", "external")
		option.Value = extensionswebhook.SerializeCommandLine(command, 1, " \\\n    ")
	}
	return extensionswebhook.EnsureUnitOption(options, &unit.UnitOption{
		Section: "Service", Name: "ExecStartPre", Value: `/bin/sh -c 'hostnamectl set-hostname $(hostname -f)'`,
	}), nil
}

// EnsureKubeletConfiguration implements genericmutator.Ensurer.
func (*ensurer) EnsureKubeletConfiguration(_ context.Context, _ extensionscontextwebhook.GardenContext,
	_ *semver.Version,
	configuration, _ *kubeletconfigv1beta1.KubeletConfiguration,
) error {
	configuration.EnableControllerAttachDetach = ptr.To(true)
	configuration.ResolverConfig = ptr.To("/etc/resolv-for-kubelet.conf")
	if configuration.FeatureGates == nil {
		configuration.FeatureGates = map[string]bool{}
	}
	configuration.FeatureGates["NodeSwap"] = false
	return nil
}

// EnsureKubernetesGeneralConfiguration replaces a setting in place, or appends it.
func (*ensurer) EnsureKubernetesGeneralConfiguration(_ context.Context, _ extensionscontextwebhook.GardenContext,
	settings, _ *string) error {
	lines := strings.Split(strings.TrimSuffix(*settings, "\n"), "\n")
	lines = extensionswebhook.EnsureStringWithPrefix(lines, "net.core.somaxconn = ", "65535")
	lines = extensionswebhook.EnsureStringWithPrefix(lines, "net.ipv4.neigh.default.gc_thresh1 = ", "0")
	*settings = strings.Join(lines, "\n") + "\n"
	return nil
}

// EnsureAdditionalFiles implements genericmutator.Ensurer.
func (*ensurer) EnsureAdditionalFiles(_ context.Context, _ extensionscontextwebhook.GardenContext, files,
	_ *[]extensionsv1alpha1.File) error {
	*files = extensionswebhook.EnsureFileWithPath(*files, extensionsv1alpha1.File{
		Path: "/opt/bin/update-resolv-conf.sh", Permissions: ptr.To[uint32](0o755),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
			Encoding: "b64", Data: base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\necho updated\n")),
		}},
	})
	*files = extensionswebhook.EnsureFileWithPath(*files, extensionsv1alpha1.File{
		Path: "/var/lib/cloud/credentials", Permissions: ptr.To[uint32](0o600),
		Content: extensionsv1alpha1.FileContent{SecretRef: &extensionsv1alpha1.FileContentSecretRef{Name: "cloudprovider",
			DataKey: "credentials"}},
	})
	*files = extensionswebhook.EnsureFileWithPath(*files, extensionsv1alpha1.File{
		Path: "/opt/bin/cloud-agent",
		Content: extensionsv1alpha1.FileContent{ImageRef: &extensionsv1alpha1.FileContentImageRef{
			Image: "registry.example.com/cloud-agent:v1", FilePathInImage: "/cloud-agent",
		}},
	})
	return nil
}

// EnsureAdditionalUnits implements genericmutator.Ensurer.
func (*ensurer) EnsureAdditionalUnits(_ context.Context, _ extensionscontextwebhook.GardenContext, units,
	_ *[]extensionsv1alpha1.Unit) error {
	extensionswebhook.AppendUniqueUnit(units, extensionsv1alpha1.Unit{
		Name: "update-resolv-conf.service", Enable: ptr.To(true), Command: ptr.To(extensionsv1alpha1.CommandStart),
		Content: ptr.To("[Unit]\nDescription=Write the resolv.conf of the " +
			"kubelet\n\n[Service]\nExecStart=/opt/bin/update-resolv-conf.sh\n"),
	})
	containerd := extensionswebhook.UnitWithName(*units, "containerd.service")
	if containerd == nil {
		*units = append(*units, extensionsv1alpha1.Unit{Name: "containerd.service"})
		containerd = &(*units)[len(*units)-1]
	}
	proxy := extensionsv1alpha1.DropIn{Name: "10-proxy.conf", Content: "[Service]\nEnvironment=NO_PROXY=192.0.2.0/24\n"}
	for i := range containerd.DropIns {
		if containerd.DropIns[i].Name == proxy.Name {
			containerd.DropIns[i] = proxy
			return nil
		}
	}
	containerd.DropIns = append(containerd.DropIns, proxy)
	return nil
}

// EnsureCRIConfig implements genericmutator.Ensurer.
func (*ensurer) EnsureCRIConfig(_ context.Context, _ extensionscontextwebhook.GardenContext, cri,
	_ *extensionsv1alpha1.CRIConfig) error {
	if cri != nil && cri.Containerd != nil {
		cri.Containerd.SandboxImage = "registry.example.com/pause:3.10"
	}
	return nil
}

// EnsureAdditionalProvisionFiles implements genericmutator.Ensurer.
func (*ensurer) EnsureAdditionalProvisionFiles(_ context.Context, _ extensionscontextwebhook.GardenContext, files,
	_ *[]extensionsv1alpha1.File) error {
	*files = extensionswebhook.EnsureFileWithPath(*files, extensionsv1alpha1.File{
		Path: "/opt/bin/first-boot.sh", Permissions: ptr.To[uint32](0o755),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: "#!/bin/sh\n"}},
	})
	return nil
}

// EnsureAdditionalProvisionUnits implements genericmutator.Ensurer.
func (*ensurer) EnsureAdditionalProvisionUnits(_ context.Context, _ extensionscontextwebhook.GardenContext, units,
	_ *[]extensionsv1alpha1.Unit) error {
	extensionswebhook.AppendUniqueUnit(units, extensionsv1alpha1.Unit{
		Name: "first-boot.service", Content: ptr.To("[Service]\nExecStart=/opt/bin/first-boot.sh\n"),
	})
	return nil
}
