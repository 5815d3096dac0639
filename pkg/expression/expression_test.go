// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"strings"
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
	networking = NewObject("test.Networking", map[string]*cel.Type{"type": cel.StringType, "nodes": cel.StringType, "pods": cel.StringType, "status": cel.DynType})
	worker     = NewObject("test.Worker", map[string]*cel.Type{"name": cel.StringType, "kubernetes": apiservercel.SemverType})
	shoot      = NewObject("test.Shoot", map[string]*cel.Type{
		"name":        cel.StringType,
		"kubernetes":  apiservercel.SemverType,
		"annotations": cel.MapType(cel.StringType, cel.StringType),
		"hibernated":  cel.BoolType,
		"networking":  networking.Type(),
		"workers":     cel.ListType(worker.Type()),
		"spec":        cel.DynType,
	}, networking, worker)
	secrets = NewObject("test.Secrets", map[string]*cel.Type{"token": cel.StringType, "ca.crt": cel.StringType})
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
				"status": Lazy(func() any { return failure("the status cannot be read") }),
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
		{`${ url("https://a.example/b").getHost() }`, `"a.example"`},
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

func TestCompileErrors(t *testing.T) {
	env := testEnvironment(t)
	deep := strings.Repeat("[1,2,3].map(a, any.map(b, any.map(c, any.map(d, ", 1) + "d))))"
	for _, c := range []struct{ name, text, want string }{
		{"unknown field", `${ shoot.nmae }`, `f.yaml:10:26: undefined field 'nmae' (did you mean "name"?)`},
		{"unknown field of an element", `${ shoot.workers.all(w, w.kubernets.minor() > 1) }`, `f.yaml:10:43: undefined field 'kubernets' (did you mean "kubernetes"?)`},
		{"unknown optional field", `${ shoot.?nmae.orValue("") }`, `f.yaml:10:27: undefined field 'nmae' (did you mean "name"?)`},
		{"field of a version", `${ shoot.kubernetes.major }`, `f.yaml:10:37: undefined field 'major'`},
		{"unknown variable", `a ${ 1 } ${ shot.name }`, `f.yaml:10:29: undeclared reference to 'shot' (did you mean "shoot"?)`},
		{"unknown function", `${ shoot.kubernetes.satifies("< 1.34") }`, `f.yaml:10:37: undeclared reference to 'satifies' (did you mean "satisfies"?)`},
		{"bad constraint", `${ shoot.kubernetes.satisfies("< one") }`, `f.yaml:10:47: not a version constraint: "< one"`},
		{"several lines", "x\n  ${ shoot.name\n + shoot.nmae }", `f.yaml:12:26: undefined field 'nmae' (did you mean "name"?)`},
		{"wide characters", `ä€ ${ "ä" + shoot.nmae }`, `f.yaml:10:35: undefined field 'nmae' (did you mean "name"?)`},
		{"reserved", `${ namespace.name }`, `f.yaml:10:20: 'namespace' is reserved by CEL`},
		{"syntax", `${ shoot. }`, `f.yaml:10:27: syntax error: no viable alternative at input '. '`},
		{"no end", `a ${ shoot.name`, `f.yaml:10:19: the expression has no closing brace`},
		{"string without end", `${ "abc }`, `f.yaml:10:20: the string in the expression has no end`},
		{"empty", `${ }`, `f.yaml:10:17: the expression is empty`},
		{"optional", `${ shoot.?networking }`, `f.yaml:10:20: the result may be absent: say what it is then, with .orValue(…)`},
		{"list in a text", `a ${ [1] }`, `f.yaml:10:22: a list(int) cannot stand within a text; use toJSON or toYAML`},
		{"object in a text", `a ${ shoot }`, `f.yaml:10:22: test.Shoot cannot stand within a text`},
		{"types", `${ shoot.name + 1 }`, `f.yaml:10:31: found no matching overload for '_+_' applied to '(string, int)'`},
		{"constant that fails", `${ 1 / 0 }`, `f.yaml:10:22: division by zero`},
		{"constant that cannot be parsed", `${ semver("x") }`, `f.yaml:10:20: semver cannot take the value that it was given`},
		{"bad regular expression", `${ shoot.name.matches("(") }`, "f.yaml:10:39: invalid matches argument"},
		{"cost", `${ ` + deep + ` }`, `f.yaml:10:20: too costly: an estimate of`},
		{"two errors", `${ shot } ${ shoot.nmae }`, "f.yaml:10:20: undeclared reference to 'shot' (did you mean \"shoot\"?)\nf.yaml:10:36: undefined field 'nmae' (did you mean \"name\"?)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := env.Template(c.text, source.Position{File: "f.yaml", Line: 10, Column: 17})
			if err == nil {
				t.Fatal("no error")
			}
			var findings source.Findings
			if !errors.As(err, &findings) {
				t.Errorf("not findings: %T", err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
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

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEvaluationErrors(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct{ name, text, want string }{
		{"missing key", `${ shoot.spec.networking.nope }`, `f:1:26: there is no nope`},
		{"missing key in the middle", `${ shoot.spec.nope.networking.x }`, `f:1:15: there is no nope`},
		{"absent variable with fields", `${ any.x["y"].z }`, `f:1:4: any is not known here`},
		{"missing annotation", `a${ shoot.annotations["x/y"] }`, `f:1:22: there is no x/y`},
		{"absent field", `${ shoot.networking.nodes }`, `f:1:21: there is no nodes`},
		{"field that cannot be read", `${ shoot.networking.status }`, `f:1:21: the status cannot be read`},
		{"object with a field that cannot be read", `${ toJSON(shoot.networking) }`, `f:1:4: toJSON: a value cannot be read`},
		{"absent variable", `${ any }`, `f:1:4: any is not known here`},
		{"null in a text", `a ${ shoot.spec.nested.a[1] }`, `f:1:6: a value of type null_type cannot be written as text`},
		{"conversion keeps secrets", `${ int(secrets.token) }`, `f:1:4: int cannot take the value that it was given`},
		{"key keeps secrets", `${ shoot.annotations[secrets.token] }`, `f:1:21: there is no such key`},
		{"key that stands in the text by chance", `${ {"xhunter2x": "b"}[secrets.token] }`, `f:1:22: there is no such key`},
		{"index keeps secrets", `${ shoot.workers[size(secrets.token) + 70].name }`, `f:1:44: index out of bounds`},
		{"version keeps secrets", `${ secrets.token.satisfies("> 1") }`, `f:1:18: satisfies: not a version`},
		{"quantity keeps secrets", `${ quantity(secrets.token) }`, `f:1:4: quantity cannot take the value that it was given`},
		{"base64", `${ base64.decode(secrets.token + "!") }`, `f:1:11: base64.decode: not base64`},
		{"division", `${ 1 / (size(shoot.name) - 12) }`, `f:1:6: division by zero`},
		{"index", `${ shoot.workers[7].name }`, `f:1:`},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{File: "f", Line: 1, Column: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.String(context.Background(), vars)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error holds a secret")
			}
			var failed *EvaluationError
			if !errors.As(err, &failed) {
				t.Errorf("not an EvaluationError: %T", err)
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

func TestEvaluationStopsWithContext(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	template, err := env.Template(`${ shoot.name.split("").map(a, a) }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := template.Evaluate(ended, vars); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// endingContext ends when it was asked for its error often enough.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLoopStopsWithContext runs over far more items than the cost estimate assumes; without interruption it would take hours.
func TestLoopStopsWithContext(t *testing.T) {
	env := testEnvironment(t)
	template, err := env.Template(`${ any.all(a, any.all(b, a + b >= 0)) }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := cel.NewActivation(map[string]any{"any": make([]int64, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := template.Evaluate(&endingContext{context.Background(), 5}, vars); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestNestedEvaluation evaluates a field by another expression, as variables are.
func TestNestedEvaluation(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	inner, err := env.Template(`${ int(secrets.token) }`, source.Position{File: "inner", Line: 3, Column: 1})
	if err != nil {
		t.Fatal(err)
	}
	variables := NewObject("test.Variables", map[string]*cel.Type{"x": cel.IntType})
	outer, err := env.Extend(Variable{Name: "variables", Object: variables})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ctx   context.Context
		cause error
		want  string
	}{
		"failed":      {context.Background(), nil, "outer:1:14: inner:3:4: int cannot take the value that it was given"},
		"interrupted": {&endingContext{context.Background(), 1}, context.Canceled, "outer:1:4: the evaluation was interrupted: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := outer.Template(`${ variables.x + 1 }`, source.Position{File: "outer", Line: 1, Column: 1})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := cel.NewActivation(map[string]any{"variables": variables.Value(Values{"x": Lazy(func() any {
				value, err := inner.Evaluate(c.ctx, vars)
				if err != nil {
					return err
				}
				return value
			})})})
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Evaluate(c.ctx, bound)
			if errorText(err) != c.want || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestExtend(t *testing.T) {
	env := testEnvironment(t)
	older := NewObject("test.Variables", map[string]*cel.Type{"a": cel.StringType})
	newer := NewObject("test.Variables", map[string]*cel.Type{"a": cel.StringType, "b": cel.StringType})
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
	}{"without": {env, false}, "older": {first, false}, "newer": {second, true}} {
		t.Run(name, func(t *testing.T) {
			_, err := c.env.Template(`${ variables.b + shoot.name }`, source.Position{})
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDeclarationErrors(t *testing.T) {
	unknown := cel.ObjectType("test.Unknown")
	for _, c := range []struct {
		name      string
		variables []Variable
	}{
		{"name", []Variable{{Name: "a.b", Type: cel.StringType}}},
		{"reserved", []Variable{{Name: "namespace", Type: cel.StringType}}},
		{"no type", []Variable{{Name: "a"}}},
		{"undeclared object", []Variable{{Name: "a", Object: NewObject("test.A", map[string]*cel.Type{"b": cel.ListType(unknown)})}}},
		{"two objects of one name", []Variable{
			{Name: "a", Object: NewObject("test.A", nil)},
			{Name: "b", Object: NewObject("test.A", nil)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewEnvironment(c.variables...); err == nil {
				t.Error("no error")
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
