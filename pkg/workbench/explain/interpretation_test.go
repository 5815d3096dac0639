// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// asking is a program with the questions that are explained.
type asking struct {
	*rule.Program
	documents []*profile.Interpreter
}

func compile(t *testing.T, documents []*profile.Interpreter) asking {
	t.Helper()
	program, findings := rule.Compile(documents)
	if err := findings.Errors().Err(); err != nil {
		t.Fatal(err)
	}
	return asking{program, documents}
}

// explained writes explanations in all formats.
func (a asking) explained(t *testing.T, r interpreter.Request) (text, all string) {
	t.Helper()
	explanation, err := explain.Interpret(context.Background(), a.Program, a.documents, r)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	style := explain.Style{Width: 80, File: filepath.Base}
	for _, format := range explain.Formats() {
		if err := style.Write(&out, format, explanation); err != nil {
			t.Fatal(err)
		}
		if format == "text" {
			text = out.String()
		}
	}
	return text, out.String()
}

const (
	queue  = `{"apiVersion":"acme.com/v1","kind":"Queue","metadata":{"name":"q"},"spec":{"paused":false,"replicas":2,"parts":[{"name":"a","count":1},{"name":"b","count":0}]},"status":{"ready":1}}`
	worker = `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Worker","metadata":{"name":"w","namespace":"n","generation":2},"spec":{},` +
		`"status":{"observedGeneration":2,"lastOperation":{"state":"Succeeded"}}}`
)

// TestInterpret holds explanations as text of 80 columns.
func TestInterpret(t *testing.T) {
	acme, findings := profile.LoadInterpreters(golden.Read(t, "../../interpreter/rule/testdata/traces/profile.yaml"))
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	embedded, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	own, all := compile(t, acme), compile(t, append(acme[:1:1], embedded...))
	var out strings.Builder
	ask := func(a asking, name string, r interpreter.Request) {
		text, _ := a.explained(t, r)
		fmt.Fprintf(&out, "$ %s\n%s\n", name, text)
	}
	kind := interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}
	for _, o := range []interpreter.Operation{interpreter.Replicas, interpreter.Components, interpreter.Health, interpreter.Status, interpreter.Prune} {
		ask(own, string(o), interpreter.Request{Operation: o, Kind: kind, Object: []byte(queue)})
	}
	ask(own, "revised", interpreter.Request{Operation: interpreter.Revise, Kind: kind, Object: []byte(queue), Replicas: 3})
	ask(own, "retained", interpreter.Request{
		Operation: interpreter.Retain, Kind: kind, Object: []byte(queue),
		Observed: []byte(`{"spec":{"replicas":5,"parts":[{"name":"a","count":4,"image":"registry.example.com/a"}]}}`),
	})
	ask(own, "aggregated", interpreter.Request{
		Operation: interpreter.Aggregate, Kind: kind, Object: []byte(queue), Members: []interpreter.Member{
			{Cluster: "one", Status: []byte(`{"ready":1}`)}, {Cluster: "two", Status: []byte(`{"ready":2}`)},
		},
	})
	ask(own, "a whole status", interpreter.Request{
		Operation: interpreter.Status, Kind: kind,
		Object: []byte(`{"spec":{"paused":true},"status":{"whole":"a status that is shown in several lines","ready":1,"parts":["a","b"]}}`),
	})
	ask(own, "refused", interpreter.Request{Operation: interpreter.Revise, Kind: kind, Object: []byte(queue), Replicas: 10})
	ask(own, "nothing to be said", interpreter.Request{Operation: interpreter.Dependencies, Kind: kind, Object: []byte(`{"spec":{"parts":[]}}`)})
	ask(own, "a rule that fails", interpreter.Request{Operation: interpreter.Health, Kind: kind, Object: []byte(`{"spec":{}}`)})
	ask(own, "no rules", interpreter.Request{Operation: interpreter.Health, Kind: interpreter.Kind{Version: "v1", Kind: "Pod"}, Object: []byte(`{}`)})
	ask(all, "of Gardener", interpreter.Request{
		Operation: interpreter.Health, Kind: interpreter.Kind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Worker"}, Object: []byte(worker),
	})
	golden.Compare(t, "testdata/interpretations.txt", out.String())
	readable(t, out.String())
}

// TestInterpretSecret holds that nothing of a Secret is told but numbers, and whether conditions hold.
func TestInterpretSecret(t *testing.T) {
	documents, findings := profile.LoadInterpreters(source.File{Name: "profile.yaml", Data: []byte(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: InterpreterProfile
metadata: {name: acme}
kinds:
- apiVersion: v1
  kind: Secret
  health: [{healthy: "${ object.data.a.startsWith('c2') }"}]
  status: [{set: {a: "${ object.data.a }"}}]
  revise: [{set: {data.b: "${ object.data.a }"}, remove: [data.a]}]
  retain: [{items: {path: data.list, key: name}, fields: [a]}]
  components: [{forEach: "${ [object.data.a] }", when: "${ item == object.data.a }", name: "${ item }", count: 1}]
`)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	a := compile(t, documents)
	for _, o := range []interpreter.Operation{
		interpreter.Health, interpreter.Status, interpreter.Components, interpreter.Revise, interpreter.Retain,
	} {
		_, all := a.explained(t, interpreter.Request{
			Operation: o, Kind: interpreter.Kind{Version: "v1", Kind: "Secret"}, Object: []byte(`{"metadata":{"name":"s"},"data":{"a":"c2VjcmV0","list":[{"name":"c2VjcmV0"}]}}`),
			Observed: []byte(`{"data":{"list":[{"name":"c2VjcmV0","a":"c2VjcmV0"}]}}`),
		})
		if strings.Contains(all, "c2VjcmV0") {
			t.Errorf("%s tells it:\n%s", o, all)
		}
		if !strings.Contains(all, "from Secret s") {
			t.Errorf("%s does not say that it hides anything:\n%s", o, all)
		}
	}
}
