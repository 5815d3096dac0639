// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// wrong are values of wrong types and forms.
var wrong = []string{
	`null`, `-1`, `0`, `1.5`, `2147483648`, `9223372036854775808`, `1e308`, `1e999`, `true`, `"text"`, `""`, `[]`, `[null]`, `[{}]`, `{}`, `{"a":{"b":1}}`,
}

// accept checks that Karmada's client accepts the answer, and that a failure has a reason and no answer.
func accept(t testing.TB, r interpreter.Request, got interpreter.Response, err error) {
	t.Helper()
	if err != nil {
		var failure *interpreter.Failure
		if !errors.As(err, &failure) || failure.Message == "" || failure.Code != interpreter.CodeUnfit && failure.Code != interpreter.CodeUnknown {
			t.Errorf("%s of %s: the error is %#v", r.Operation, r.Object, err)
		}
		if got.Patch != nil || got.Status != nil || got.Replicas != nil {
			t.Errorf("%s of %s fails, and answers %+v", r.Operation, r.Object, got)
		}
		return
	}
	missing := map[interpreter.Operation]bool{
		interpreter.Replicas: got.Replicas == nil || *got.Replicas < 0, interpreter.Components: got.Components == nil,
		interpreter.Status: !json.Valid(got.Status), interpreter.Health: got.Healthy == nil, interpreter.Dependencies: got.Dependencies == nil,
	}
	if missing[r.Operation] {
		t.Errorf("%s of %s: the answer is empty", r.Operation, r.Object)
	}
	for _, c := range got.Components {
		if c.Name == "" || utf8.RuneCountInString(c.Name) > 32 || c.Replicas < 0 {
			t.Errorf("%s: the component is %+v", r.Object, c)
		}
	}
	for _, d := range got.Dependencies {
		if d.APIVersion == "" || d.Kind == "" || (d.Name == "") == (len(d.LabelSelector) == 0) {
			t.Errorf("%s: the dependency is %+v", r.Object, d)
		}
	}
	if got.Patch == nil {
		return
	}
	patch, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil || len(patch) == 0 {
		t.Errorf("%s of %s: the patch %s cannot be read: %v", r.Operation, r.Object, got.Patch, err)
		return
	}
	if _, err := patch.Apply(r.Object); err != nil {
		t.Errorf("%s of %s: the patch %s cannot be applied: %v", r.Operation, r.Object, got.Patch, err)
	}
}

// ask asks twice, and checks that the answers are the same and that nothing of the question is changed.
func ask(t testing.TB, program *rule.Program, r interpreter.Request) {
	t.Helper()
	object, observed := bytes.Clone(r.Object), bytes.Clone(r.Observed)
	response, err := program.Interpret(context.Background(), r)
	accept(t, r, response, err)
	again, err2 := program.Interpret(context.Background(), r)
	if !bytes.Equal(response.Patch, again.Patch) || !bytes.Equal(response.Status, again.Status) || (err == nil) != (err2 == nil) {
		t.Errorf("%s of %s: the repeated request has another answer", r.Operation, r.Object)
	}
	if !bytes.Equal(object, r.Object) || !bytes.Equal(observed, r.Observed) {
		t.Errorf("%s of %s changed the object of the request", r.Operation, r.Object)
	}
}

// mutations calls with a text in which one value is replaced or removed.
func mutations(t testing.TB, raw []byte, run func([]byte)) {
	t.Helper()
	if len(raw) == 0 {
		return
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	mutate(value, func(changed any) {
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		run(text)
	})
}

// mutate calls the function with each variant of the value: one place below it, or the value itself, is replaced.
func mutate(value any, run func(any)) {
	for _, text := range wrong {
		run(json.RawMessage(text))
	}
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			mutate(member, func(changed any) { value[key] = changed; run(value) })
			delete(value, key)
			run(value)
			value[key] = member
		}
	case []any:
		for i, item := range value {
			mutate(item, func(changed any) { value[i] = changed; run(value) })
			value[i] = item
		}
	}
}

// TestMutations asks each question of testdata/answers with each of its values replaced, with all optional profiles.
func TestMutations(t *testing.T) {
	program := load(t, gardener.Optional()...)
	count := 0
	for _, q := range questions(t) {
		r := q.request(t)
		run := func(r interpreter.Request) { count++; ask(t, program, r) }
		mutations(t, r.Object, func(raw []byte) { r := r; r.Object = raw; run(r) })
		mutations(t, r.Observed, func(raw []byte) { r := r; r.Observed = raw; run(r) })
		for i, member := range r.Members {
			mutations(t, member.Status, func(raw []byte) {
				r := r
				r.Members = append([]interpreter.Member(nil), r.Members...)
				r.Members[i].Status = raw
				run(r)
			})
		}
	}
	if count < 10000 {
		t.Errorf("want at least 10000 requests, got %d", count)
	}
}

// FuzzInterpret asks every question about every kind with random objects, observed objects and statuses.
func FuzzInterpret(f *testing.F) {
	program := load(f, gardener.Optional()...)
	for _, q := range questions(f) {
		var status json.RawMessage
		if len(q.Members) > 0 {
			status = q.Members[0].Status
		}
		f.Add([]byte(q.Object), []byte(q.Observed), []byte(status), q.Replicas)
	}
	f.Fuzz(func(t *testing.T, object, observed, status []byte, replicas int32) {
		for _, known := range program.Kinds() {
			for _, operation := range known.Operations {
				ask(t, program, interpreter.Request{
					Operation: operation, Kind: known.Kind, Object: object, Observed: observed, Replicas: replicas,
					Members: []interpreter.Member{{Cluster: "b", Status: status}, {Cluster: "a", Status: observed, Applied: true}},
				})
			}
		}
	})
}
