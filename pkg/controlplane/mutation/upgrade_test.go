// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// lagging is a source whose Read is behind; it counts how often each of its methods was called.
type lagging struct {
	facts.Static

	cached, stored   string
	down             error
	reads, refreshes int
}

func (l *lagging) Read(context.Context, string) (*facts.Facts, error) {
	l.reads++
	return versioned(l.cached), nil
}

func (l *lagging) Refresh(context.Context, string) (*facts.Facts, error) {
	l.refreshes++
	return versioned(l.stored), l.down
}

func versioned(version string) *facts.Facts {
	if version == "" {
		return &facts.Facts{}
	}
	return &facts.Facts{Shoot: &facts.Shoot{Kubernetes: version}}
}

// TestUpgrade holds that facts older than the object are read afresh before a gate is chosen, and no others.
func TestUpgrade(t *testing.T) {
	documents, findings := profile.Load(source.File{Name: "p", Data: []byte(`
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
controlplane:
  kube-apiserver:
  - featureGates: {OnlyBefore: true}
    when: ${ shoot.kubernetes.satisfies("< 1.34") }
  kube-scheduler:
  - featureGates: {Always: true}
  cluster-autoscaler:
  - featureGates: {OnlyBefore: true}
    when: ${ shoot.kubernetes.satisfies("< 1.34") }
`)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, err := mutation.Compile(documents, mutation.Options{Generation: contract.Today})
	if err != nil {
		t.Fatal(err)
	}
	const apiServer, scheduler, autoscaler = "kube-apiserver", "kube-scheduler", "cluster-autoscaler"
	for name, test := range map[string]struct {
		target, image, cached, stored string
		refreshes                     int
		gate                          bool
	}{
		"up to date":               {apiServer, "registry.k8s.io/kube-apiserver:v1.33.4", "1.33.4", "1.34.2", 0, true},
		"the Cluster is behind":    {apiServer, "registry.k8s.io/kube-apiserver:v1.34.2", "1.33.4", "1.34.2", 1, false},
		"a patch behind":           {apiServer, "registry.k8s.io/kube-apiserver:v1.33.5", "1.33.4", "1.33.5", 1, true},
		"still behind":             {apiServer, "registry.k8s.io/kube-apiserver:v1.34.2", "1.33.4", "1.33.4", 1, true},
		"the object is behind":     {apiServer, "registry.k8s.io/kube-apiserver:v1.33.4", "1.34.2", "1.34.2", 0, false},
		"with port and digest":     {apiServer, "mirror:5000/k8s/kube-apiserver:v1.34.2@sha256:00", "1.33.4", "1.34.2", 1, false},
		"a build of its own":       {apiServer, "mirror/kube-apiserver:v1.33.4-mirror.1", "1.33.4", "1.34.2", 0, true},
		"no tag":                   {apiServer, "mirror:5000/kube-apiserver", "1.33.4", "1.34.2", 0, true},
		"a digest only":            {apiServer, "mirror/kube-apiserver@sha256:00", "1.33.4", "1.34.2", 0, true},
		"no version":               {apiServer, "mirror/kube-apiserver:latest", "1.33.4", "1.34.2", 0, true},
		"an image of no component": {autoscaler, "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0", "1.33.4", "1.34.2", 0, true},
		"a rule without a fact":    {scheduler, "registry.k8s.io/kube-scheduler:v1.34.2", "1.33.4", "1.34.2", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &lagging{cached: test.cached, stored: test.stored}
			result, err := program.Admit(t.Context(), requestFor(test.target, test.image), s)
			if err != nil {
				t.Fatal(err)
			}
			if s.refreshes != test.refreshes || s.reads > 1 {
				t.Errorf("%d reads and %d refreshes, want %d", s.reads, s.refreshes, test.refreshes)
			}
			if got := result.Patch != nil; got != test.gate {
				t.Errorf("the gate is set: %t, want %t", got, test.gate)
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		s := &lagging{cached: "1.33.4", down: fmt.Errorf("no: %w", facts.ErrUnavailable)}
		_, err := program.Admit(t.Context(), requestFor(apiServer, "kube-apiserver:v1.34.2"), s)
		var failure *mutation.Failure
		if !errors.As(err, &failure) || failure.Reason != mutation.FactsUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

func requestFor(name, image string) mutation.Request {
	return mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "shoot--a--b", Name: name,
		Group: "apps", Version: "v1", Kind: "Deployment",
		Object: fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"template":{"spec":{"containers":[`+
			`{"name":%q,"image":%q,"command":["run"]}]}}}}`, name, name, image),
	}
}
