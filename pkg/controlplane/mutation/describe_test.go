// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

const described = `
variables:
  far: ${ shoot.region == "far" && variables.known }
  known: ${ seed.name != "" }
controlplane:
  kube-apiserver:
  - flags: {set: {a: b}, remove: [c]}
  - name: far
    when: ${ variables.far }
    env: {set: {POOL: "${ object.name }"}}
  kubelet:
  - featureGates: {A: true}
    purposes: [provision, reconcile]
controlplaneexposure:
  etcd-main:
  - annotations: {set: {k: v}}
`

// TestRules checks the description of rules.
func TestRules(t *testing.T) {
	var got []string
	for _, info := range programOf(t, described).Rules() {
		places := make([]string, len(info.Places))
		for i, place := range info.Places {
			places[i] = place.String()
		}
		got = append(got, fmt.Sprintf("%s %s %s %s/%s %s %v [%s] %v", info.Position, info.Set, info.Target.Name, info.Profile, info.Name, info.Operation,
			info.Purposes, strings.Join(places, ", "), info.References))
	}
	want := []string{
		"p.yaml:10:5 controlplane kube-apiserver p/kube-apiserver[0].flags flags [] [flag --a of container kube-apiserver, flag --c of container kube-apiserver] []",
		"p.yaml:11:5 controlplane kube-apiserver p/far env [] [environment variable POOL of container kube-apiserver] " +
			"[object.name seed.name shoot.region variables.far variables.known]",
		"p.yaml:15:5 controlplane kubelet p/kubelet[0].featureGates featureGates [provision reconcile] [feature gate A of container kubelet] []",
		"p.yaml:19:5 controlplaneexposure etcd-main p/etcd-main[0].annotations annotations [] [annotation k] []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestOnlyAppliesSelectedRules checks that a part of a program applies only its rules and leaves the whole program unchanged.
func TestOnlyAppliesSelectedRules(t *testing.T) {
	whole := programOf(t, described)
	part := whole.Only(func(info mutation.RuleInfo) bool { return info.Operation == "env" })
	source := &facts.Static{Facts: shootOf(t, `{"region":"far","kubernetes":{"version":"1.34.2"}}`)}
	for name, test := range map[string]struct {
		program *mutation.Program
		rules   int
	}{"a program with all rules": {whole, 2}, "a program with the rules of one part": {part, 1}} {
		result, err := test.program.Admit(t.Context(), requestFor("kube-apiserver", "kube-apiserver:v1.33.4"), source)
		if err != nil || len(result.Applied) != test.rules || result.Patch == nil {
			t.Errorf("%s: got %+v, %v", name, result, err)
		}
	}
	result, err := part.Admit(t.Context(), nodeRequest("a", ""), source)
	if err != nil || result.Target != "" {
		t.Errorf("an object without a rule is left: got %+v, %v", result, err)
	}
}
