// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var (
	networking = NewObjectType("test.Networking", map[string]*cel.Type{"type": cel.StringType, "nodes": cel.StringType, "pods": cel.StringType, "status": cel.DynType})
	worker     = NewObjectType("test.Worker", map[string]*cel.Type{"name": cel.StringType, "kubernetes": apiservercel.SemverType})
	shoot      = NewObjectType("test.Shoot", map[string]*cel.Type{
		"name":        cel.StringType,
		"kubernetes":  apiservercel.SemverType,
		"annotations": cel.MapType(cel.StringType, cel.StringType),
		"hibernated":  cel.BoolType,
		"networking":  networking.Type(),
		"workers":     cel.ListType(worker.Type()),
		"spec":        cel.DynType,
	}, networking, worker)
	secrets = NewObjectType("test.Secrets", map[string]*cel.Type{"token": cel.StringType, "ca.crt": cel.StringType})
)

func testVariables() []Variable {
	return []Variable{{Name: "shoot", Object: shoot}, {Name: "secrets", Object: secrets}, {Name: "any", Type: cel.DynType}}
}

func testEnvironment(t testing.TB) *Environment {
	t.Helper()
	env, err := NewEnvironment(testVariables()...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func testActivation(t testing.TB) interpreter.Activation {
	t.Helper()
	spec, err := ParseJSON([]byte(`{"networking":{"pods":"10.0.0.0/16"},"whole":3.0,"big":9007199254740993,"half":0.5,"nested":{"b":1,"a":[1,null,true]}}`))
	if err != nil {
		t.Fatal(err)
	}
	version := func(text string) apiservercel.Semver {
		v, err := ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	vars, err := cel.NewActivation(map[string]any{
		"shoot": shoot.Value(Values{
			"name":        types.String("crazy-botany"),
			"kubernetes":  version("1.33.4-gke.1"),
			"annotations": Value(map[string]string{"enable-vac": "true"}),
			"hibernated":  types.False,
			"networking": networking.Value(Values{
				"type":   types.String("calico"),
				"pods":   Unset{types.String("default")},
				"status": Lazy(func() any { return safeError("the status cannot be read") }),
			}),
			"workers": Value([]ref.Val{
				worker.Value(Values{"name": types.String("a"), "kubernetes": version("1.32.0")}),
				worker.Value(Values{"name": types.String("b"), "kubernetes": version("1.33.4")}),
			}),
			"spec": spec,
		}),
		"secrets": secrets.Value(Values{"token": types.String("hunter2"), "ca.crt": types.String("PEM")}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}

func TestCondition(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct {
		text string
		want bool
		err  string
	}{
		{text: `${ shoot.hibernated }`},
		{text: `${ !shoot.hibernated }`, want: true},
		{text: "${ true }\n", want: true},
		{text: `${ shoot.spec.?hibernation.?enabled.orValue(true) }`, want: true},
		{text: `${ shoot.spec.whole }`, err: ":1:4: a condition must be bool, is double"},
		{text: `${ shoot.name }`, err: ":1:4: a condition must be bool, is string"},
		{text: `shoot.hibernated`, err: ":1:1: a condition is one expression in braces, such as ${ shoot.hibernated }"},
		{text: `${ true } ${ true }`, err: ":1:1: a condition is one expression in braces, such as ${ shoot.hibernated }"},
		{text: ``, err: ":1:1: a condition is one expression in braces, such as ${ shoot.hibernated }"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := condition(env, c.text, vars)
			if message := errorText(err); message != c.err || got != c.want {
				t.Errorf("got %v, %q; want %v, %q", got, message, c.want, c.err)
			}
		})
	}
}

func condition(env *Environment, text string, vars interpreter.Activation) (bool, error) {
	x, err := env.Condition(text, source.Position{})
	if err != nil {
		return false, err
	}
	return x.Bool(context.Background(), vars)
}

func TestExtend(t *testing.T) {
	env := testEnvironment(t)
	older := NewObjectType("test.Variables", map[string]*cel.Type{"a": cel.StringType})
	newer := NewObjectType("test.Variables", map[string]*cel.Type{"a": cel.StringType, "b": cel.StringType})
	first, err := env.Extend(Variable{Name: "variables", Object: older})
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Extend(Variable{Name: "variables", Object: newer})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env *Environment
		ok  bool
	}{"environment without variables": {env, false}, "environment before the second variable": {first, false}, "environment with both variables": {second, true}} {
		t.Run(name, func(t *testing.T) {
			_, err := c.env.Template(`${ variables.b + shoot.name }`, source.Position{})
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAt(t *testing.T) {
	nodes, findings := source.Parse(source.File{Name: "f", Data: []byte("a: x\nb: \"x\"\nc: 'x'\nd: |\n  x\n")})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	got := map[string]string{}
	for _, field := range nodes[0].Fields() {
		got[field.Key.Value] = At(field.Value).String()
	}
	want := map[string]string{"a": "f:1:4", "b": "f:2:5", "c": "f:3:5", "d": "f:5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
