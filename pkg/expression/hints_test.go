// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestHints checks the suggestions for the most common mistakes.
func TestHints(t *testing.T) {
	pool := expression.NewObjectType("graft.Pool", map[string]*cel.Type{"name": cel.StringType, "providerConfig": cel.DynType})
	environment, err := expression.NewEnvironment(
		expression.Variable{Name: "version", Type: apiservercel.SemverType},
		expression.Variable{Name: "pool", Object: pool},
		expression.Variable{Name: "annotations", Type: cel.MapType(cel.StringType, cel.StringType)},
		expression.Variable{Name: "spec", Type: cel.DynType},
	)
	if err != nil {
		t.Fatal(err)
	}
	version, _ := expression.ParseVersion("1.34.1")
	known, err := interpreter.NewActivation(map[string]any{"version": version, "annotations": map[string]string{}, "spec": map[string]any{"a": map[string]any{}},
		"pool": pool.Value(expression.Values{})})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`${ version >= "1.34" }`:             `; compare versions with satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`,
		`${ "1.34" != version }`:             `; compare versions with satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`,
		`${ version + 1 }`:                   `+ cannot take (kubernetes.Semver, int)`,
		`${ annotations["x.y/z"] }`:          `there is no x.y/z; read a field that may be missing as [?"x.y/z"].orValue(…)`,
		`${ annotations["x"] == "y" }`:       `there is no x; read a field that may be missing as [?"x"].orValue(…)`,
		`${ spec.a.b }`:                      `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ spec.c.d }`:                      `there is no c; read a field that may be missing as .?c.?d.orValue(…)`,
		`${ spec.a.b } of it`:                `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ spec.a.b == 2 }`:                 `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ spec.a.b * spec.a.b }`:           `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ 1.5 < spec.a["b"] }`:             `there is no b; read a field that may be missing as [?"b"].orValue(…)`,
		`${ pool.providerConfig.zone }`:      `there is no providerConfig; read a field that may be missing as .?providerConfig.?zone.orValue(…)`,
		`${ pool.name }`:                     `there is no name`,
		`${ !spec.a.b }`:                     `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ (spec.a.b ? 1 : 2) > 0 }`:        `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ (true ? spec.a.b : 2) > 1 }`:     `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ spec.a.b.startsWith("x") }`:      `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ spec.a.b.all(x, x > 1) }`:        `there is no b; read a field that may be missing as .?b.orValue(…)`,
		`${ annotations[string(spec.a.b)] }`: `there is no b; read a field that may be missing as .?b.orValue(…)`,
	} {
		template, err := environment.Template(text, source.Position{})
		if err == nil {
			_, err = template.Evaluate(context.Background(), known)
		}
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// TestHintOfCondition checks that the suggestion for a missing condition is a condition, and for a missing number a
// number.
func TestHintOfCondition(t *testing.T) {
	environment, err := expression.NewEnvironment(expression.Variable{Name: "spec", Type: cel.DynType})
	if err != nil {
		t.Fatal(err)
	}
	known, err := interpreter.NewActivation(map[string]any{"spec": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	condition, err := environment.Condition(`${ spec.b }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = condition.Bool(context.Background(), known); err == nil || !strings.HasSuffix(err.Error(), ".?b.orValue(…)") {
		t.Error(err)
	}
}
