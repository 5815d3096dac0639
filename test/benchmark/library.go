// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"

	"github.com/Masterminds/semver/v3"
	"github.com/coreos/go-systemd/v22/unit"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	oscutils "github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/utils"
)

// addLibrary adds handlers that make the same edits with Gardener's extension library: an ensurer behind the generic
// mutator, once without the Cluster, and once with conditions that read it, as in most ensurers.
func addLibrary(mux *http.ServeMux, cluster *seedCache) error {
	for path, e := range map[string]*ensurer{"/gardener": {}, "/gardener-cluster": {reads: true}} {
		mgr := onlyManager{client: cluster}
		codec := oscutils.NewFileContentInlineCodec()
		mutator := genericmutator.NewMutator(mgr, e, oscutils.NewUnitSerializer(), kubelet.NewConfigCodec(codec), codec,
			logr.Discard())
		handler, err := extensionswebhook.NewBuilder(mgr, logr.Discard()).WithMutator(mutator,
			extensionswebhook.Type{Obj: &appsv1.Deployment{}},
			extensionswebhook.Type{Obj: &extensionsv1alpha1.OperatingSystemConfig{}}).Build()
		if err != nil {
			return err
		}
		mux.Handle(path, &admission.Webhook{Handler: handler})
	}
	return nil
}

// onlyManager is the part of a manager that the library needs to build a handler.
type onlyManager struct {
	manager.Manager

	client client.Client
}

func (m onlyManager) GetScheme() *runtime.Scheme { return kubernetes.SeedScheme }
func (m onlyManager) GetClient() client.Client   { return m.client }

// ensurer makes the edits of the profiles in testdata with the library's helpers.
type ensurer struct {
	genericmutator.NoopEnsurer

	reads bool
}

// EnsureKubeAPIServerDeployment implements genericmutator.Ensurer.
func (e *ensurer) EnsureKubeAPIServerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, d,
	_ *appsv1.Deployment) error {
	gates, region := true, "region-1"
	if e.reads {
		cluster, err := gctx.GetCluster(ctx)
		if err != nil {
			return err
		}
		version, err := semver.NewVersion(cluster.Shoot.Spec.Kubernetes.Version)
		if err != nil {
			return err
		}
		gates = !version.LessThan(semver.MustParse("1.31")) &&
			cluster.CloudProfile.Spec.Type == cluster.Shoot.Spec.Provider.Type
		region = cluster.Shoot.Spec.Region
	}
	pod := &d.Spec.Template
	container := extensionswebhook.ContainerWithName(pod.Spec.Containers, "kube-apiserver")
	if gates {
		for _, gate := range []string{"VolumeAttributesClass=true", "DynamicResourceAllocation=false"} {
			container.Args = extensionswebhook.EnsureStringWithPrefixContains(container.Args, "--feature-gates=", gate, ",")
		}
		container.Args = extensionswebhook.EnsureStringWithPrefixContains(container.Args, "--runtime-config=",
			"storage.k8s.io/v1beta1=true", ",")
	}
	container.Args = extensionswebhook.EnsureStringWithPrefixContains(container.Args, "--enable-admission-plugins=",
		"PersistentVolumeClaimResize", ",")
	container.Env = extensionswebhook.EnsureEnvVarWithName(container.Env, corev1.EnvVar{Name: "REGION", Value: region})
	pod.Spec.Volumes = extensionswebhook.EnsureVolumeWithName(pod.Spec.Volumes, corev1.Volume{
		Name: "cloud-certificates", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	container.VolumeMounts = extensionswebhook.EnsureVolumeMountWithName(container.VolumeMounts, corev1.VolumeMount{
		Name: "cloud-certificates", MountPath: "/etc/ssl/cloud", ReadOnly: true,
	})
	pod.Labels = extensionswebhook.EnsureAnnotationOrLabel(pod.Labels, "networking.gardener.cloud/to-cloud", "allowed")
	pod.Annotations = extensionswebhook.EnsureAnnotationOrLabel(pod.Annotations, "cloud.example.com/checksum",
		"0f1e2d3c4b5a69788796a5b4c3d2e1f0")
	return nil
}

// EnsureKubeletServiceUnitOptions implements genericmutator.Ensurer.
func (e *ensurer) EnsureKubeletServiceUnitOptions(_ context.Context, _ extensionscontextwebhook.GardenContext,
	_ *semver.Version,
	options, _ []*unit.UnitOption,
) ([]*unit.UnitOption, error) {
	if option := extensionswebhook.UnitOptionWithSectionAndName(options, "Service", "ExecStart"); option != nil {
		command := extensionswebhook.DeserializeCommandLine(option.Value)
		command = extensionswebhook.EnsureStringWithPrefix(command, "--cloud-provider=", "external")
		option.Value = extensionswebhook.SerializeCommandLine(command, 1, " \\\n    ")
	}
	return extensionswebhook.EnsureUnitOption(options,
		&unit.UnitOption{Section: "Service", Name: "ExecStartPre", Value: hostnameCommand}), nil
}

// hostnameCommand is the command that most providers run before the kubelet.
const hostnameCommand = `/bin/sh -c 'hostnamectl set-hostname $(hostname -f)'`

// EnsureKubeletConfiguration implements genericmutator.Ensurer.
func (e *ensurer) EnsureKubeletConfiguration(_ context.Context, _ extensionscontextwebhook.GardenContext,
	_ *semver.Version,
	configuration, _ *kubeletconfigv1beta1.KubeletConfiguration,
) error {
	configuration.EnableControllerAttachDetach = ptr.To(true)
	configuration.ResolverConfig = ptr.To("/etc/resolv-for-kubelet.conf")
	return nil
}

// EnsureAdditionalFiles implements genericmutator.Ensurer.
func (e *ensurer) EnsureAdditionalFiles(_ context.Context, _ extensionscontextwebhook.GardenContext, files,
	_ *[]extensionsv1alpha1.File) error {
	*files = extensionswebhook.EnsureFileWithPath(*files, extensionsv1alpha1.File{
		Path: "/etc/cloud/region", Permissions: ptr.To(uint32(0o644)),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: "region-1\n"}},
	})
	return nil
}
