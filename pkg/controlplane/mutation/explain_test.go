// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/explanation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// TestExplainAgrees compares the explanation of each folder in testdata/admit with the admission: the outcomes of
// rules, the values of conditions, and the states around its steps, which lead to the admitted object.
func TestExplainAgrees(t *testing.T) {
	eachAdmitted(t, func(t *testing.T, folder string, r request, program *mutation.Program) {
		want, _ := admit(t, program, r, asJSON(t, r.Object))
		got, err := explanation.Of(context.Background(), program, requestOf(t, r), static{t, r})
		if err != nil {
			if want.Failure == nil {
				t.Fatal(err)
			}
			return
		}
		agrees(t, want, got)
	})
}

func agrees(t *testing.T, want outcome, got *explanation.Explanation) {
	t.Helper()
	if want.Failure != nil {
		if got.Denied == nil || got.Denied.Error() != want.Failure.Message {
			t.Errorf("denied: got %v, want %s", got.Denied, want.Failure.Message)
		}
		return
	}
	if got.Denied != nil {
		t.Fatalf("denied: %v", got.Denied)
	}
	var lines []string
	for _, rule := range got.Rules {
		line := fmt.Sprintf("%s: %s", rule.Name(), rule.Outcome)
		if rule.Reason != "" {
			line += ": " + rule.Reason
		}
		lines = append(lines, line)
		isFalse := rule.When != nil && rule.When.Value == "false"
		if skipped := rule.Outcome == mutation.Skipped && rule.Reason == "the condition is false"; isFalse != skipped {
			t.Errorf("%s: unexpected value of the condition: %+v", line, rule.When)
		}
		if rule.Outcome == mutation.Changed && len(rule.Steps) == 0 {
			t.Errorf("%s: no steps", line)
		}
	}
	if fmt.Sprint(lines) != fmt.Sprint(want.Rules) {
		t.Errorf("rules\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want.Rules, "\n"))
	}
}

func requestOf(t *testing.T, r request) mutation.Request {
	t.Helper()
	metadata := r.Object["metadata"].(map[string]any)
	gvk := schema.FromAPIVersionAndKind(r.Object["apiVersion"].(string), r.Object["kind"].(string))
	return mutation.Request{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Operation: r.Operation,
		Namespace: metadata["namespace"].(string), Name: metadata["name"].(string),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: asJSON(t, r.Object), OldObject: asJSON(t, r.OldObject),
	}
}

// TestExplainShowsNoSecret checks that no term or value of an explanation shows a Secret, for admitted and denied
// objects.
func TestExplainShowsNoSecret(t *testing.T) {
	for _, c := range []struct{ name, rule string }{
		{"hides a compared value", `{when: "${ lookups.s.password == 'x' && operation == 'CREATE' }", labels: {set: {x: y}}}`},
		{"a replaced text", `{when: "${ lookups.s.password.replace('2', '') != object.name }", labels: {set: {x: y}}}`},
		{"compared with a variable", `{when: "${ variables.through != '' }", labels: {set: {x: y}}}`},
		{"in a function", `{when: "${ size(lookups.s.list.split(',')) > 1 && lookups.s.password.startsWith('x') }", labels: {set: {x: y}}}`},
		{"hides a value converted to JSON", `{when: "${ toJSON([lookups.s.password]) != '' }", labels: {set: {x: y}}}`},
		{"hides an item of a split value", `{forEach: "${ lookups.s.list.split(',') }", when: "${ item != 'x' }", annotations: {set: {x: "${ item }"}}}`},
		{"hides a value used as a key", `{when: "${ {'x': 1}[lookups.s.password] == 1 }", labels: {set: {x: y}}}`},
		{"a value found by a key", `{when: "${ {lookups.s.password: lookups.s.number}[variables.direct] != object.name }", labels: {set: {x: y}}}`},
		{"hides a value that cannot be converted", `{when: "${ int(lookups.s.password) > 1 }", labels: {set: {x: y}}}`},
		{"a failure of a value", `{labels: {set: {x: "${ int(lookups.s.password) }"}}}`},
		{"hides values inside a loop", `{when: "${ lookups.s.list.split(',').exists(p, p == 'x') }", labels: {set: {x: y}}}`},
		{"an item of a loop", `{when: "${ lookups.s.list.split(',').all(p, p.startsWith('x') || size(p) > 100 || p != object.name) }", labels: {set: {x: y}}}`},
		{"an item of a loop in a loop", `{when: "${ [lookups.s.list].exists(l, l.split(',').exists(p, p == object.name)) }", labels: {set: {x: y}}}`},
		{"a loop over items", `{forEach: "${ [lookups.s.list] }", when: "${ item.split(',').exists(p, p == object.name) }", annotations: {set: {x: y}}}`},
		{"hides values in a branch", `{when: "${ lookups.s.password == '' ? false : lookups.s.number == '1' }", labels: {set: {x: y}}}`},
		{"hides a value in a nested variable", `{when: "${ variables.tree.a[0] == '' }", labels: {set: {x: y}}}`},
		{"hides values in all variables", `{when: "${ string(variables.direct) + toJSON(variables.tree) != '' }", labels: {set: {x: y}}}`},
		{"a name that is computed", `{when: "${ lookups.named.password != '' }", labels: {set: {x: y}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := explainSecret(t, fmt.Sprintf(secretProfile, c.rule))
			said := strings.Join(withoutStates(got), "\n")
			expectNoSecret(t, said)
			if !strings.Contains(said, "(from Secret ") && !strings.Contains(said, "failed: ") && !strings.Contains(said, "cannot take the value") {
				t.Errorf("the text names no Secret as the source of a value:\n%s", said)
			}
		})
	}
}

// TestExplainSecretObject checks that no term shows the content of an admitted Secret.
func TestExplainSecretObject(t *testing.T) {
	text := `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
controlplane:
  objects:
  - apiVersion: v1
    kind: Secret
    rules:
    - when: ${ object.data.token != "" && object.?metadata.?annotations.orValue({}) != {} && object.annotations != {} && object.name != "" }
      labels: {set: {x: y}}
`
	got := explain(t, text, mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: "shoot--foo--bar", Name: "cloud-x", Version: "v1", Kind: "Secret",
		Object: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloud-x","annotations":{"last":"aHVudGVyMg=="}},"data":{"token":"aHVudGVyMg=="}}`),
	}, &facts.Static{})
	said := strings.Join(withoutStates(got), "\n")
	expectNoSecret(t, said)
	if !strings.Contains(said, `object.name → "cloud-x"`) {
		t.Errorf("the object's name is hidden, want it shown:\n%s", said)
	}
}

// withoutStates returns the whole explanation except the object itself.
func withoutStates(e *explanation.Explanation) []string {
	said := []string{fmt.Sprint(e.Denied, e.Missing)}
	for _, rule := range e.Rules {
		said = append(said, fmt.Sprintf("%v %v", rule.Applied, rule.Failed))
		for _, step := range rule.Steps {
			said = append(said, step.String())
		}
		var terms strings.Builder
		if rule.When != nil {
			writeTerm(&terms, *rule.When, 0)
		}
		for _, term := range rule.ForEach {
			writeTerm(&terms, term, 0)
		}
		said = append(said, terms.String())
	}
	return said
}

func writeTerm(out *strings.Builder, term explanation.ExplainedTerm, depth int) {
	value := term.Value
	switch {
	case term.Skipped:
		value = "not evaluated"
	case term.Failed != "":
		value = "failed: " + term.Failed
	}
	fmt.Fprintf(out, "%s %s → %s\n", strings.Repeat("  ", depth), term.Text, value)
	for _, below := range term.Terms {
		writeTerm(out, below, depth+1)
	}
}

func explainSecret(t *testing.T, text string) *explanation.Explanation {
	t.Helper()
	return explain(t, text, mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: "shoot--foo--bar", Name: "kube-controller-manager",
		Group: "apps", Version: "v1", Kind: "Deployment",
		Object: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-controller-manager","namespace":"shoot--foo--bar"},` +
			`"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},` +
			`"spec":{"containers":[{"name":"kube-controller-manager","image":"x:v1.33.5","command":["/kcm","--feature-gates=A=true"]}]}}}}`),
	}, &facts.Static{
		Objects: objects.Of(map[string]map[string]string{"cloudprovider": theSecret, "shoot--foo--bar-credentials": theSecret},
			map[string]map[string]string{"open": {"k": "visible"}}),
	})
}

func explain(t *testing.T, text string, r mutation.Request, from facts.Source) *explanation.Explanation {
	t.Helper()
	program := compiled(t, compiler.Options{Generation: contract.Today, Kubernetes: elsewhere}, text)
	explained, err := explanation.Of(context.Background(), program, r, from)
	if err != nil {
		t.Fatal(err)
	}
	return explained
}
