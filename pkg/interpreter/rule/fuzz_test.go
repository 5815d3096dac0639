// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// programs returns the programs of testdata/answers.
func programs(t testing.TB) map[string]*rule.Program {
	t.Helper()
	folders, err := filepath.Glob("testdata/answers/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	all := map[string]*rule.Program{}
	for _, folder := range folders {
		all[folder] = load(t, golden.Read(t, filepath.Join(folder, "profile.yaml")))
	}
	return all
}

// FuzzInterpret checks that any input gives a Failure or an answer that Karmada's client accepts, that the input stays
// unchanged, and that a repetition gives the same answer.
func FuzzInterpret(f *testing.F) {
	all := programs(f)
	for folder := range all {
		for _, a := range questions(f, folder) {
			var status json.RawMessage
			if len(a.Members) > 0 {
				status = a.Members[0].Status
			}
			f.Add([]byte(a.request().Object), []byte(a.Observed), []byte(status), a.Replicas)
		}
	}
	twice := []byte(`{"metadata":{"name":"a","name":"b"},"spec":{"replicas":1,"replicas":2},"spec":{"replicas":3},"status":{"a":1,"a":2},"status":{"b":[1]}}`)
	f.Add(twice, twice, twice, int32(1))
	f.Fuzz(func(t *testing.T, object, observed, status []byte, replicas int32) {
		for _, program := range all {
			for _, known := range program.Kinds() {
				for _, operation := range known.Operations {
					r := interpreter.Request{
						Operation: operation, Kind: known.Kind, Object: bytes.Clone(object), Observed: bytes.Clone(observed), Replicas: replicas,
						Members: []interpreter.Member{{Cluster: "b", Status: status}, {Cluster: "a", Status: observed, Applied: true}},
					}
					response, err := program.Interpret(context.Background(), r)
					checkResponse(t, r, response, err)
					if !bytes.Equal(r.Object, object) || !bytes.Equal(r.Observed, observed) {
						t.Errorf("%s changed the object of the request", operation)
					}
					again, err2 := program.Interpret(context.Background(), r)
					if describe(response, err) != describe(again, err2) {
						t.Errorf("%s: the repeated request has another answer", operation)
					}
				}
			}
		}
	})
}

// TestUnknownFields checks that fields without a rule change no patch and keep their bytes.
func TestUnknownFields(t *testing.T) {
	patches := 0
	for folder, program := range programs(t) {
		for _, a := range questions(t, folder) {
			before, err := program.Interpret(context.Background(), a.request())
			if err != nil || before.Patch == nil {
				continue
			}
			patches++
			r := a.request()
			r.Object = decorate(t, r.Object)
			after, err := program.Interpret(context.Background(), r)
			if err != nil || !bytes.Equal(before.Patch, after.Patch) {
				t.Errorf("%s: %s: the patch was %s and is %s (%v)", folder, a.Name, before.Patch, after.Patch, err)
			}
		}
	}
	if patches < 15 {
		t.Errorf("only %d patches were seen", patches)
	}
}

// decorate adds an unknown field to each mapping.
func decorate(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	trimmed := bytes.TrimSpace(raw)
	switch trimmed[0] {
	case '{':
		var members map[string]json.RawMessage
		unmarshal(t, trimmed, &members)
		for key, member := range members {
			members[key] = decorate(t, member)
		}
		members["~/unknown"] = json.RawMessage(`{"huge":123456789012345678901234567890,"float":1.50}`)
		return marshal(t, members)
	case '[':
		var items []json.RawMessage
		unmarshal(t, trimmed, &items)
		for i, item := range items {
			items[i] = decorate(t, item)
		}
		return marshal(t, items)
	default:
		return raw
	}
}

func unmarshal(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
