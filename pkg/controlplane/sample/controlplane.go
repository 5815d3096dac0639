// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"sync"

	"github.com/Masterminds/semver/v3"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener/imagevector"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/features"
	imagevectorutils "github.com/gardener/gardener/pkg/utils/imagevector"

	// The blank import must stay with those of Gardener's components, which it silences.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"
)

// ControlPlane writes the objects of a shoot's control plane as Gardener's component code does today, sorted by kind and
// name. Errors wrap ErrOptions when the options are wrong.
func ControlPlane(ctx context.Context, o Options) ([]Object, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := newPlane(o, "", o.Namespace, o.shoot())
	if err != nil {
		return nil, err
	}
	steps := p.serverSteps()
	if !o.Workerless {
		steps = append(steps,
			step{"kube-scheduler", p.scheduler}, step{"cluster-autoscaler", p.clusterAutoscaler},
			step{"machine-controller-manager", p.machineControllerManager}, step{"vpn-seed-server", p.vpnSeedServer},
			step{"OperatingSystemConfigs", p.operatingSystemConfigs})
	}
	return p.run(ctx, steps)
}

// step deploys one component.
type step struct {
	name   string
	deploy func(context.Context) error
}

// serverSteps returns the steps for the components that every control plane has.
func (p *plane) serverSteps() []step {
	return []step{
		{"etcds", p.etcds}, {"Service of the kube-apiserver", p.apiServerService}, {"kube-apiserver", p.apiServer},
		{"kube-controller-manager", p.controllerManager},
	}
}

// plane holds the data that the components of one control plane share, like gardenlet's Botanist.
type plane struct {
	Options

	prefix         string
	namespace      string
	manifest       *gardencorev1beta1.Shoot
	runtimeVersion *semver.Version
	targetVersion  *semver.Version
	network        networks
	images         map[string]string // references by the names of the images
	client         *recorder
	secrets        *secrets
}

func newPlane(o Options, prefix, namespace string, shoot *gardencorev1beta1.Shoot) (*plane, error) {
	if err := registerFeatureGates(); err != nil {
		return nil, err
	}
	target, err := semver.NewVersion(shoot.Spec.Kubernetes.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: version of the edited Shoot: %w", ErrOptions, err)
	}
	ns := o.namespace()
	if prefix != "" {
		ns = gardenNamespace()
	}
	images, err := images(target)
	if err != nil {
		return nil, err
	}
	recorder, err := newRecorder(ns)
	if err != nil {
		return nil, fmt.Errorf("preparing the namespace: %w", err)
	}
	return &plane{
		Options: o, prefix: prefix, namespace: namespace, manifest: shoot,
		runtimeVersion: semver.MustParse(seedVersion), targetVersion: target,
		network: o.networks(), images: images, client: recorder, secrets: newSecrets(namespace),
	}, nil
}

// run deploys the components in order and returns the objects that they wrote.
func (p *plane) run(ctx context.Context, steps []step) ([]Object, error) {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step.deploy(ctx); err != nil {
			return nil, fmt.Errorf("deploying the %s: %w", step.name, err)
		}
	}
	var objects []Object
	for _, o := range p.client.stored {
		if _, isNamespace := o.(*corev1.Namespace); isNamespace || !isWorkload(o) {
			continue
		}
		if err := normalize(o); err != nil {
			return nil, err
		}
		object, err := newObject(p.client.scheme, p.prefix, o)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	sortObjects(objects)
	return objects, nil
}

func isWorkload(o client.Object) bool {
	switch o.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet, *corev1.Service, *druidcorev1alpha1.Etcd,
		*extensionsv1alpha1.OperatingSystemConfig, *vpaautoscalingv1.VerticalPodAutoscaler:
		return true
	}
	return false
}

// images finds the images of the components as gardenlet does, by the versions of the seed and of the shoot.
func images(target *semver.Version) (map[string]string, error) {
	found, err := imagevectorutils.FindImages(imagevector.Containers(), []string{
		imagevector.ContainerImageNameKubeApiserver, imagevector.ContainerImageNameKubeControllerManager,
		imagevector.ContainerImageNameKubeScheduler, imagevector.ContainerImageNameClusterAutoscaler,
		imagevector.ContainerImageNameMachineControllerManager, imagevector.ContainerImageNameEnvoyProxy,
		imagevector.ContainerImageNameVpnClient, imagevector.ContainerImageNameVpnServer,
	}, imagevectorutils.RuntimeVersion(seedVersion), imagevectorutils.TargetVersion(target.String()))
	if err != nil {
		return nil, fmt.Errorf("finding the images of the control plane: %w", err)
	}
	references := make(map[string]string, len(found))
	for name, image := range found {
		references[name] = image.String()
	}
	return references, nil
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
