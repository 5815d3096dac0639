// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	sigsyaml "sigs.k8s.io/yaml"
)

const extensionChart = "gardener-extension-provider-graft"

// rendered returns the manifests of the extension, sorted.
func rendered(t *testing.T, values map[string]any) []string {
	t.Helper()
	manifests, err := render(load(t, extensionChart), chartutil.Values(values))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(manifests)
	return manifests
}

// TestTexts checks that profiles and their images have the same effect as texts, as a mapping and as a list.
func TestTexts(t *testing.T) {
	const one, two = "registry.example.com/graft/profiles:v1", "registry.example.com/graft/others:v2"
	profiles := map[string]any{"acme": "kind: ProviderProfile\n", "base": map[string]any{"profile.yaml": "a: 1\n", "files_x.sh": "#!/bin/sh\necho x\n"}}
	text, err := sigsyaml.Marshal(profiles)
	if err != nil {
		t.Fatal(err)
	}
	want := rendered(t, map[string]any{"profiles": profiles, "profileImages": []any{one, two}})
	if got := strings.Join(want, ""); !strings.Contains(got, "name: gardener-extension-provider-graft-profile-base") || !strings.Contains(got, "reference: "+two) {
		t.Fatalf("the mapping renders %s", got)
	}
	for name, images := range map[string]string{"separated by lines": one + "\n" + two + "\n", "separated by commas": one + ", " + two} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, rendered(t, map[string]any{"profiles": string(text), "profileImages": images})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(rendered(t, map[string]any{}), rendered(t, map[string]any{"profiles": "", "profileImages": ""})); diff != "" {
		t.Errorf("empty texts: %s", diff)
	}
	_, err = render(load(t, extensionChart), chartutil.Values{"profiles": "- a list\n"})
	if err == nil || !strings.Contains(err.Error(), "profiles is not a mapping of names to profiles") {
		t.Errorf("a text that is no mapping: %v", err)
	}
}

// TestMissingReplica checks that the Deployment stays Available without one of two replicas, and never without all: the
// deployment controller requires the replicas less maxUnavailable, and rounds a percentage down.
func TestMissingReplica(t *testing.T) {
	for replicas, want := range map[int]int{1: 0, 2: 1, 3: 1, 5: 2} {
		for _, manifest := range rendered(t, map[string]any{"replicaCount": replicas}) {
			var deployment appsv1.Deployment
			if err := sigsyaml.Unmarshal([]byte(manifest), &deployment); err != nil || deployment.Kind != "Deployment" {
				continue
			}
			strategy := deployment.Spec.Strategy.RollingUpdate
			missing, err := intstr.GetScaledValueFromIntOrPercent(strategy.MaxUnavailable, int(*deployment.Spec.Replicas), false)
			if err != nil || missing != want {
				t.Errorf("of %d replicas, %d may be missing, want %d (%v)", replicas, missing, want, err)
			}
			// With a deadline, a rollout that does not go on makes it unhealthy for Gardener too.
			if deadline := deployment.Spec.ProgressDeadlineSeconds; deadline == nil || *deadline != 1<<31-1 {
				t.Errorf("the deadline of a rollout is %v", deadline)
			}
		}
	}
}
