// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	graft "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// provider is the type of the extension.
const provider = "acme"

//go:embed profiles
var folder embed.FS

// mutator applies profiles, and then acme's remaining Go code.
type mutator struct {
	*graft.Mutator
}

// inGo is the annotation that shows that acme's own code was called.
const inGo = "acme.example.com/in-go"

// Mutate applies the profiles, and then acme's own code to the kube-scheduler.
func (m mutator) Mutate(ctx context.Context, current, old client.Object) error {
	if err := m.Mutator.Mutate(ctx, current, old); err != nil {
		return err
	}
	if current.GetObjectKind().GroupVersionKind().Kind == "Deployment" && current.GetName() == v1beta1constants.DeploymentNameKubeScheduler {
		annotations := current.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[inGo] = "true"
		current.SetAnnotations(annotations)
	}
	return nil
}

// newControlPlane returns the webhook for shoots on acme.
func newControlPlane(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	profiles, err := newMutator(mgr, target.ControlPlane)
	if err != nil {
		return nil, err
	}
	return controlplane.New(mgr, controlplane.Args{
		Kind: controlplane.KindShoot, Provider: provider, Types: profiles.Types(), Mutator: mutator{profiles},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook: "true",
		}},
	})
}

// newSeedProvider returns the webhook for seeds on acme.
func newSeedProvider(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	profiles, err := newMutator(mgr, target.Exposure)
	if err != nil {
		return nil, err
	}
	return controlplane.New(mgr, controlplane.Args{Kind: controlplane.KindSeed, Provider: provider, Types: profiles.Types(), Mutator: profiles})
}

// newMutator returns a mutator of the profiles with facts from the caches of the manager.
func newMutator(mgr manager.Manager, set target.Set) (*graft.Mutator, error) {
	documents, err := load()
	if err != nil {
		return nil, err
	}
	profiles, err := graft.NewMutator(documents, graft.Options{
		Provider: provider, Set: set, Facts: cluster.New(mgr.GetClient(), mgr.GetAPIReader(), cluster.Options{}),
	})
	if err != nil {
		return nil, fmt.Errorf("making the mutator: %w", err)
	}
	return profiles, nil
}

func load() ([]*profile.Document, error) {
	profiles, err := fs.Sub(folder, "profiles")
	if err != nil {
		return nil, fmt.Errorf("opening the profiles: %w", err)
	}
	return graft.Load(profiles)
}
