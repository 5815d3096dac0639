// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"fmt"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	appsv1 "k8s.io/api/apps/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Ensurer applies profiles where Gardener's generic mutator calls one, so that an extension can go on doing in Go what it does, and
// hand over piece by piece: it embeds an Ensurer in its own. It implements genericmutator.Ensurer.
//
// The generic mutator hands over objects as Go types, the kubelet's unit as options and its configuration as a struct. It has lost
// comments and fields that the types do not have before any ensurer sees them, and writes units anew. What an Ensurer writes itself, it
// writes where Graft's own webhooks would: flags keep their places, lists and maps are merged by entry.
type Ensurer struct {
	compiled

	unitOptions, configuration, settings, files, units, cri part
}

// NewEnsurer makes an ensurer of profiles. The error is source.Findings, with positions, where profiles are wrong, or have rules that no
// method of an ensurer can carry.
func NewEnsurer(profiles []*profile.Document, o Options) (*Ensurer, error) {
	c, err := compile(profiles, o)
	if err != nil {
		return nil, err
	}
	if err := c.refuse(func(info mutation.RuleInfo) string { return cannotCarry(info, o.Facts != nil) }); err != nil {
		return nil, fmt.Errorf("making an ensurer: %w", err)
	}
	return &Ensurer{
		compiled:    *c,
		unitOptions: c.part(unitOptions), configuration: c.part(configuration), settings: c.part(settings),
		files: c.part(files), units: c.part(units), cri: c.part(cri),
	}, nil
}

// source is where the facts of a whole object come from.
func (e *Ensurer) source(gctx extensionscontextwebhook.GardenContext) facts.Source {
	if e.options.Facts != nil {
		return e.options.Facts
	}
	return &contextFacts{gctx: gctx}
}

func (e *Ensurer) deployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	return e.object(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), current, objectOf(old), e.source(gctx))
}

// objectOf returns an object that may be nil.
func objectOf[T any, P interface {
	*T
	client.Object
}](o P) client.Object {
	if o == nil {
		return nil
	}
	return o
}

// EnsureKubeAPIServerDeployment implements genericmutator.Ensurer, also for a virtual garden.
func (e *Ensurer) EnsureKubeAPIServerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureKubeControllerManagerDeployment implements genericmutator.Ensurer, also for a virtual garden.
func (e *Ensurer) EnsureKubeControllerManagerDeployment(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment,
) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureKubeSchedulerDeployment implements genericmutator.Ensurer.
func (e *Ensurer) EnsureKubeSchedulerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureClusterAutoscalerDeployment implements genericmutator.Ensurer.
func (e *Ensurer) EnsureClusterAutoscalerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureMachineControllerManagerDeployment implements genericmutator.Ensurer.
func (e *Ensurer) EnsureMachineControllerManagerDeployment(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment,
) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureVPNSeedServerDeployment implements genericmutator.Ensurer.
func (e *Ensurer) EnsureVPNSeedServerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	return e.deployment(ctx, gctx, current, old)
}

// EnsureVPNSeedServerStatefulSet implements genericmutator.Ensurer.
func (e *Ensurer) EnsureVPNSeedServerStatefulSet(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.StatefulSet) error {
	return e.object(ctx, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), current, objectOf(old), e.source(gctx))
}

// EnsureMachineControllerManagerVPA implements genericmutator.Ensurer.
func (e *Ensurer) EnsureMachineControllerManagerVPA(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *vpaautoscalingv1.VerticalPodAutoscaler,
) error {
	return e.object(ctx, vpaautoscalingv1.SchemeGroupVersion.WithKind("VerticalPodAutoscaler"), current, objectOf(old), e.source(gctx))
}

// EnsureETCD implements genericmutator.Ensurer, also for a virtual garden.
func (e *Ensurer) EnsureETCD(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *druidcorev1alpha1.Etcd) error {
	return e.object(ctx, druidcorev1alpha1.SchemeGroupVersion.WithKind("Etcd"), current, objectOf(old), e.source(gctx))
}
