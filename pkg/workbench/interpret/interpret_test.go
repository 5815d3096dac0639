// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpret_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// answering returns the given answer of each operation, and does not know any other operation.
type answering map[interpreter.Operation]any

func (a answering) Interpret(_ context.Context, r interpreter.Request) (interpreter.Response, error) {
	switch one := a[r.Operation].(type) {
	case interpreter.Response:
		return one, nil
	case error:
		return interpreter.Response{}, one
	}
	return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: "not known"}
}

// ask asks all questions about an object, and returns the text output.
func ask(t *testing.T, a answering, named ...interpreter.Operation) string {
	t.Helper()
	three := int32(3)
	object, err := manifest.New([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":1}}`), source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := interpret.Run(t.Context(), object, interpret.Options{
		By: a, Asks: func(interpreter.Kind, []byte, interpreter.Operation) bool { return true }, Operations: named,
		Observed: []manifest.Object{object}, Replicas: &three, Members: []interpreter.Member{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := interpret.Write(&out, render.Style{}, []interpret.Result{result}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWrite checks the output of rare answers.
func TestWrite(t *testing.T) {
	one := int32(1)
	for _, c := range []struct {
		about string
		given answering
		named []interpreter.Operation
		want  string
	}{
		{"a webhook that knows one operation only", answering{interpreter.Replicas: interpreter.Response{Replicas: &one}}, nil,
			"Pod p\n  replicas      1\n"},
		{"a webhook that knows no operation", answering{}, []interpreter.Operation{interpreter.Health}, "Pod p\n  health        no answer (404): not known\n"},
		{"a webhook that does not answer", answering{interpreter.Health: errors.New("no route")}, []interpreter.Operation{interpreter.Health},
			"Pod p\n  health        no answer: no route\n"},
		{"a patch that does not fit", answering{interpreter.Prune: interpreter.Response{Patch: json.RawMessage(`[{"op":"remove","path":"/b"}]`)}},
			[]interpreter.Operation{interpreter.Prune}, "Pod p\n  prune         no answer: applying the patch: *\n"},
		{"a patch that cannot be read", answering{interpreter.Prune: interpreter.Response{Patch: json.RawMessage(`{}`)}},
			[]interpreter.Operation{interpreter.Prune}, "Pod p\n  prune         no answer: reading the patch: *\n"},
		{"a patch of nothing", answering{interpreter.Retain: interpreter.Response{Patch: json.RawMessage(`[]`)}},
			[]interpreter.Operation{interpreter.Retain}, "Pod p\n  retain        0 changes\n"},
		{"dependencies by labels", answering{interpreter.Dependencies: interpreter.Response{Dependencies: []interpreter.Dependency{
			{APIVersion: "a/v1", Kind: "B", LabelSelector: json.RawMessage(`{"matchLabels":{"c":"d"}}`)}}}}, []interpreter.Operation{interpreter.Dependencies},
			"Pod p\n  dependencies  1 object\n      - B (a/v1) with labels {\"matchLabels\":{\"c\":\"d\"}}\n"},
		{"components", answering{interpreter.Components: interpreter.Response{Components: []interpreter.Component{{Name: "a", Replicas: 2}}}},
			[]interpreter.Operation{interpreter.Components}, "Pod p\n  components    1 component\n      - name: a\n        replicas: 2\n"},
		{"an aggregation", answering{interpreter.Aggregate: interpreter.Response{
			Patch: json.RawMessage(`[{"op":"add","path":"/status","value":{"ready":1}}]`), Because: []string{"x"}}}, []interpreter.Operation{interpreter.Aggregate},
			"Pod p\n  aggregate     1 change\n      the object\n        + status:\n        +   ready: 1\n      because of x\n"},
	} {
		t.Run(c.about, func(t *testing.T) {
			got := ask(t, c.given, c.named...)
			if begin, open := strings.CutSuffix(c.want, "*\n"); open && strings.HasPrefix(got, begin) {
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCanceled checks that no further question is asked after the end of the context.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	object := manifest.Object{APIVersion: "v1", Kind: "Pod", Name: "p", JSON: []byte(`{}`)}
	result, err := interpret.Run(ctx, object, interpret.Options{By: answering{}, Operations: interpreter.Operations()[:2]})
	if !errors.Is(err, context.Canceled) || len(result.Answers) > 1 {
		t.Errorf("got %v, %v", result, err)
	}
}

// TestParseMembers checks the parsing of members.
func TestParseMembers(t *testing.T) {
	for _, c := range []struct {
		text string
		want []interpreter.Member
		err  string
	}{
		{"b: {status: {ready: 1}, health: Unhealthy}\na: {applied: false, message: no quota}\nc:\nd: {status: null}\n", []interpreter.Member{
			{Cluster: "a", Message: "no quota"}, {Cluster: "b", Applied: true, Status: json.RawMessage(`{"ready":1}`), Health: "Unhealthy"},
			{Cluster: "c", Applied: true}, {Cluster: "d", Applied: true},
		}, ""},
		{"{}", []interpreter.Member{}, ""},
		{"- a", nil, "members.yaml:1:1: must be a mapping of clusters"},
		{"a: {state: x}", nil, `members.yaml:1:5: a: unknown field "state" (did you mean "status"?)`},
		{"a: {status: 1}", nil, "members.yaml:1:13: a.status: must be a mapping"},
		{"a: {health: Fine}", nil, "members.yaml:1:13: a.health: must be one of Healthy, Unhealthy, Unknown"},
		{`"": {}`, nil, "a cluster must have a name"},
		{"a: 1", nil, "members.yaml:1:4: a: must be"},
		{"a: {applied: maybe}\nb: [", nil, "members.yaml:"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := interpret.ParseMembers(source.File{Name: "members.yaml", Data: []byte(c.text)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzParseMembers checks that parsed members have the values that questions need.
func FuzzParseMembers(f *testing.F) {
	for _, seed := range []string{"a: {status: {b: 1}, applied: false, message: x, health: Healthy}", "a:", "- a", "{", `"": {}`, "a: {status: []}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := interpret.ParseMembers(source.File{Name: "members.yaml", Data: data})
		for _, m := range members {
			if err != nil || m.Cluster == "" || len(m.Status) > 0 && !json.Valid(m.Status) {
				t.Fatalf("%q: %v, %v", data, m, err)
			}
		}
	})
}
