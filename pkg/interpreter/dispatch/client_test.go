// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
)

var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

// webhook starts a server that answers with a response and the uid of the request, and returns a client.
func webhook(t *testing.T, answer string, asked *map[string]any) *dispatch.Client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var message struct{ Request map[string]any }
		if err := json.Unmarshal(raw, &message); err != nil {
			t.Error(err)
		}
		uid, _ := message.Request["uid"].(string)
		delete(message.Request, "uid")
		*asked = message.Request
		if strings.HasPrefix(answer, "500 ") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(strings.TrimPrefix(answer, "500 "), "UID", uid))
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return dispatch.New(configuration.Endpoint{URL: server.URL, CABundle: authority, TimeoutSeconds: 10})
}

// TestInterpret checks the sent requests and the handling of the answers.
func TestInterpret(t *testing.T) {
	two, yes := int32(2), true
	for _, c := range []struct {
		about   string
		request interpreter.Request
		answer  string
		want    interpreter.Response
		sent    map[string]any
		err     string
	}{
		{
			about:   "replicas",
			request: interpreter.Request{Operation: interpreter.Replicas},
			answer:  `{"response":{"uid":"UID","successful":true,"replicas":2,"replicaRequirements":{"namespace":"a"}}}`,
			want:    interpreter.Response{Replicas: &two, Requirements: &interpreter.Requirements{Namespace: "a"}},
			sent:    map[string]any{"operation": "InterpretReplica", "replicas": 0.0},
		},
		{
			about:   "revise",
			request: interpreter.Request{Operation: interpreter.Revise, Replicas: 3},
			answer:  `{"response":{"uid":"UID","successful":true,"patch":"W10=","patchType":"JSONPatch"}}`,
			want:    interpreter.Response{Patch: json.RawMessage("[]")},
			sent:    map[string]any{"operation": "ReviseReplica", "replicas": 3.0},
		},
		{
			about:   "retain",
			request: interpreter.Request{Operation: interpreter.Retain, Observed: json.RawMessage(`{"a":1}`)},
			answer:  `{"response":{"uid":"UID","successful":true}}`,
			sent:    map[string]any{"operation": "Retain", "replicas": 0.0, "observedObject": map[string]any{"a": 1.0}},
		},
		{
			about: "aggregate",
			request: interpreter.Request{
				Operation: interpreter.Aggregate, Members: []interpreter.Member{{Cluster: "one", Status: json.RawMessage(`{"x":1}`), Applied: true, Health: "Healthy"}},
			},
			answer: `{"response":{"uid":"UID","successful":true}}`,
			sent: map[string]any{"operation": "AggregateStatus", "replicas": 0.0, "aggregatedStatus": []any{
				map[string]any{"clusterName": "one", "status": map[string]any{"x": 1.0}, "applied": true, "health": "Healthy"},
			}},
		},
		{
			about:   "health",
			request: interpreter.Request{Operation: interpreter.Health},
			answer:  `{"response":{"uid":"UID","successful":true,"healthy":true}}`,
			want:    interpreter.Response{Healthy: &yes},
			sent:    map[string]any{"operation": "InterpretHealth", "replicas": 0.0},
		},
		{about: "another uid", answer: `{"response":{"uid":"x","successful":true}}`, err: `the uid of the response is "x", which differs`},
		{about: "no response", answer: `{}`, err: "there is no response"},
		{about: "no JSON", answer: `x`, err: "reading the answer"},
		{about: "no status", answer: `{"response":{"uid":"UID"}}`, err: "must have a status"},
		{about: "a failure", answer: `{"response":{"uid":"UID","status":{"code":422,"message":"unfit"}}}`, err: "422 unfit"},
		{about: "an HTTP status", answer: `500 {"kind":"Status","message":"broken"}`, err: "500 broken"},
		{about: "an HTTP status in text", answer: "500 broken\n", err: "500 broken"},
	} {
		t.Run(c.about, func(t *testing.T) {
			var sent map[string]any
			client := webhook(t, c.answer, &sent)
			c.request.Kind, c.request.Object = queue, json.RawMessage(`{"metadata":{"name":"q","namespace":"shop"}}`)
			if c.request.Operation == "" {
				c.request.Operation = interpreter.Revise
			}
			got, err := client.Interpret(t.Context(), c.request)
			if c.err != "" {
				var failure *interpreter.Failure
				text := ""
				if errors.As(err, &failure) {
					text = fmt.Sprint(failure.Code, " ", failure.Message)
				} else if err != nil {
					text = err.Error()
				}
				if !strings.Contains(text, c.err) {
					t.Errorf("the error is %q, want %q", text, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.want.Because = []string{"webhook any/" + configuration.WebhookName}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			c.sent["kind"] = map[string]any{"group": "acme.com", "version": "v1", "kind": "Queue"}
			c.sent["name"], c.sent["namespace"] = "q", "shop"
			c.sent["object"] = map[string]any{"metadata": map[string]any{"name": "q", "namespace": "shop"}}
			if diff := cmp.Diff(c.sent, sent); diff != "" {
				t.Errorf("the request (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUntrusted tests that a webhook with an unknown authority is not asked.
func TestUntrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	client := dispatch.New(configuration.Endpoint{URL: server.URL})
	_, err := client.Interpret(t.Context(), interpreter.Request{Operation: interpreter.Health, Kind: queue, Object: json.RawMessage("{}")})
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Error(err)
	}
}

// TestTimeout tests that a call to a webhook without an answer ends at its timeout.
func TestTimeout(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer server.Close()
	defer close(hold)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client := dispatch.New(configuration.Endpoint{URL: server.URL, CABundle: authority, TimeoutSeconds: 1})
	_, err := client.Interpret(t.Context(), interpreter.Request{Operation: interpreter.Health, Kind: queue, Object: json.RawMessage("{}")})
	if err == nil || !strings.Contains(err.Error(), "it did not answer within 1s") {
		t.Error(err)
	}
}
