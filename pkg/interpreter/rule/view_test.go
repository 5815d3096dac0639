// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"
	celinterpreter "github.com/google/cel-go/interpreter"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestViews checks that expressions have the same values in views and in decoded objects.
func TestViews(t *testing.T) {
	const raw = `{"a":{"b":[1,2.5,"x",null,true,{"c":"d"}],"e":{},"n":null},"big":123456789012345678901234567890,"list":[],"k":[{"n":"x"},{"n":"y"}]}`
	env, err := expression.NewEnvironment(expression.Variable{Name: "object", Type: cel.DynType})
	if err != nil {
		t.Fatal(err)
	}
	read, err := document.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	view := map[string]any{"object": valueOf(read.Original())}
	var decoded any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(raw), &decoded); err != nil {
		t.Fatal(err)
	}
	whole := map[string]any{"object": expression.Value(decoded)}
	for _, text := range []string{
		`object`, `object.a.b`, `object.a.b[1]`, `object.a.b[9]`, `object.a.b["x"]`, `object.a.b[5].c`, `object["a"]["e"]`, `object[1]`, `object.big`,
		`object.none`, `object.?none.orValue(1)`, `object.?a.?n.orValue(1)`, `has(object.a.n)`, `has(object.a.x)`, `"a" in object`, `1 in object`,
		`1 in object.a.b`, `"z" in object.a.b`, `size(object)`, `size(object.a.b)`, `object.a == object.a`, `object.list == []`, `object.a.e == {}`,
		`{"c": "d"} == object.a.b[5]`, `object.k.map(i, i.n)`, `object.k.filter(i, i.n == "x")`, `object.k.exists(i, i.n == "y")`,
		`object.map(key, key).size()`, `object.k + [1]`, `[1] + object.k`, `type(object)`, `type(object.k) == list`, `object.a.transformMap(k, v, type(v) == list)`,
		`object.k.transformList(i, v, v.n)`, `toJSON(object.a)`, `optional.ofNonZeroValue(object.list).hasValue()`,
		`optional.ofNonZeroValue(object.a).hasValue()`, `object.k.all(i, v, v.n != "" && i < 2)`, `object.k.map(i, i.n).join("-")`, `dyn(object.k) == 1`,
		`object.a.b.indexOf(true)`, `object.k.map(i, i.n).sort()`, `object.a.b.slice(0, 2)`, `object.list.sum()`, `object.k[?5].hasValue()`,
	} {
		template, err := env.Template("${ "+text+" }", source.Position{Line: 1, Column: 1})
		if err != nil {
			continue // which functions there are is not the matter
		}
		if got, want := result(t, template, view), result(t, template, whole); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func result(t *testing.T, template *expression.Template, values map[string]any) string {
	t.Helper()
	vars, err := celinterpreter.NewActivation(values)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := template.JSON(context.Background(), vars)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(raw)
}
