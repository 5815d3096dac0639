// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package sample writes the objects of a shoot's control plane, for tests, previews and demonstrations. Gardener's own
// component code writes those of the current generation, called as gardenlet calls it; the older generation, which the text
// of the control-plane webhook contract describes, is written here by hand.
//
// It must not be used in an admission, and it is the only package that may import Gardener's pkg/component. It connects
// to no cluster, generates no keys and reads no clock, so that the same options always produce the same bytes. It
// changes no package variables of Gardener, so that calls may run concurrently.
//
// Start reading at ControlPlane, VirtualGarden or Legacy; Cluster and Namespace return the resources around the
// objects.
package sample

import (
	"context"
	"fmt"
	"sync"

	"github.com/Masterminds/semver/v3"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener/imagevector"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	fakekubernetes "github.com/gardener/gardener/pkg/client/kubernetes/fake"
	"github.com/gardener/gardener/pkg/features"
	imagevectorutils "github.com/gardener/gardener/pkg/utils/imagevector"

	// The blank import must stay with those of Gardener's components, which it silences.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"
)

// ControlPlane writes the objects of a shoot's control plane as Gardener's component code does today, sorted by kind and
// name. Errors wrap ErrOptions when the options are wrong.
func ControlPlane(ctx context.Context, o Options) ([]Object, error) {
	p, err := newPlane(o, "")
	if err != nil {
		return nil, err
	}
	steps := p.serverSteps()
	if !p.Workerless {
		steps = append(steps,
			deployStep{"kube-scheduler", p.scheduler}, deployStep{"cluster-autoscaler", p.clusterAutoscaler},
			deployStep{"machine-controller-manager", p.machineControllerManager}, deployStep{"vpn-seed-server", p.vpnSeedServer},
			deployStep{"OperatingSystemConfigs", p.operatingSystemConfigs})
	}
	return p.run(ctx, steps)
}

// deployStep deploys one component.
type deployStep struct {
	name   string
	deploy func(context.Context) error
}

// serverSteps returns the steps for the components that every control plane has.
func (p *plane) serverSteps() []deployStep {
	return []deployStep{
		{"etcds", p.etcds}, {"Service of the kube-apiserver", p.apiServerService}, {"kube-apiserver", p.apiServer},
		{"kube-controller-manager", p.controllerManager},
	}
}

// plane holds the data that the components of one control plane share, like gardenlet's Botanist.
type plane struct {
	Options
	*resources

	prefix         string
	namespace      string
	runtimeVersion *semver.Version
	targetVersion  *semver.Version
	images         map[string]*imagevectorutils.Image
	client         client.Client
	secrets        *secrets
}

// newPlane returns the control plane of a shoot, or of a virtual garden if the prefix of its names is not empty.
func newPlane(o Options, prefix string) (*plane, error) {
	if err := registerFeatureGates(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := o.resources()
	if err != nil {
		return nil, err
	}
	target, err := semver.NewVersion(r.Shoot.Spec.Kubernetes.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: version of the edited Shoot: %w", ErrOptions, err)
	}
	namespace := r.Namespace
	if prefix != "" {
		namespace = gardenNamespace()
	}
	images, err := images(seedVersion, target.String(),
		imagevector.ContainerImageNameKubeApiserver, imagevector.ContainerImageNameKubeControllerManager,
		imagevector.ContainerImageNameKubeScheduler, imagevector.ContainerImageNameClusterAutoscaler,
		imagevector.ContainerImageNameMachineControllerManager, imagevector.ContainerImageNameEnvoyProxy,
		imagevector.ContainerImageNameVpnClient, imagevector.ContainerImageNameVpnServer)
	if err != nil {
		return nil, err
	}
	return &plane{
		Options: o, resources: r, prefix: prefix, namespace: namespace.Name,
		runtimeVersion: semver.MustParse(seedVersion), targetVersion: target,
		images: images, client: newClient(namespace), secrets: newSecrets(namespace.Name),
	}, nil
}

// newClient returns a client for Gardener's components, which keeps the objects in memory. Its tracker records no managed
// fields.
func newClient(namespace *corev1.Namespace) client.Client {
	scheme := kubernetes.SeedScheme
	tracker := testing.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithObjects(namespace).Build()
}

// clientSet returns a client set of the seed. During a deployment, components use only its client.
func (p *plane) clientSet() kubernetes.Interface {
	return fakekubernetes.NewClientSetBuilder().WithClient(p.client).Build()
}

// run deploys the components in order and returns the objects that they wrote.
func (p *plane) run(ctx context.Context, steps []deployStep) ([]Object, error) {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step.deploy(ctx); err != nil {
			return nil, fmt.Errorf("deploying the %s: %w", step.name, err)
		}
	}
	var objects []Object
	for _, workloads := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{}, &druidcorev1alpha1.EtcdList{},
		&extensionsv1alpha1.OperatingSystemConfigList{}, &vpaautoscalingv1.VerticalPodAutoscalerList{},
	} {
		if err := p.client.List(ctx, workloads); err != nil {
			return nil, fmt.Errorf("listing the deployed objects: %w", err)
		}
		err := meta.EachListItem(workloads, func(item runtime.Object) error {
			o := item.(client.Object)
			if err := normalize(o); err != nil {
				return err
			}
			object, err := newObject(p.client.Scheme(), p.prefix, o)
			objects = append(objects, object)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	sortObjects(objects)
	return objects, nil
}

// images finds images as gardenlet does, by the versions of the cluster in which they run and of the shoot.
func images(runtimeVersion, targetVersion string, names ...string) (map[string]*imagevectorutils.Image, error) {
	found, err := imagevectorutils.FindImages(imagevector.Containers(), names,
		imagevectorutils.RuntimeVersion(runtimeVersion), imagevectorutils.TargetVersion(targetVersion))
	if err != nil {
		return nil, fmt.Errorf("finding the images of the control plane: %w", err)
	}
	return found, nil
}

// replicas returns n, or 0 for a hibernated shoot.
func (p *plane) replicas(n int32) int32 {
	if p.Hibernated {
		return 0
	}
	return n
}

// registerFeatureGates makes gardenlet's feature gates known with their defaults, as gardenlet does at its start: the
// components ask for them. Adding them again is no change.
var registerFeatureGates = sync.OnceValue(func() error {
	err := features.DefaultFeatureGate.Add(features.GetFeatures(
		features.DefaultSeccompProfile, features.NewWorkerPoolHash, features.IstioTLSTermination,
		features.DoNotCopyBackupCredentials, features.OpenTelemetryCollector, features.UseUnifiedHTTPProxyPort,
		features.VPAInPlaceUpdates, features.CustomDNSServerInNodeLocalDNS, features.VPNBondingModeRoundRobin,
		features.PrometheusHealthChecks,
	))
	if err != nil {
		return fmt.Errorf("registering gardenlet's feature gates: %w", err)
	}
	return nil
})
