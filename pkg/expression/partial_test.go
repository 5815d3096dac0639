// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestPartialFalse checks that a condition is false only if the version alone makes it false.
func TestPartialFalse(t *testing.T) {
	strings := cel.MapType(cel.StringType, cel.StringType)
	shoot := expression.NewObjectType("graft.Shoot", map[string]*cel.Type{
		"kubernetes": apiservercel.SemverType, "annotations": strings, "hibernated": cel.BoolType, "workers": cel.ListType(cel.DynType),
		"spec": cel.DynType,
	})
	variables := expression.NewObjectType("graft.Variables", map[string]*cel.Type{"old": cel.BoolType, "name": cel.StringType})
	environment, err := expression.NewEnvironment(
		expression.Variable{Name: "shoot", Object: shoot},
		expression.Variable{Name: "variables", Object: variables},
		expression.Variable{Name: "operation", Type: cel.StringType},
	)
	if err != nil {
		t.Fatal(err)
	}
	version, err := expression.ParseVersion("1.35.2")
	if err != nil {
		t.Fatal(err)
	}
	partial := environment.Partial().With("shoot", "kubernetes", version).With("variables", "old", types.False)
	for condition, want := range map[string]bool{
		`shoot.kubernetes.satisfies("< 1.34")`:                     true,
		`shoot.kubernetes.satisfies("< 1.36")`:                     false,
		`shoot.kubernetes.satisfies("< 1.34") && shoot.hibernated`: true,
		`shoot.hibernated && shoot.kubernetes.satisfies("< 1.34")`: true,
		`shoot.kubernetes.satisfies("< 1.34") || shoot.hibernated`: false,
		`shoot.hibernated`: false,
		`!shoot.kubernetes.satisfies(">= 1.34") && shoot.annotations[?"a"].orValue("") == "true"`: true,
		`shoot.annotations[?"a"].orValue("") == "true" && shoot.kubernetes.satisfies("< 1.34")`:   true,
		`"a" in shoot.annotations`:                                   false,
		`has(shoot.spec.a)`:                                          false,
		`shoot.workers.exists(w, w.old) && variables.old`:            true,
		`shoot.workers.all(w, shoot.kubernetes.satisfies("< 1.34"))`: false,
		`["a"].exists(w, shoot.kubernetes.satisfies("< 1.34"))`:      true,
		`variables.old`:         true,
		`variables.name == "x"`: false,
		`operation == "CREATE" ? variables.old : shoot.kubernetes.satisfies("< 1.30")`:             false,
		`shoot.kubernetes.satisfies("> 1.30") ? variables.old : shoot.hibernated`:                  true,
		`shoot.kubernetes.minor() == 34`:                                                           true,
		`shoot.kubernetes.minor() == 35`:                                                           false,
		`shoot.kubernetes.satisfies("< 1.34") && shoot.spec.a.b.exists(k, v, k == v.c[operation])`: true,
	} {
		x, err := environment.Condition("${ "+condition+" }", source.Position{})
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		if got := partial.False(x); got != want {
			t.Errorf("%s: certainly false is %t, want %t", condition, got, want)
		}
	}
}

// TestPartialValue checks that a value is known only if it contains nothing unknown.
func TestPartialValue(t *testing.T) {
	shoot := expression.NewObjectType("graft.Shoot", map[string]*cel.Type{"name": cel.StringType, "region": cel.StringType})
	environment, err := expression.NewEnvironment(expression.Variable{Name: "shoot", Object: shoot})
	if err != nil {
		t.Fatal(err)
	}
	partial := environment.Partial().With("shoot", "name", types.String("a"))
	for text, want := range map[string]any{
		"x": "x", "${ 1 + 1 }": int64(2), "x-${ shoot.name }": "x-a", "${ shoot.name }": "a", "${ shoot.region }": nil,
		"x-${ shoot.region }": nil, "${ [][0] }": nil,
		// Each element converts a list of ten thousand: the value exceeds the limits, and the evaluation ends there.
		"${ lists.range(10000).map(a, toJSON(lists.range(10000).map(b, string(b)))).size() > 0 ? shoot.name : 'c' }": nil, "${ shoot.name == 'b' ? shoot.region : 'c' }": "c",
	} {
		template, err := environment.Template(text, source.Position{})
		if err != nil {
			if want != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		value, ok := partial.Value(template)
		if ok != (want != nil) || ok && value.Value() != want {
			t.Errorf("%s: got %v, %t, want %v", text, value, ok, want)
		}
	}
}
