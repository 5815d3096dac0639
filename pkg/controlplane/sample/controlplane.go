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
	steps := []func(context.Context) error{p.etcds, p.apiServerService, p.apiServer, p.controllerManager}
	if !o.Workerless {
		steps = append(steps, p.scheduler, p.clusterAutoscaler, p.machineControllerManager, p.vpnSeedServer, p.operatingSystemConfigs)
	}
	return p.run(ctx, steps)
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
	recorder, err := newRecorder(ns)
	if err != nil {
		return nil, fmt.Errorf("preparing the namespace: %w", err)
	}
	return &plane{
		Options: o, prefix: prefix, namespace: namespace, manifest: shoot,
		runtimeVersion: semver.MustParse(seedVersion), targetVersion: target,
		network: o.networks(), client: recorder, secrets: newSecrets(namespace),
	}, nil
}

// run deploys the components in order and returns the objects that they wrote.
func (p *plane) run(ctx context.Context, steps []func(context.Context) error) ([]Object, error) {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
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

// image finds an image as gardenlet does, by the versions of the seed and of the shoot.
func (p *plane) image(name string) (string, error) {
	image, err := imagevector.Containers().FindImage(name,
		imagevectorutils.RuntimeVersion(p.runtimeVersion.String()), imagevectorutils.TargetVersion(p.targetVersion.String()))
	if err != nil {
		return "", fmt.Errorf("finding image %q: %w", name, err)
	}
	return image.String(), nil
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
