// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package differential_test compares Graft with Gardener's own library: the edits of testdata/profile.yaml are made by
// the engine, and by an ensurer behind the library's generic mutator and admission handler, on the control planes that
// Gardener's component code writes. The results must mean the same but for the differences that are listed in
// differences_test.go and docs/differences.md. Each of these must occur, and nothing else may. TestWorker and TestEtcd
// check that the objects of `make start-interpreter` equal those that Gardener writes, with statuses in members of the
// types of their controllers; -update writes them.
package differential_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// shoots are the kinds of control planes.
var shoots = map[string]sample.Options{
	"plain":      {},
	"ha":         {HighAvailability: true},
	"ipv6":       {IPv6: true},
	"hibernated": {Hibernated: true},
	"workerless": {Workerless: true},
}

var versions = []string{"1.31.14", "1.32.10", "1.33.6", "1.34.2"}

// TestDifferential compares on all samples, then on one input for each listed difference, and on inputs that might be
// thought to differ and do not.
func TestDifferential(t *testing.T) {
	changed, seen, targets := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, version := range versions {
		for name, options := range shoots {
			options.Kubernetes = version
			t.Run(name+"-"+version, func(t *testing.T) { compareSample(t, options, changed, seen, targets) })
		}
	}
	for _, version := range versions {
		t.Run("virtual garden-"+version, func(t *testing.T) { compareGarden(t, version, changed, seen) })
	}
	t.Run("all targets are compared", func(t *testing.T) { testTargets(t, targets) })
	for _, d := range differences {
		t.Run("listed/"+d.name, func(t *testing.T) { testListed(t, d, changed, seen) })
	}
	for name, input := range same {
		t.Run("same/"+name, func(t *testing.T) { testSame(t, input, changed) })
	}
	t.Run("every rule has changed something", func(t *testing.T) { testRules(t, changed) })
}

// compareSample compares each object of a control plane: when it is created, and when gardenlet has written it again
// over the one that was mutated.
func compareSample(t *testing.T, shoot sample.Options, changed, seen, targets map[string]bool) {
	objects, err := sample.ControlPlane(t.Context(), shoot)
	if err != nil {
		t.Fatal(err)
	}
	compareObjects(t, newSides(t, shoot, changed), objects, seen, targets)
}

// compareGarden does the same for the control plane of a virtual garden.
func compareGarden(t *testing.T, version string, changed, seen map[string]bool) {
	options, targets := sample.Options{Kubernetes: version}, map[string]bool{}
	objects, err := sample.VirtualGarden(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	compareObjects(t, newSides(t, options, changed), objects, seen, targets)
	want := []string{"etcd-events", "etcd-main", "kube-apiserver",
		"kube-controller-manager"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(targets))); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func compareObjects(t *testing.T, s *sides, objects []sample.Object, seen, targets map[string]bool) {
	t.Helper()
	for _, object := range objects {
		if object.Target == "" || object.Target == "kube-apiserver-service" {
			continue
		}
		targets[object.Target] = true
		created := s.graft(t, subject{Object: object, raw: object.JSON})
		for _, o := range []subject{{object, object.JSON, nil}, {object, object.JSON, created.object},
			{object, created.object, created.object}} {
			for _, d := range compare(t, s.gardener(t, o), s.graft(t, o)) {
				listed := explain(o, d)
				if listed == nil || !listed.onSamples {
					t.Errorf("%s %s on %s: not listed: %s", o.Target, o.Object.Object.GetName(), operation(o), d)
					continue
				}
				seen[listed.name] = true
			}
		}
	}
}

// testTargets checks that the samples have all targets of a shoot but the Service, which is Gardener's alone.
func testTargets(t *testing.T, targets map[string]bool) {
	want := []string{
		"cluster-autoscaler", "etcd-events", "etcd-main", "kube-apiserver",
		"kube-controller-manager", "kube-scheduler", "machine-controller-manager",
		"machine-controller-manager-vpa", "operatingsystemconfig", "vpn-seed-server",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(targets))); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// testListed checks that a listed difference occurs as it is described, and nothing else that is not listed.
func testListed(t *testing.T, d difference, changed, seen map[string]bool) {
	if d.onSamples && !seen[d.name] {
		t.Error("the difference no longer occurs on any sample")
	}
	found := false
	o, s := d.input.build(t, changed)
	gardener, graft := s.gardener(t, o), s.graft(t, o)
	for _, got := range compare(t, gardener, graft) {
		listed := explain(o, got)
		switch {
		case listed == nil:
			t.Errorf("unlisted difference: %s", got)
		case listed.name == d.name:
			found = true
		}
	}
	if !found {
		t.Error("the difference no longer occurs")
	}
}

// testSame checks that there is no difference but those that samples have as well.
func testSame(t *testing.T, in input, changed map[string]bool) {
	o, s := in.build(t, changed)
	gardener, graft := s.gardener(t, o), s.graft(t, o)
	for _, got := range compare(t, gardener, graft) {
		if listed := explain(o, got); listed == nil || !listed.onSamples {
			t.Errorf("a difference: %s", got)
		}
	}
	for side, result := range map[string]outcome{"gardener": gardener, "graft": graft} {
		if !strings.Contains(string(result.object), in.kept) {
			t.Errorf("%s has lost %q (denied: %q)", side, in.kept, result.denied)
		}
	}
}

// testRules checks that no rule of the profile was compared without having anything to do.
func testRules(t *testing.T, changed map[string]bool) {
	data, err := os.ReadFile("testdata/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var profile map[string]any
	if err := yaml.Unmarshal(data, &profile); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"controlplane", "controlplaneexposure"} {
		for _, rules := range profile[set].(map[string]any) {
			for _, rule := range rules.([]any) {
				if name := rule.(map[string]any)["name"].(string); !changed[name] {
					t.Errorf("the rule %q has changed nothing", name)
				}
			}
		}
	}
}
