// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// lagging is a source with an outdated Read; it counts the calls of each of its methods.
type lagging struct {
	facts.Static

	cached, stored   *facts.Facts
	down             error
	reads, refreshes int
}

func (l *lagging) Read(context.Context, string) (*facts.Facts, error) {
	l.reads++
	return l.cached, nil
}

func (l *lagging) Refresh(context.Context, string) (*facts.Facts, error) {
	l.refreshes++
	return l.stored, l.down
}

// programOf compiles a profile of the provider acme that has these rules. compiled compiles a profile; findings are
// fatal.
func compiled(t testing.TB, options compiler.Options, text string) *mutation.Program {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "p.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, err := compiler.Compile(documents, options)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func programOf(t testing.TB, rules string) *mutation.Program {
	t.Helper()
	head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: p}\nproviders: [acme]"
	return compiled(t, compiler.Options{Generation: contract.Today, Kubernetes: elsewhere}, head+rules)
}

func versioned(t testing.TB, version string) *facts.Facts {
	if version == "" {
		return &facts.Facts{}
	}
	return shootOf(t, fmt.Sprintf(`{"kubernetes":{"version":%q}}`, version))
}

// shootOf returns the facts of a shoot with this spec, on the seed s.
func shootOf(t testing.TB, spec string) *facts.Facts {
	t.Helper()
	const seed = `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Seed","metadata":{"name":"s"}}`
	f, err := facts.FromParts("shoot--a--b", nil, facts.Seed([]byte(seed)),
		[]byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":`+spec+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUpgrade checks that only facts that are older than the object are read again before a rule is selected by
// version.
func TestUpgrade(t *testing.T) {
	program := programOf(t, `
controlplane:
  kube-apiserver:
  - featureGates: {OnlyBefore: true}
    when: ${ shoot.kubernetes.satisfies("< 1.34") }
  kube-scheduler:
  - featureGates: {Always: true}
  cluster-autoscaler:
  - featureGates: {OnlyBefore: true}
    when: ${ shoot.kubernetes.satisfies("< 1.34") }
`)
	const apiServer, scheduler, autoscaler = "kube-apiserver", "kube-scheduler", "cluster-autoscaler"
	for name, test := range map[string]struct {
		target, image, cached, stored string
		refreshes                     int
		gate                          bool
	}{
		"up to date":                                     {apiServer, "registry.k8s.io/kube-apiserver:v1.33.4", "1.33.4", "1.34.2", 0, true},
		"the Cluster is behind":                          {apiServer, "registry.k8s.io/kube-apiserver:v1.34.2", "1.33.4", "1.34.2", 1, false},
		"the Cluster is a patch version behind":          {apiServer, "registry.k8s.io/kube-apiserver:v1.33.5", "1.33.4", "1.33.5", 1, true},
		"the Cluster is behind after a second read":      {apiServer, "registry.k8s.io/kube-apiserver:v1.34.2", "1.33.4", "1.33.4", 1, true},
		"the object is behind":                           {apiServer, "registry.k8s.io/kube-apiserver:v1.33.4", "1.34.2", "1.34.2", 0, false},
		"with port and digest":                           {apiServer, "mirror:5000/k8s/kube-apiserver:v1.34.2@sha256:00", "1.33.4", "1.34.2", 1, false},
		"mutates an image with a private version suffix": {apiServer, "mirror/kube-apiserver:v1.33.4-mirror.1", "1.33.4", "1.34.2", 0, true},
		"mutates an image without a tag":                 {apiServer, "mirror:5000/kube-apiserver", "1.33.4", "1.34.2", 0, true},
		"a digest only":                                  {apiServer, "mirror/kube-apiserver@sha256:00", "1.33.4", "1.34.2", 0, true},
		"mutates an image whose tag is no version":       {apiServer, "mirror/kube-apiserver:latest", "1.33.4", "1.34.2", 0, true},
		"an image of no component":                       {autoscaler, "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0", "1.33.4", "1.34.2", 0, true},
		"a rule without a fact":                          {scheduler, "registry.k8s.io/kube-scheduler:v1.34.2", "1.33.4", "1.34.2", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &lagging{cached: versioned(t, test.cached), stored: versioned(t, test.stored)}
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
	t.Run("fails if the Cluster cannot be read", func(t *testing.T) {
		s := &lagging{cached: versioned(t, "1.33.4"), down: fmt.Errorf("no: %w", facts.ErrUnavailable)}
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

// TestUpgradeOfNodes does the same for OperatingSystemConfigs with the version of their worker pool.
func TestUpgradeOfNodes(t *testing.T) {
	program := programOf(t, `
controlplane:
  kubelet:
  - flags: {set: {only-before: "yes"}}
    when: ${ pool.kubernetes.satisfies("< 1.34") }
`)
	const image = "europe-docker.pkg.dev/gardener-project/releases/hyperkube:v"
	for name, test := range map[string]struct {
		image, pool    string
		cached, stored map[string]string // the versions of the pools
		refreshes      int
		flag           bool
	}{
		"up to date":                    {image + "1.33.4", "a", pools{"a": "1.33.4"}, nil, 0, true},
		"the Cluster is behind":         {image + "1.34.2", "a", pools{"a": "1.33.4"}, pools{"a": "1.34.2"}, 1, false},
		"a digest behind the tag":       {image + "1.34.2@sha256:00", "a", pools{"a": "1.33.4"}, pools{"a": "1.34.2"}, 1, false},
		"the object is behind":          {image + "1.33.4", "a", pools{"a": "1.34.2"}, nil, 0, false},
		"only another pool is upgraded": {image + "1.32.9", "a", pools{"a": "1.32.9", "b": "1.33.4"}, nil, 0, true},
		"the pool is behind the shoot":  {image + "1.31.1", "a", pools{"a": "1.31.1", "b": "1.34.2"}, nil, 0, true},
		"a pool that is new":            {image + "1.34.2", "b", pools{"a": "1.33.4"}, pools{"a": "1.33.4", "b": "1.34.2"}, 1, false},
		"a new pool, without an image":  {"", "b", pools{"a": "1.33.4"}, pools{"a": "1.33.4", "b": "1.33.4"}, 1, true},
		"an image that says nothing":    {"mirror:5000/hyperkube@sha256:00", "a", pools{"a": "1.33.4"}, nil, 0, true},
		"a file that is no image":       {"-", "a", pools{"a": "1.33.4"}, nil, 0, true},
		"the newest version is unknown": {image + "latest", "a", pools{"a": "1.33.4"}, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &lagging{cached: pooled(t, test.cached), stored: pooled(t, test.stored)}
			result, err := program.Admit(t.Context(), nodeRequest(test.pool, test.image), s)
			if err != nil {
				t.Fatal(err)
			}
			if s.refreshes != test.refreshes || s.reads != 1 {
				t.Errorf("%d reads and %d refreshes, want %d", s.reads, s.refreshes, test.refreshes)
			}
			if got := result.Patch != nil; got != test.flag {
				t.Errorf("the flag is set: %t, want %t", got, test.flag)
			}
		})
	}
	t.Run("an unknown pool", func(t *testing.T) {
		s := &lagging{cached: pooled(t, pools{"a": "1.33.4"}), stored: pooled(t, pools{"a": "1.33.4"})}
		_, err := program.Admit(t.Context(), nodeRequest("gone", image+"1.33.4"), s)
		var failure *mutation.Failure
		if !errors.As(err, &failure) || failure.Reason != mutation.ExpressionFailed || s.refreshes != 1 {
			t.Errorf("got %v after %d refreshes", err, s.refreshes)
		}
	})
}

// pools are the versions of worker pools by their names.
type pools = map[string]string

// pooled are the facts of a shoot of 1.34.2 with these pools.
func pooled(t testing.TB, versions pools) *facts.Facts {
	var workers []string
	for name, version := range versions {
		workers = append(workers, fmt.Sprintf(`{"name":%q,"kubernetes":{"version":%q}}`, name, version))
	}
	return shootOf(t, `{"kubernetes":{"version":"1.34.2"},"provider":{"workers":[`+strings.Join(workers, ",")+`]}}`)
}

// nodeRequest has an OperatingSystemConfig with the kubelet from the image; "-" makes it an inline file, "" leaves it
// out.
func nodeRequest(pool, image string) mutation.Request {
	files := fmt.Sprintf(`{"path":"/opt/bin/kubelet","content":{"imageRef":{"image":%q,"filePathInImage":"/kubelet"}}}`, image)
	switch image {
	case "":
		files = ""
	case "-":
		files = `{"path":"/opt/bin/kubelet","content":{"inline":{"data":"#!/bin/sh"}}}`
	}
	return mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "shoot--a--b", Name: "gardener-node-agent-x-original",
		Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "OperatingSystemConfig",
		Object: fmt.Appendf(nil, `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"OperatingSystemConfig","metadata":{"name":"x",`+
			`"labels":{"worker.gardener.cloud/pool":%q}},"spec":{"purpose":"reconcile","units":[{"name":"kubelet.service",`+
			`"content":"[Service]\nExecStart=/opt/bin/kubelet --v=2\n"}],"files":[%s]}}`, pool, files),
	}
}
