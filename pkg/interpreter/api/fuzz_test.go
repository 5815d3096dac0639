// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// everything is an interpreter with every possible result.
type everything struct{}

func (everything) Interpret(_ context.Context, r interpreter.Request) (interpreter.Response, error) {
	three, yes := int32(3), true
	return interpreter.Response{
		Replicas: &three, Healthy: &yes, Status: r.Object, Patch: json.RawMessage(`[{"op":"add","path":"/a","value":{}}]`),
		Requirements: &interpreter.Requirements{ResourceRequest: json.RawMessage(`{"cpu":"1"}`)},
		Components:   []interpreter.Component{{Name: "a", Replicas: 1}},
		Dependencies: []interpreter.Dependency{{APIVersion: "v1", Kind: "Secret", Name: "a"}},
	}, nil
}

// FuzzMessages checks that any message is answered without a panic and with the uid of the request, and that the
// dialect is detected equally in valid and invalid bodies.
func FuzzMessages(f *testing.F) {
	seed(f)
	var code int
	h := New(Options{Interpreter: everything{}, Log: logr.Discard(), MaximumBytes: 1 << 16, Answered: func(a Answered) { code = a.Code }})
	f.Fuzz(func(t *testing.T, body []byte) {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		var answer struct {
			Kind     string
			Response struct{ UID string }
			Details  struct{ UID string }
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || code == 0 || code >= http.StatusInternalServerError {
			t.Fatalf("%d: %s: %v", code, recorder.Body, err)
		}
		who := identify(body)
		var a asked
		if a.read(body) == nil && len(body) <= 1<<16 {
			if code != http.StatusOK || answer.Kind != a.dialect.kind || answer.Response.UID != a.uid {
				t.Fatalf("%d: %s", code, recorder.Body)
			}
			if who.dialect != a.dialect || who.uid != a.uid {
				t.Fatalf("the request has the uid %q, and %q was read", a.uid, who.uid)
			}
		}
		if got := answer.Response.UID + answer.Details.UID; len(body) <= 1<<16 && got != who.uid && utf8.Valid(body) {
			t.Fatalf("the request has the uid %q, the answer %q: %s", who.uid, got, recorder.Body)
		}
	})
}

// seed adds the messages of all cases.
func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no test cases found", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var cases []struct {
			Body      map[string]any
			Raw       *string
			Operation *string
			Change    map[string]any
		}
		if err := yaml.Unmarshal(raw, &cases); err != nil {
			f.Fatal(err)
		}
		base := cases[0].Body
		for _, c := range cases {
			if c.Raw != nil {
				f.Add([]byte(*c.Raw))
				continue
			}
			if base == nil {
				base = map[string]any{"kind": KindContext, "apiVersion": Group + "/" + Version, "request": map[string]any{"uid": "u",
					"kind": map[string]any{"version": "v1", "kind": "Pod"}, "operation": "InterpretHealth", "object": map[string]any{}}}
			}
			request := map[string]any{}
			for _, from := range []map[string]any{base["request"].(map[string]any), c.Change} {
				for key, value := range from {
					request[key] = value
				}
			}
			if c.Operation != nil {
				request["operation"] = *c.Operation
			}
			body, _ := json.Marshal(map[string]any{"kind": base["kind"], "apiVersion": base["apiVersion"], "request": request})
			f.Add(body)
		}
	}
}
