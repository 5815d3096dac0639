// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// messageCase is a request, the result of the interpreter, and the expected answer.
type messageCase struct {
	About string `json:"about"`
	// Body is a message, or Raw the unchanged bytes; by default the body of the first case with this operation and
	// these fields.
	Body      map[string]any `json:"body"`
	Raw       *string        `json:"raw"`
	Operation *string        `json:"operation"`
	Change    map[string]any `json:"change"`
	Given     given          `json:"given"`
	// Asked is the expected question to the interpreter; kind and object are by default those of the message.
	Asked map[string]any `json:"asked"`
	// Answer is the whole answer, or Response its response without uid; otherwise it fails with Code and Message, and a
	// star matches anything.
	Answer   map[string]any  `json:"answer"`
	Response *map[string]any `json:"response"`
	Code     int             `json:"code"`
	Message  string          `json:"message"`
	// UID is the uid in the answer to a raw body, and Status the HTTP status if the answer belongs to no dialect.
	UID    string `json:"uid"`
	Status int    `json:"status"`
}

// given is the result of an interpreter.
type given struct {
	Patch        json.RawMessage           `json:"patch"`
	Replicas     *int32                    `json:"replicas"`
	Requirements *interpreter.Requirements `json:"requirements"`
	Components   []interpreter.Component   `json:"components"`
	Dependencies []interpreter.Dependency  `json:"dependencies"`
	Status       json.RawMessage           `json:"status"`
	Healthy      *bool                     `json:"healthy"`
	Failure      *interpreter.Failure      `json:"failure"`
	Error        string                    `json:"error"`
	Panic        string                    `json:"panic"`
}

// scripted is an interpreter with a fixed result that records its requests.
type scripted struct {
	given given
	asked *interpreter.Request
}

func (s *scripted) Interpret(_ context.Context, r interpreter.Request) (interpreter.Response, error) {
	s.asked = &r
	g := s.given
	switch {
	case g.Panic != "":
		panic(g.Panic)
	case g.Error != "":
		return interpreter.Response{}, errors.New(g.Error)
	case g.Failure != nil:
		return interpreter.Response{}, g.Failure
	}
	return interpreter.Response{Patch: g.Patch, Replicas: g.Replicas, Requirements: g.Requirements, Components: g.Components,
		Dependencies: g.Dependencies, Status: g.Status, Healthy: g.Healthy, Because: []string{"a.yaml:1"}}, nil
}

// files are the message cases; the first of each file is the template of the rest.
var files = map[string]string{"context": "context", "review": "review", "mistakes": "context"}

func readCases(t testing.TB, name string) []messageCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/cases/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []messageCase
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	return cases
}

// messages are the cases of a file with their bodies made.
func messages(t testing.TB, name string) []messageCase {
	t.Helper()
	base := readCases(t, files[name])[0].Body
	cases := readCases(t, name)
	for i := range cases {
		c := &cases[i]
		if c.Body != nil {
			continue
		}
		request := maps.Clone(base["request"].(map[string]any))
		if c.Operation != nil {
			request["operation"] = *c.Operation
		}
		maps.Copy(request, c.Change)
		c.Body = maps.Clone(base)
		c.Body["request"] = request
	}
	return cases
}

func (c messageCase) request() map[string]any { return c.Body["request"].(map[string]any) }

// want is the answer to a message.
func (c messageCase) want() map[string]any {
	if c.Answer != nil {
		return c.Answer
	}
	kind := c.Body["kind"].(string)
	response := map[string]any{"uid": c.request()["uid"]}
	if c.Response != nil {
		maps.Copy(response, *c.Response)
	}
	switch {
	case kind == api.KindContext:
		response["successful"] = c.Code == 0
		if c.Code != 0 {
			response["status"] = map[string]any{"code": float64(c.Code), "message": c.Message}
		}
	case c.Code != 0:
		return nil
	}
	return map[string]any{"apiVersion": "config.karmada.io/v1alpha1", "kind": kind, "response": response}
}

func TestMessages(t *testing.T) {
	for name := range files {
		for _, c := range messages(t, name) {
			t.Run(name+"/"+c.About, func(t *testing.T) {
				asks := &scripted{given: c.Given}
				body, _ := json.Marshal(c.Body)
				var told api.Answered
				status, answer := post(t, api.New(api.Options{Interpreter: asks, Log: logr.Discard(), Answered: func(a api.Answered) { told = a }}), "", body)
				want := c.want()
				if want == nil {
					checkStatus(t, status, answer, c.Code, c.Message, c.request()["uid"].(string))
				} else if diff := gocmp.Diff(want, decoded(t, answer), star); diff != "" || status != http.StatusOK {
					t.Errorf("status %d, the answer (-want +got):\n%s", status, diff)
				}
				if err := verify(c.Body["kind"].(string), c.request(), status, answer); err != nil {
					t.Errorf("the client rejects the answer: %v", err)
				}
				if c.Asked != nil {
					c.checkAsked(t, asks.asked)
				}
				if told.Code != cmp.Or(c.Code, http.StatusOK) || told.Bytes != len(body) || told.Took < 0 || c.Code == 0 && told.Dialect != c.Body["kind"] {
					t.Errorf("unexpected observation: %+v", told)
				}
			})
		}
	}
}

// checkAsked compares the whole question to the interpreter.
func (c messageCase) checkAsked(t *testing.T, r *interpreter.Request) {
	t.Helper()
	if r == nil {
		t.Fatal("want one request, got none")
	}
	want := map[string]any{"kind": c.request()["kind"], "object": c.request()["object"]}
	maps.Copy(want, c.Asked)
	got := map[string]any{
		"operation": string(r.Operation), "kind": map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind},
		"object": decoded(t, r.Object),
	}
	if r.Observed != nil {
		got["observed"] = decoded(t, r.Observed)
	}
	if r.Replicas != 0 || want["replicas"] != nil {
		got["replicas"] = float64(r.Replicas)
	}
	var members []any
	for _, m := range r.Members {
		one := map[string]any{"cluster": m.Cluster}
		if m.Status != nil {
			one["status"] = decoded(t, m.Status)
		}
		if m.Applied {
			one["applied"] = true
		}
		if m.Message != "" {
			one["message"] = m.Message
		}
		if m.Health != "" {
			one["health"] = m.Health
		}
		members = append(members, one)
	}
	if members != nil {
		got["members"] = members
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("what was asked (-want +got):\n%s", diff)
	}
}

func TestUnreadable(t *testing.T) {
	for _, c := range readCases(t, "unreadable") {
		t.Run(c.About, func(t *testing.T) {
			asks := &scripted{}
			status, answer := post(t, api.New(api.Options{Interpreter: asks, Log: logr.Discard()}), "", []byte(*c.Raw))
			if c.Status != 0 {
				checkStatus(t, status, answer, c.Code, cmp.Or(c.Message, "*"), c.UID)
				if status != c.Status {
					t.Errorf("got %d", status)
				}
			} else {
				want := map[string]any{"apiVersion": "config.karmada.io/v1alpha1", "kind": api.KindContext, "response": map[string]any{
					"uid": c.UID, "successful": false, "status": map[string]any{"code": float64(c.Code), "message": cmp.Or(c.Message, "*")}}}
				if diff := gocmp.Diff(want, decoded(t, answer), star); diff != "" || status != http.StatusOK {
					t.Errorf("status %d, the answer (-want +got):\n%s", status, diff)
				}
			}
			if asks.asked != nil {
				t.Error("the interpreter got a request, want none")
			}
		})
	}
}

// checkStatus checks that an answer is a status of HTTP that clients of Kubernetes understand.
func checkStatus(t *testing.T, status int, answer []byte, code int, message, uid string) {
	t.Helper()
	var s metav1.Status
	if err := yaml.UnmarshalStrict(answer, &s); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	got := ""
	if s.Details != nil {
		got = string(s.Details.UID)
	}
	if status != code || int(s.Code) != code || s.Status != metav1.StatusFailure || s.Kind != "Status" || got != uid || !like(message, s.Message) {
		t.Errorf("got %d %s, want %d %q for %q", status, answer, code, message, uid)
	}
}

// post sends a body to a handler.
func post(t testing.TB, h http.Handler, query string, body []byte) (int, []byte) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/interpret"+query, bytes.NewReader(body)))
	if kind := recorder.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("got content of type %q", kind)
	}
	return recorder.Code, recorder.Body.Bytes()
}

func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

var star = gocmp.FilterValues(func(a, b string) bool { return strings.Contains(a, "*") || strings.Contains(b, "*") },
	gocmp.Comparer(func(a, b string) bool { return like(a, b) || like(b, a) }))

// like reports whether a text is a pattern with stars.
func like(pattern, text string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(text)
}
