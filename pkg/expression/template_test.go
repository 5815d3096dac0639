// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func TestTemplateJSON(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct{ text, want string }{
		{`plain`, `"plain"`},
		{``, `""`},
		{`$`, `"$"`},
		{`a $ b $$ c`, `"a $ b $$ c"`},
		{`$${HOME}`, `"${HOME}"`},
		{`eu-${ shoot.name }-1`, `"eu-crazy-botany-1"`},
		{`${ shoot.name }`, `"crazy-botany"`},
		{`${ shoot.name} `, `"crazy-botany "`},
		{`${ "}" + '${' + r"\}" + """}""" }`, `"}${\\}}"`},
		{`${ {"a": {"b": 1}} }`, `{"a":{"b":1}}`},
		{"${ 1 + // a comment }\n 2 }", `3`},
		{`${ {"b": 1, "a": [true, null, 1.5, 2.0, 3u, "x", b"\xff"]} }`, `{"a":[true,null,1.5,2,3,"x","/w=="],"b":1}`},
		{`${ {1: "x"} }`, `{"1":"x"}`},
		{`${ "<&>\n\u2028" }`, `"<&>\n\u2028"`},
		{`${ shoot.kubernetes }`, `"1.33.4-gke.1"`},
		{`${ shoot.kubernetes.satisfies("< 1.34") && "enable-vac" in shoot.annotations }`, `true`},
		{`${ shoot.kubernetes.satisfies(">= 1.33.4") }`, `true`},
		{`${ shoot.kubernetes.satisfies("~1.32 || 1.33.x") }`, `true`},
		{`${ shoot.kubernetes.satisfies("> " + "1.33.4") }`, `false`},
		{`${ semver("1.34.0-rc.1").satisfies("< 1.34") }`, `false`},
		{`${ "v1.34.2+build".satisfies(">= 1.34, < 1.35") }`, `true`},
		{`${ shoot.kubernetes.minor() }`, `33`},
		{`${ shoot.spec.networking.?type.orValue("none") }`, `"none"`},
		{`${ shoot.spec.networking.pods }`, `"10.0.0.0/16"`},
		{`${ shoot.?networking.?type.orValue("") }`, `"calico"`},
		{`${ shoot.?networking.?nodes.orValue("absent") }`, `"absent"`},
		{`${ has(shoot.networking.nodes) }`, `false`},
		{`${ has(shoot.networking.type) && has(shoot.spec.whole) && !has(shoot.spec.nope) }`, `true`},
		{`${ shoot.spec.whole }`, `3`},
		{`${ shoot.spec.big }`, `9007199254740993`},
		{`${ shoot.spec.half }`, `0.5`},
		{`${ shoot.spec.nested }`, `{"a":[1,null,true],"b":1}`},
		{`${ shoot.networking.pods }`, `"default"`},
		{`${ has(shoot.networking.pods) }`, `false`},
		{`${ shoot.networking.?pods.orValue("own") }`, `"own"`},
		{`${ shoot.workers[0] }`, `{"kubernetes":"1.32.0","name":"a"}`},
		{`${ shoot.workers.map(w, w.name) }`, `["a","b"]`},
		{`${ shoot.workers.filter(w, w.kubernetes.satisfies("< 1.33")) }`, `[{"kubernetes":"1.32.0","name":"a"}]`},
		{`${ dyn(shoot).name }`, `"crazy-botany"`},
		{"${ secrets.`ca.crt` }", `"PEM"`},
		{`${ cidr("10.0.0.0/8").containsIP("10.1.2.3") }`, `true`},
		{`${ cidr("10.0.0.0/8") }`, `"10.0.0.0/8"`},
		{`${ ip("fe80::1") }`, `"fe80::1"`},
		{`${ quantity("25Gi") }`, `"25Gi"`},
		{`${ quantity("1Gi").add(quantity("1Mi")) }`, `"1025Mi"`},
		{`${ duration("90m") }`, `"5400s"`},
		{`${ timestamp("2026-01-02T03:04:05.5Z") }`, `"2026-01-02T03:04:05.5Z"`},
		{`${ base64.encode("hello") + base64.encode(b"\x00") }`, `"aGVsbG8=AA=="`},
		{`${ string(base64.decode("aGVsbG8=")) }`, `"hello"`},
		{`${ sha256("abc") }`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{`${ toJSON({"b": shoot.spec.big, "a": "<"}) }`, `"{\"a\":\"<\",\"b\":9007199254740993}"`},
		{`${ toYAML({"b": 1, "a": ["x", true]}) }`, `"a:\n- x\n- true\nb: 1\n"`},
		{`${ quote("a\"b\n") }`, `"\"a\\\"b\\n\""`},
		{`${ "a,b".split(",").map(x, x.upperAscii()) }`, `["A","B"]`},
		{`${ {"a": 1}.transformList(k, v, k) }`, `["a"]`},
		{`${ sets.contains([1, 2], [2]) }`, `true`},
	} {
		t.Run(c.text, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.JSON(context.Background(), vars)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTemplateString(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct{ text, want string }{
		{`x ${ 1 } ${ 2u } ${ true } ${ 1.5 } ${ shoot.spec.whole } ${ shoot.kubernetes } ${ quantity("1Gi") } ${ duration("1s") }`, `x 1 2 true 1.5 3 1.33.4-gke.1 1Gi 1s`},
		{`${ 1 }`, `1`},
		{`${ shoot.spec.big }`, `9007199254740993`},
		{`text`, `text`},
	} {
		t.Run(c.text, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.String(context.Background(), vars)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	env := testEnvironment(t)
	for _, c := range []struct {
		text     string
		want     []string
		constant bool
	}{
		{"plain", nil, true},
		{`${ 1 + 2 } x`, nil, true},
		{`${ [1, 2].map(shoot, shoot + 1) }`, nil, true},
		{`${ shoot.kubernetes.satisfies("< 1.34") } ${ shoot.name }`, []string{"shoot.kubernetes", "shoot.name"}, false},
		{`${ shoot.spec.networking.?type.orValue("") }`, []string{"shoot.spec.networking.type"}, false},
		{`${ has(shoot.networking.nodes) || "x" in shoot.annotations }`, []string{"shoot.annotations", "shoot.networking.nodes"}, false},
		{`${ shoot.annotations["a/b"] + shoot.spec["x"].y }`, []string{"shoot.annotations", "shoot.spec.x.y"}, false},
		{`${ shoot.workers.all(w, w.name == any.x) }`, []string{"any.x", "shoot.workers"}, false},
		{`${ {"a": shoot.name}.a }`, []string{"shoot.name"}, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, template.References()); diff != "" {
				t.Error(diff)
			}
			if template.Constant() != c.constant {
				t.Errorf("constant: got %v, want %v", template.Constant(), c.constant)
			}
		})
	}
}

func TestType(t *testing.T) {
	env := testEnvironment(t)
	for _, c := range []struct {
		text string
		want *cel.Type
	}{
		{`x`, cel.StringType},
		{`x ${ 1 }`, cel.StringType},
		{`${ 1 }`, cel.IntType},
		{`${ 1 } `, cel.StringType},
		{`${ shoot.annotations }`, cel.MapType(cel.StringType, cel.StringType)},
		{`${ shoot.kubernetes }`, apiservercel.SemverType},
	} {
		t.Run(c.text, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			if !template.Type().IsExactType(c.want) {
				t.Errorf("got %s, want %s", template.Type(), c.want)
			}
		})
	}
}
