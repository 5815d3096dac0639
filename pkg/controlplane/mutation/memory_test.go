// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// TestMemoryOfGoldenCases admits each golden case until its result is cached, and compares the bytes and the outcomes
// of the rules.
func TestMemoryOfGoldenCases(t *testing.T) {
	remembered := map[string]bool{}
	eachAdmitted(t, func(t *testing.T, folder string, r request, program *mutation.Program) {
		for object := asJSON(t, r.Object); ; {
			program.Forget()
			want, patched := admit(t, program, r, object)
			for range 3 {
				got, again := admit(t, program, r, object)
				if diff := cmp.Diff(want, got); diff != "" || !bytes.Equal(patched, again) {
					t.Fatalf("not the same (-before +remembered):\n%s\n%s\nbecame\n%s", diff, patched, again)
				}
			}
			entries := program.Remembered()
			remembered[filepath.Base(folder)] = remembered[filepath.Base(folder)] || entries > 0
			if bytes.Equal(object, patched) {
				break
			}
			object = patched // conforming
		}
	})
	for _, name := range []string{"kubelet-flags", "kubelet-configuration", "kubelet-feature-gates-flag", "kubelet-unit", "kubelet-configuration-plain"} {
		if !remembered[name] {
			t.Errorf("%s is not remembered", name)
		}
	}
	for _, name := range []string{"for-each-node", "kubelet-missing", "node-units", "flags-in-args"} {
		if remembered[name] {
			t.Errorf("%s is remembered", name)
		}
	}
}

// TestMemoryOfOtherValues checks that a cached result is not used for rules with other values or conditions, or for
// other texts.
func TestMemoryOfOtherValues(t *testing.T) {
	program := programOf(t, `
controlplane:
  kubelet:
  - flags: {set: {cloud-provider: external, region: "${ shoot.region }"}}
  - configuration: {set: {maxPods: 50}}
    when: ${ shoot.region == "north" }
  - configuration: {set: {maxPods: 60}}
    when: ${ shoot.region == "south" }
`)
	for range 4 {
		for _, region := range []string{"north", "south", "east", "north"} {
			for _, level := range []string{"--v=1", "--v=2"} {
				for _, maximum := range []string{"70", "50"} {
					request := kubeletRequest(level, "maxPods: "+maximum)
					result, err := program.Admit(t.Context(), request, inRegion(t, region))
					if err != nil {
						t.Fatal(err)
					}
					unit, configuration := kubeletAfter(t, request.Object, result.Patch)
					pods := map[string]string{"north": "50", "south": "60", "east": maximum}[region]
					if !strings.Contains(unit, level+" --cloud-provider=external --region="+region) || !strings.Contains(configuration, "maxPods: "+pods+"\n") {
						t.Fatalf("in %s, %s and %s became\n%s\n%s", region, level, maximum, unit, configuration)
					}
				}
			}
		}
	}
	// In the east, no rule reads the configuration.
	if entries := program.Remembered(); entries == 0 || entries > 10 {
		t.Errorf("%d outcomes are remembered, of two regions with four objects and one with two", entries)
	}
}

// TestMemoryOfSkippedRules checks that a cached result fits the same rules with other skipped rules between them: a
// forEach has one skipped rule for each item with a false condition.
func TestMemoryOfSkippedRules(t *testing.T) {
	program := programOf(t, `
controlplane:
  kubelet:
  - flags: {set: {first: a}}
  - forEach: '${ "many" in namespaceObject.labels ? ["a", "b", "c"] : ["a"] }'
    when: ${ item == "other" }
    flags: {set: {'${ item }': b}}
  - flags: {set: {last: c}}
`)
	outcomes := func(labels map[string]string) []mutation.Outcome {
		t.Helper()
		source := &facts.Static{Facts: inRegion(t, "r").Facts.WithNamespace(facts.Namespace{Name: "n", Labels: labels})}
		result, err := program.Admit(t.Context(), kubeletRequest("--v=1", "maxPods: 1"), source)
		if err != nil {
			t.Fatal(err)
		}
		var all []mutation.Outcome
		for _, applied := range result.Applied {
			all = append(all, applied.Outcome)
		}
		return all
	}
	many := map[string]string{"many": ""}
	for range 3 {
		for _, labels := range []map[string]string{nil, many, nil} {
			all := outcomes(labels)
			if all[0] != mutation.Changed || all[len(all)-1] != mutation.Changed {
				t.Errorf("with the labels %v: %v", labels, all)
			}
		}
	}
}

// TestMemoryOfSecrets checks that nothing is cached if a rule for the kubelet may write a Secret, even if it is only
// observed or no longer applies, or may write the object, whose texts may contain secrets: after an update these are
// inputs of all rules.
func TestMemoryOfSecrets(t *testing.T) {
	const plain, secret = `- flags: {set: {region: "${ shoot.region }"}}`, `- flags: {set: {made: "${ lookups.credentials.key }"}}`
	for name, c := range map[string]struct {
		rules      []string
		written    bool // into the patch of the first object
		remembered bool
	}{
		"a rule writes a value from a Secret":                    {rules: []string{secret}, written: true},
		"a rule writes a field of the object":                    {rules: []string{`- flags: {set: {made: "${ object.spec.purpose }"}}`}, written: true},
		"a rule writes a field of the object through a variable": {rules: []string{`- flags: {set: {made: "${ variables.of }"}}`}, written: true},
		"a Secret rule before a plain one":                       {rules: []string{secret, plain}, written: true},
		"a Secret rule after a plain one":                        {rules: []string{plain, secret}, written: true},
		"an observed Secret rule":                                {rules: []string{plain, secret + "\n    mode: observe"}},
		"a Secret rule with a false condition":                   {rules: []string{plain, secret + "\n    when: ${ shoot.region == 'q' }"}},
		"a Secret in forEach":                                    {rules: []string{plain, `- forEach: ["${ lookups.credentials.key }"]` + "\n    flags: {set: {made: \"${ item }\"}}"}, written: true},
		"a Secret rule keeps the value on update":                {rules: []string{plain, secret + "\n    onUpdate: keep"}, written: true},
		"the name of the object is cached":                       {rules: []string{plain, `- flags: {set: {made: "${ object.name }"}}`}, remembered: true},
	} {
		t.Run(name, func(t *testing.T) {
			program := programOf(t, `
variables: {of: "${ object.spec.purpose }"}
lookups:
  credentials: {secret: credentials, keys: [key]}
controlplane:
  kubelet:
  `+strings.Join(c.rules, "\n  ")+"\n")
			source := &facts.Static{Facts: inRegion(t, "r").Facts, Objects: objects.Of(map[string]map[string]string{"credentials": {"key": "reconcile"}}, nil)}
			request := kubeletRequest("--v=1", "maxPods: 1")
			for i := range 8 {
				result, err := program.Admit(t.Context(), request, source)
				if err != nil || i == 0 && c.written != bytes.Contains(result.Patch, []byte("--made=reconcile")) {
					t.Fatalf("%v: %s", err, result.Patch)
				}
				if i == 3 && result.Patch != nil {
					request.Object = golden.Apply(t, request.Object, result.Patch)
				}
			}
			if entries := program.Remembered(); (entries > 0) != c.remembered {
				t.Errorf("%d outcomes are remembered", entries)
			}
		})
	}
}

// TestObserverSeesCachedSteps checks that an observer sees each step also with a cached result.
func TestObserverSeesCachedSteps(t *testing.T) {
	program := programOf(t, kubeletRules)
	steps := func() (seen []string) {
		request := kubeletRequest("--v=1", "maxPods: 1")
		if _, err := program.Trace(t.Context(), request, inRegion(t, "r"), func(a mutation.Applied, s mutation.Step, o *target.Object) {
			seen = append(seen, fmt.Sprint(a.Rule, s.Place, string(o.Document.Bytes())))
		}); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	before := steps()
	for range 3 {
		if _, err := program.Admit(t.Context(), kubeletRequest("--v=1", "maxPods: 1"), inRegion(t, "r")); err != nil {
			t.Fatal(err)
		}
	}
	if entries := program.Remembered(); entries != 1 {
		t.Fatalf("%d outcomes are remembered", entries)
	}
	if diff := cmp.Diff(before, steps()); diff != "" || len(before) != 4 {
		t.Errorf("want the same 4 steps as before, got %d before and this difference:\n%s", len(before), diff)
	}
}

// TestOverridePassesContractWithCachedResult checks that a reserved flag with an override passes the contract check also with a cached
// result.
func TestOverridePassesContractWithCachedResult(t *testing.T) {
	program := programOf(t, `
controlplane:
  kubelet:
  - flags: {set: {config: /elsewhere}}
    override: this test
`)
	for range 4 {
		result, err := program.Admit(t.Context(), kubeletRequest("--config=/here", "maxPods: 1"), inRegion(t, "r"))
		if err != nil || !bytes.Contains(result.Patch, []byte("--config=/elsewhere")) {
			t.Fatalf("%v: %s", err, result.Patch)
		}
	}
	if entries := program.Remembered(); entries != 1 {
		t.Errorf("%d outcomes are remembered", entries)
	}
}

// TestMemoryIsBounded fills the cache beyond its limits, and with results that are too large.
func TestMemoryIsBounded(t *testing.T) {
	program := programOf(t, kubeletRules)
	admitted := func(level, more string) {
		if _, err := program.Admit(t.Context(), kubeletRequest(level, "maxPods: 1\n"+more), inRegion(t, "r")); err != nil {
			t.Fatal(err)
		}
	}
	admitted("--v=1", strings.Repeat("# long\n", mutation.CachedTextBytes/7))
	if entries := program.Remembered(); entries != 0 {
		t.Errorf("%d outcomes are remembered", entries)
	}
	for i := range mutation.CachedTexts + 200 {
		admitted(fmt.Sprintf("--v=%d", i), "")
	}
	if entries := program.Remembered(); entries != mutation.CachedTexts {
		t.Errorf("%d outcomes are remembered", entries)
	}
}

// TestMemoryIsShared has many admit the same few objects at the same time, for the race detector.
func TestMemoryIsShared(t *testing.T) {
	program := programOf(t, kubeletRules)
	var want [3][]byte
	for i := range want {
		result, err := program.Admit(t.Context(), kubeletRequest(fmt.Sprintf("--v=%d", i), "maxPods: 1"), inRegion(t, "r"))
		if err != nil {
			t.Fatal(err)
		}
		want[i] = bytes.Clone(result.Patch)
	}
	source := inRegion(t, "r")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for n := range 60 {
				i := n % len(want)
				result, err := program.Admit(context.Background(), kubeletRequest(fmt.Sprintf("--v=%d", i), "maxPods: 1"), source)
				if err != nil || !bytes.Equal(result.Patch, want[i]) {
					t.Errorf("%v: %s", err, result.Patch)
				}
			}
		})
	}
	group.Wait()
}
