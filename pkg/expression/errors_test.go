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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func TestCompileErrors(t *testing.T) {
	env := testEnvironment(t)
	deep := strings.Repeat("[1,2,3].map(a, any.map(b, any.map(c, any.map(d, ", 1) + "d))))"
	for _, c := range []struct{ name, text, want string }{
		{"suggests a similar field", `${ shoot.nmae }`, `f.yaml:10:26: undefined field 'nmae' (did you mean "name"?)`},
		{"unknown field of an element", `${ shoot.workers.all(w, w.kubernets.minor() > 1) }`, `f.yaml:10:43: undefined field 'kubernets' (did you mean "kubernetes"?)`},
		{"unknown optional field", `${ shoot.?nmae.orValue("") }`, `f.yaml:10:27: undefined field 'nmae' (did you mean "name"?)`},
		{"field of a version", `${ shoot.kubernetes.major }`, `f.yaml:10:37: undefined field 'major'`},
		{"suggests a similar variable", `a ${ 1 } ${ shot.name }`, `f.yaml:10:29: undeclared reference to 'shot' (did you mean "shoot"?)`},
		{"suggests a similar function", `${ shoot.kubernetes.satifies("< 1.34") }`, `f.yaml:10:37: undeclared reference to 'satifies' (did you mean "satisfies"?)`},
		{"rejects an invalid version constraint", `${ shoot.kubernetes.satisfies("< one") }`, `f.yaml:10:47: not a version constraint: "< one"`},
		{"names line and column in a text of two lines", "x\n  ${ shoot.name\n + shoot.nmae }", `f.yaml:12:26: undefined field 'nmae' (did you mean "name"?)`},
		{"counts columns in characters", `ä€ ${ "ä" + shoot.nmae }`, `f.yaml:10:35: undefined field 'nmae' (did you mean "name"?)`},
		{"rejects a name that CEL reserves", `${ namespace.name }`, `f.yaml:10:20: reserved identifier: namespace`},
		{"rejects an incomplete expression", `${ shoot. }`, `f.yaml:10:27: syntax error: no viable alternative at input '. '`},
		{"rejects an expression without a closing brace", `a ${ shoot.name`, `f.yaml:10:19: the expression has no closing brace`},
		{"string without end", `${ "abc }`, `f.yaml:10:20: the string in the expression has no end`},
		{"rejects an empty expression", `${ }`, `f.yaml:10:17: the expression is empty`},
		{"rejects an optional result without a default", `${ shoot.?networking }`, `f.yaml:10:20: the result may be absent: give a default with .orValue(…)`},
		{"list in a text", `a ${ [1] }`, `f.yaml:10:22: a list(int) cannot stand within a text; use toJSON or toYAML`},
		{"object in a text", `a ${ shoot }`, `f.yaml:10:22: test.Shoot cannot stand within a text`},
		{"rejects operands of different types", `${ shoot.name + 1 }`, `f.yaml:10:31: + cannot take (string, int)`},
		{"constant that fails", `${ 1 / 0 }`, `f.yaml:10:22: division by zero`},
		{"constant that cannot be parsed", `${ semver("x") }`, `f.yaml:10:20: semver cannot take the value that it was given`},
		{"bad regular expression", `${ shoot.name.matches("(") }`, "f.yaml:10:39: invalid matches argument"},
		{"rejects an expression that costs too much", `${ ` + deep + ` }`, `f.yaml:10:20: too costly: 3 loops inside of each other, at most 2 are allowed`},
		{"reports the errors of two expressions", `${ shot } ${ shoot.nmae }`, "f.yaml:10:20: undeclared reference to 'shot' (did you mean \"shoot\"?)\nf.yaml:10:36: undefined field 'nmae' (did you mean \"name\"?)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := env.Template(c.text, source.Position{File: "f.yaml", Line: 10, Column: 17})
			if err == nil {
				t.Fatal("no error, want one")
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

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEvaluationErrors(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	for _, c := range []struct{ name, text, want string }{
		{"names a key that does not exist", `${ shoot.spec.networking.nope }`, `f:1:26: there is no nope`},
		{"missing key in the middle", `${ shoot.spec.nope.networking.x }`, `f:1:15: there is no nope`},
		{"absent variable with fields", `${ any.x["y"].z }`, `f:1:4: any is not known here`},
		{"names an annotation that does not exist", `a${ shoot.annotations["x/y"] }`, `f:1:22: there is no x/y`},
		{"names a field without a value", `${ shoot.networking.nodes }`, `f:1:21: there is no nodes`},
		{"field that cannot be read", `${ shoot.networking.status }`, `f:1:21: the status cannot be read`},
		{"object with a field that cannot be read", `${ toJSON(shoot.networking) }`, `f:1:4: toJSON: a value cannot be read`},
		{"names a variable without a value", `${ any }`, `f:1:4: any is not known here`},
		{"null in a text", `a ${ shoot.spec.nested.a[1] }`, `f:1:6: a value of type null_type cannot be written as text`},
		{"conversion keeps secrets", `${ int(secrets.token) }`, `f:1:4: int cannot take the value that it was given`},
		{"key keeps secrets", `${ shoot.annotations[secrets.token] }`, `f:1:21: there is no such key`},
		{"key that stands in the text by chance", `${ {"xhunter2x": "b"}[secrets.token] }`, `f:1:22: there is no such key`},
		{"index keeps secrets", `${ shoot.workers[size(secrets.token) + 70].name }`, `f:1:44: index out of bounds`},
		{"version keeps secrets", `${ secrets.token.satisfies("> 1") }`, `f:1:18: satisfies: not a version`},
		{"quantity keeps secrets", `${ quantity(secrets.token) }`, `f:1:4: quantity cannot take the value that it was given`},
		{"reports text that is not base64", `${ base64.decode(secrets.token + "!") }`, `f:1:11: base64.decode: not base64`},
		{"reports a division by zero", `${ 1 / (size(shoot.name) - 12) }`, `f:1:6: division by zero`},
		{"reports an index beyond the list", `${ shoot.workers[7].name }`, `f:1:`},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, err := env.Template(c.text, source.Position{File: "f", Line: 1, Column: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.String(context.Background(), vars)
			if err == nil {
				t.Fatal("no error, want one")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error contains a secret")
			}
			var failed *EvaluationError
			if !errors.As(err, &failed) {
				t.Errorf("not an EvaluationError: %T", err)
			}
		})
	}
}

func TestDeclarationErrors(t *testing.T) {
	for _, c := range []struct {
		name      string
		variables []Variable
	}{
		{"rejects a name with a dot", []Variable{{Name: "a.b", Type: cel.StringType}}},
		{"rejects a name that CEL reserves", []Variable{{Name: "namespace", Type: cel.StringType}}},
		{"rejects a variable without a type", []Variable{{Name: "a"}}},
		{"two objects of one name", []Variable{
			{Name: "a", Object: NewObjectType("test.A", nil)},
			{Name: "b", Object: NewObjectType("test.A", nil)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewEnvironment(c.variables...); err == nil {
				t.Error("no error, want one")
			}
		})
	}
}
