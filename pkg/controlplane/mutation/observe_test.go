// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// asked is a source that counts lookups by name, and runs a function for each.
type asked struct {
	facts.Static

	names map[string]int
	then  func(context.Context)
}

func (a *asked) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.LookupResult, error) {
	if a.names == nil {
		a.names = map[string]int{}
	}
	a.names[l.ObjectName]++
	if a.then != nil {
		a.then(ctx)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return a.Static.Lookup(ctx, namespace, l)
}

// admitEtcd admits an Etcd, and returns the result and the rules with their outcomes.
func admitEtcd(t *testing.T, rules string, source facts.Source, until time.Time) (*mutation.Result, []string) {
	t.Helper()
	program, _ := programsOf(t, compiler.Options{}, map[string]string{"p": rules})
	result, err := program.Admit(t.Context(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "UPDATE", Namespace: "shoot--x--y", Name: "etcd-main", ObserveUntil: until,
		Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd", Object: []byte(etcdBefore), OldObject: []byte(etcdBefore),
	}, source)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for _, applied := range result.Applied {
		outcomes = append(outcomes, string(applied.Outcome)+string(applied.Would)+" "+applied.Reason)
	}
	return result, outcomes
}

const observing = `
lookups: {s: {secret: s, keys: [k]}}
controlplane:
  etcd-main:
  - labels: {set: {a: b}}
  - mode: observe
    labels: {set: {c: "${ lookups.s.k }"}}
`

// TestObservedFaults checks that panics and slow evaluations of observed rules do not affect applied rules.
func TestObservedFaults(t *testing.T) {
	for name, test := range map[string]struct {
		then func(context.Context)
		time time.Duration
		want string
	}{
		"reports a panic as an internal error": {func(context.Context) { panic("s3cr3t") }, time.Hour, "would deny the object: Internal"},
		"reports a passed deadline":            {func(ctx context.Context) { <-ctx.Done() }, 50 * time.Millisecond, "would deny the object: DeadlineExceeded"},
	} {
		result, outcomes := admitEtcd(t, observing, &asked{then: test.then}, time.Now().Add(test.time))
		if diff := cmp.Diff([]string{"changed ", "observeddenied " + test.want}, outcomes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(string(result.Patch), `/metadata/labels/a`) {
			t.Errorf("%s: the patch is %s", name, result.Patch)
		}
		if panicked := name == "reports a panic as an internal error"; (result.Panic != nil) != panicked || panicked && strings.Contains(result.Panic.Error(), "s3cr3t") {
			t.Errorf("%s: the panic is %v", name, result.Panic)
		}
	}
}

// TestLookupsOfRulesThatApply checks that lookups of rules with a false condition are not made, if the condition itself
// needs no lookup.
func TestLookupsOfRulesThatApply(t *testing.T) {
	const rules = `
lookups: {%: {secret: no, keys: [k]}, both: {secret: both, keys: [k]}, asked: {secret: asked, keys: [k]}, of: {secret: of, keys: [k]}}
variables: {v: "${ lookups.%.k }"}
controlplane:
  etcd-main:
  - {when: '${ operation == "CREATE" }', labels: {set: {a: "${ lookups.both.k + variables.v }"}}}
  - {when: '${ operation == "UPDATE" }', labels: {set: {b: "${ lookups.both.k }"}}}
  - {when: '${ lookups.of.k == "other" }', labels: {set: {c: "${ lookups.asked.k }"}}}
`
	source := &asked{Static: facts.Static{Objects: objects.Of(map[string]map[string]string{"both": {"k": "v"}, "asked": {"k": "v"}, "of": {"k": "v"}}, nil)}}
	_, outcomes := admitEtcd(t, strings.ReplaceAll(rules, "%", "no"), source, time.Time{})
	if diff := cmp.Diff([]string{"skipped the condition is false", "changed ", "skipped the condition is false"}, outcomes); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"asked", "both", "of"}, slices.Sorted(maps.Keys(source.names))); diff != "" {
		t.Errorf("looked up (-want +got):\n%s", diff)
	}
}

// TestObservedOutcomes checks the outcomes of observed rules.
func TestObservedOutcomes(t *testing.T) {
	const rules = `
mode: observe
controlplane:
  etcd-main:
  - labels: {set: {a: b}}
  - {when: '${ operation == "UPDATE" }', labels: {set: {a: c}}}
  - {when: '${ operation == "CREATE" }', labels: {set: {d: e}}}
  - labels: {set: {other: theirs}}
`
	_, outcomes := admitEtcd(t, rules, &asked{}, time.Time{})
	want := []string{
		"observedoverridden would be overridden by p/etcd-main[1].labels (p:10:5)", "observedchanged would change the object", "skipped the condition is false",
		"observedunchanged would change nothing",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
