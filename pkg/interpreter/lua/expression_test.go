// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// objects returns the objects of testdata/objects.yaml.
func objects(t testing.TB) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	if err := yaml.UnmarshalStrict(file(t, "testdata/objects.yaml"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reflecting is a profile that reflects the value of an expression.
func reflecting(t testing.TB, expression string) []*profile.Interpreter {
	t.Helper()
	quoted, err := json.Marshal("${ " + expression + " }")
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: a}\n" +
		"kinds: [{apiVersion: acme.com/v1, kind: Queue, status: [{set: {x: " + string(quoted) + "}}]}]\n"
	documents, findings := profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return documents
}

// queue is the kind of the objects that the expressions use.
var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

// TestExpressions compares the expressions of testdata/expressions.txt in Lua and CEL.
func TestExpressions(t *testing.T) {
	all := objects(t)
	for line := range strings.Lines(string(file(t, "testdata/expressions.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			b := newPair(t, reflecting(t, strings.TrimSpace(line)))
			for _, object := range all {
				if diff := difference(t, b, interpreter.Request{Operation: interpreter.Status, Kind: queue, Object: object}); diff != "" {
					t.Errorf("%s\n%s", object, diff)
				}
			}
		})
	}
}

// TestDifferences checks that the differences in testdata/differences.yaml still exist.
func TestDifferences(t *testing.T) {
	var all []struct {
		Why, Expression, Raw string
		Object               json.RawMessage
	}
	if err := yaml.UnmarshalStrict(file(t, "testdata/differences.yaml"), &all); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		t.Run(d.Why, func(t *testing.T) {
			object := d.Object
			if d.Raw != "" {
				object = json.RawMessage(d.Raw)
			}
			b := newPair(t, reflecting(t, d.Expression))
			if difference(t, b, interpreter.Request{Operation: interpreter.Status, Kind: queue, Object: object}) == "" {
				t.Error("is answered alike")
			}
		})
	}
}

// TestComputedStatus checks that a rule for aggregation that reads the status under a computed key sees the original.
func TestComputedStatus(t *testing.T) {
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: a}\n" +
		"kinds: [{apiVersion: acme.com/v1, kind: Queue, aggregate: [{field: status.ready, value: 2}, " +
		"{field: status.before, value: \"${ object[?object.spec.part].?ready.orValue(0) }\"}]}]\n"
	documents, findings := profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	r := interpreter.Request{
		Operation: interpreter.Aggregate, Kind: queue,
		Object: json.RawMessage(`{"metadata":{"name":"a"},"spec":{"part":"status"},"status":{"ready":1}}`),
	}
	if diff := difference(t, newPair(t, documents), r); diff != "" {
		t.Error(diff)
	}
}
