// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	oscutils "github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/utils"

	graft "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// provider is the type of the extension.
const provider = "acme"

//go:embed profiles
var profiles embed.FS

// ensurer does what profiles say, and what acme goes on doing in Go.
type ensurer struct {
	*graft.Ensurer
}

var _ genericmutator.Ensurer = (*ensurer)(nil)

// inGo is the annotation by which one sees that acme's own code was called.
const inGo = "acme.example.com/in-go"

// EnsureKubeSchedulerDeployment is a method that does both.
func (e *ensurer) EnsureKubeSchedulerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *appsv1.Deployment) error {
	if err := e.Ensurer.EnsureKubeSchedulerDeployment(ctx, gctx, current, old); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&current.ObjectMeta, inGo, "true")
	return nil
}

// newControlPlane makes the webhook for shoots on acme: the generic mutator, with an ensurer of profiles.
func newControlPlane(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	documents, err := load()
	if err != nil {
		return nil, err
	}
	of, err := graft.NewEnsurer(documents, options(mgr, target.ControlPlane))
	if err != nil {
		return nil, fmt.Errorf("making the ensurer: %w", err)
	}
	codec := oscutils.NewFileContentInlineCodec()
	return controlplane.New(mgr, controlplane.Args{
		Kind: controlplane.KindShoot, Provider: provider,
		Types: []extensionswebhook.Type{
			{Obj: &appsv1.Deployment{}}, {Obj: &appsv1.StatefulSet{}}, {Obj: &vpaautoscalingv1.VerticalPodAutoscaler{}},
			{Obj: &extensionsv1alpha1.OperatingSystemConfig{}},
		},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook: "true",
		}},
		Mutator: genericmutator.NewMutator(mgr, &ensurer{of}, oscutils.NewUnitSerializer(), kubelet.NewConfigCodec(codec), codec, mgr.GetLogger()),
	})
}

// newSeedProvider makes the webhook for seeds on acme: a mutator of whole objects, which are not decoded into Go types.
func newSeedProvider(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	documents, err := load()
	if err != nil {
		return nil, err
	}
	mutator, err := graft.NewMutator(mgr.GetScheme(), documents, options(mgr, target.Exposure))
	if err != nil {
		return nil, fmt.Errorf("making the mutator: %w", err)
	}
	return controlplane.New(mgr, controlplane.Args{Kind: controlplane.KindSeed, Provider: provider, Types: mutator.Types(), Mutator: mutator})
}

func load() ([]*profile.Document, error) {
	folder, err := fs.Sub(profiles, "profiles")
	if err != nil {
		return nil, fmt.Errorf("opening the profiles: %w", err)
	}
	return graft.Load(folder)
}

// options take facts from the caches of the manager.
func options(mgr manager.Manager, set target.Set) graft.Options {
	return graft.Options{Provider: provider, Set: set, Facts: cluster.New(mgr.GetClient(), mgr.GetAPIReader(), cluster.Options{})}
}
