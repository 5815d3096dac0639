// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestTerms checks the value of each part of a condition. Lines are those of written.
func TestTerms(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"shows the value of a variable", `${ shoot.hibernated }`, []string{
			`10 shoot.hibernated: false`,
		}},
		{"all of two", `${ !shoot.hibernated && shoot.kubernetes.satisfies(">= 1.33") }`, []string{
			`22 !shoot.hibernated && shoot.kubernetes.satisfies(">= 1.33"): true`,
			`4   !shoot.hibernated: true`,
			`11     shoot.hibernated: false`,
			`42   shoot.kubernetes.satisfies(">= 1.33"): true`,
			`31     shoot.kubernetes: 1.33.4-gke.1`,
		}},
		{"decided by the first", `${ shoot.hibernated && shoot.name == "x" }`, []string{
			`21 shoot.hibernated && shoot.name == "x": false`,
			`10   shoot.hibernated: false`,
			`35   shoot.name == "x": not evaluated`,
		}},
		{"one of three", `${ shoot.hibernated || shoot.name == 'crazy-botany' || shoot.spec.nothing }`, []string{
			`53 shoot.hibernated || shoot.name == "crazy-botany" || shoot.spec.nothing: true`,
			`10   shoot.hibernated: false`,
			`35   shoot.name == "crazy-botany": true`,
			`30     shoot.name: "crazy-botany"`,
			`67   shoot.spec.nothing: not evaluated`,
		}},
		{"and in or", `${ (shoot.hibernated || true) && shoot.name != "" }`, []string{
			`31 (shoot.hibernated || true) && shoot.name != "": true`,
			`22   shoot.hibernated || true: true`,
			`11     shoot.hibernated: false`,
			`25     true: true`,
			`45   shoot.name != "": true`,
			`40     shoot.name: "crazy-botany"`,
		}},
		{"shows only the evaluated branch", `${ shoot.hibernated ? shoot.spec.whole > 1 : shoot.spec.half > 1 }`, []string{
			`23 shoot.hibernated ? (shoot.spec.whole > 1) : (shoot.spec.half > 1): false`,
			`10   shoot.hibernated: false`,
			`40   shoot.spec.whole > 1: not evaluated`,
			`62   shoot.spec.half > 1: false`,
			`57     shoot.spec.half: 0.5`,
		}},
		{"both branches are variables", `${ shoot.hibernated ? shoot.spec.x : shoot.spec.y }`, []string{
			`23 shoot.hibernated ? shoot.spec.x : shoot.spec.y: failed: :1:23: there is no y; read a field that may be missing as .?y.orValue(…)`,
			`10   shoot.hibernated: false`,
			`34   shoot.spec.x: not evaluated`,
			`49   shoot.spec.y: failed: :1:49: there is no y; read a field that may be missing as .?y.orValue(…)`,
		}},
		{"shows a missing key", `${ "enable-vac" in shoot.annotations && shoot.annotations["enable-vac"] == "true" }`, []string{
			`38 "enable-vac" in shoot.annotations && shoot.annotations["enable-vac"] == "true": true`,
			`17   "enable-vac" in shoot.annotations: true`,
			`26     shoot.annotations: {"enable-vac":"true"}`,
			`73   shoot.annotations["enable-vac"] == "true": true`,
			`58     shoot.annotations["enable-vac"]: "true"`,
		}},
		{"shows defaults of optional fields", `${ shoot.spec.?hibernation.?enabled.orValue(true) && shoot.spec.?nothing != optional.none() }`, []string{
			`51 shoot.spec.?hibernation.?enabled.orValue(true) && shoot.spec.?nothing != optional.none(): false`,
			`37   shoot.spec.?hibernation.?enabled.orValue(true): true`,
			`74   shoot.spec.?nothing != optional.none(): false`,
			`66     shoot.spec.?nothing: absent`,
		}},
		{"shows the result of has", `${ has(shoot.networking.nodes) || has(shoot.networking.type) }`, []string{
			`32 has(shoot.networking.nodes) || has(shoot.networking.type): true`,
			`4   has(shoot.networking.nodes): false`,
			`35   has(shoot.networking.type): true`,
		}},
		{"shows the variables of a loop", `${ shoot.workers.exists(w, w.kubernetes.satisfies("< 1.33") && w.name != shoot.name) }`, []string{
			`18 shoot.workers.exists(w, w.kubernetes.satisfies("< 1.33") && w.name != shoot.name): true`,
			`10   shoot.workers: [{"kubernetes":"1.32.0","name":"a"},{"kubernetes":"1.33.4","name":"b"}]`,
			`80   shoot.name: "crazy-botany"`,
		}},
		{"the result of a loop", `${ shoot.workers.map(w, w.name) == ["a", shoot.name] }`, []string{
			`33 shoot.workers.map(w, w.name) == ["a", shoot.name]: false`,
			`10   shoot.workers: [{"kubernetes":"1.32.0","name":"a"},{"kubernetes":"1.33.4","name":"b"}]`,
			`48   shoot.name: "crazy-botany"`,
		}},
		{"shows the variables of a computed value", `${ size(shoot.name + "-" + shoot.networking.type) > 3 }`, []string{
			`51 size(shoot.name + "-" + shoot.networking.type) > 3: true`,
			`15   shoot.name: "crazy-botany"`,
			`45   shoot.networking.type: "calico"`,
		}},
		{"a computed key", `${ shoot.annotations[shoot.name] == "x" }`, []string{
			`34 shoot.annotations[shoot.name] == "x": failed: :1:21: there is no such key`,
			`10   shoot.annotations: {"enable-vac":"true"}`,
			`28   shoot.name: "crazy-botany"`,
		}},
		{"a failure that does not matter", `${ shoot.spec.nothing || shoot.name != "" }`, []string{
			`23 shoot.spec.nothing || shoot.name != "": true`,
			`15   shoot.spec.nothing: failed: :1:15: there is no nothing; read a field that may be missing as .?nothing.orValue(…)`,
			`37   shoot.name != "": true`,
			`32     shoot.name: "crazy-botany"`,
		}},
		{"shows a comparison of constants", `${ 1 < 2 }`, []string{`6 1 < 2: true`}},
		{"shows a repeated value once", `${ shoot.name == shoot.name }`, []string{
			`15 shoot.name == shoot.name: true`,
			`10   shoot.name: "crazy-botany"`,
		}},
		{"lines and comments", "${ shoot.name == 'crazy-botany' // its name\n  && shoot.hibernated }", []string{
			`3 shoot.name == "crazy-botany" && shoot.hibernated: false`,
			`15   shoot.name == "crazy-botany": true`,
			`10     shoot.name: "crazy-botany"`,
			`12   shoot.hibernated: false`,
		}},
		{"an odd field", "${ secrets.`ca.crt` == 'PEM' }", []string{
			"21 secrets.`ca.crt` == \"PEM\": true",
			"13   secrets.`ca.crt`: \"PEM\"",
		}},
		{"shows that a condition is no bool", `${ shoot.spec.whole }`, []string{`15 shoot.spec.whole: failed: :1:4: a condition must be bool, is double`}},
		{"in a function", `${ base64.encode(bytes(shoot.name)).startsWith("Y3") }`, []string{
			`37 base64.encode(bytes(shoot.name)).startsWith("Y3"): true`,
			`30   shoot.name: "crazy-botany"`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := env.Condition(c.text, source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			term, err := x.Explain(context.Background(), vars)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, written(term, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// written writes terms: their columns, indented by depth, with text and value.
func written(term Term, depth int) []string {
	var came string
	switch {
	case term.Skipped:
		came = "not evaluated"
	case term.Failed != nil:
		came = "failed: " + term.Failed.Error()
	default:
		came = Describe(term.Value)
	}
	lines := []string{fmt.Sprintf("%d %s%s: %s", term.Position.Column, strings.Repeat("  ", depth), term.Text, came)}
	for _, below := range term.Terms {
		lines = append(lines, written(below, depth+1)...)
	}
	return lines
}

func TestTemplateExplain(t *testing.T) {
	template, err := testEnvironment(t).Template(`eu-${ shoot.name }-${ shoot.hibernated ? "x" : "y" }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	terms, err := template.Explain(context.Background(), testActivation(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, term := range terms {
		got = append(got, written(term, 0)...)
	}
	want := []string{
		`13 shoot.name: "crazy-botany"`,
		`42 shoot.hibernated ? "x" : "y": "y"`,
		`29   shoot.hibernated: false`,
		`42   "x": not evaluated`,
		`48   "y": "y"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzExplain checks that the root of the terms agrees with Bool, and that the parts of && and || agree with the whole,
// for conditions made of the bytes.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{"", "\x00\x01\x02", "abcdefgh", "\x06\x07\x08\x06\x00\x01", "\x09\x09\x09\x09\x01\x02\x03"} {
		f.Add([]byte(seed))
	}
	env, vars := testEnvironment(f), testActivation(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		g := generator{data: data}
		text := "${ " + g.condition(5) + " }"
		x, err := env.Condition(text, source.Position{})
		if err != nil {
			t.Fatalf("%s: %s", text, err)
		}
		want, wantErr := x.Bool(context.Background(), vars)
		term, err := x.Explain(context.Background(), vars)
		if err != nil {
			t.Fatalf("%s: %s", text, err)
		}
		switch {
		case wantErr != nil:
			if errorText(term.Failed) != wantErr.Error() {
				t.Errorf("%s: got %v, want %v", text, term.Failed, wantErr)
			}
		case term.Value == nil || Describe(term.Value) != fmt.Sprint(want):
			t.Errorf("%s: got %+v, want %v", text, term, want)
		}
		agree(t, term)
	})
}

// agree checks that the value of a term follows from the terms below it.
func agree(t *testing.T, term Term) {
	t.Helper()
	if term.Value == nil {
		return
	}
	for _, below := range term.Terms {
		agree(t, below)
	}
	last := len(term.Terms) - 1
	for last >= 0 && term.Terms[last].Skipped {
		last--
	}
	for i, below := range term.Terms {
		if below.Skipped && i <= last && !strings.Contains(term.Text, "?") {
			t.Errorf("%s: %s was not evaluated and a later one was", term.Text, below.Text)
		}
	}
	if last >= 0 && last < len(term.Terms)-1 && Describe(term.Terms[last].Value) != Describe(term.Value) && !strings.Contains(term.Text, "?") {
		t.Errorf("%s: the deciding part %s has another value", term.Text, term.Terms[last].Text)
	}
}

// generator makes conditions of bytes.
type generator struct{ data []byte }

var atoms = []string{
	`shoot.hibernated`, `!shoot.hibernated`, `true`, `false`, `shoot.name == "crazy-botany"`, `shoot.kubernetes.satisfies("< 1.33")`,
	`shoot.spec.nothing`, `shoot.spec.whole > 2`, `"x" in shoot.annotations`, `has(shoot.networking.nodes)`, `shoot.workers.all(w, w.name != "c")`, `shoot.workers.exists(w, w.kubernetes.satisfies("< 1.33") && shoot.spec.nothing)`,
	`shoot.spec.?nothing.orValue(…)`, `shoot.networking.status == 1`, `shoot.spec.whole`, `size(shoot.name + secrets.token) == 3`,
}

func (g *generator) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	first := int(g.data[0])
	g.data = g.data[1:]
	return first % n
}

func (g *generator) condition(depth int) string {
	kind := g.next(6)
	if depth == 0 || kind < 2 {
		return atoms[g.next(len(atoms))]
	}
	switch kind {
	case 2:
		return "!(" + g.condition(depth-1) + ")"
	case 3:
		return "(" + g.condition(depth-1) + " ? " + g.condition(depth-1) + " : " + g.condition(depth-1) + ")"
	case 4:
		return "(" + g.condition(depth-1) + " && " + g.condition(depth-1) + ")"
	default:
		return "(" + g.condition(depth-1) + " || " + g.condition(depth-1) + ")"
	}
}

// TestExplainKeepsAllocationsOfEvaluations checks that an explanation does not change the number of allocations of later evaluations.
func TestExplainKeepsAllocationsOfEvaluations(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	x, err := env.Condition(benchmarked, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	allocations := func() float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := x.Bool(context.Background(), vars); err != nil {
				t.Fatal(err)
			}
		})
	}
	before := allocations()
	if _, err := x.Explain(context.Background(), vars); err != nil {
		t.Fatal(err)
	}
	if after := allocations(); after != before {
		t.Errorf("%v allocations, %v before", after, before)
	}
}
