// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

func knowsQueues(k interpreter.Kind) bool { return k == queue }

// working is an interpreter that is a function.
type working func(context.Context, interpreter.Request) (interpreter.Response, error)

func (w working) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	return w(ctx, r)
}

// healthy reports that all is healthy.
func healthy(context.Context, interpreter.Request) (interpreter.Response, error) {
	yes := true
	return interpreter.Response{Healthy: &yes}, nil
}

// fixture is a server that runs, with a certificate that it has issued itself.
type fixture struct {
	*Server
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	source   *certificate.Issued
	registry *prometheus.Registry
	stop     context.CancelFunc
	ended    chan error
}

// issued is a source with a CA that was issued some time ago.
func issued(t *testing.T, begun time.Duration) (*certificate.Issued, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now().Add(-begun))
	source, err := certificate.NewIssued(certificate.Options{
		Store: &certificate.Folder{Path: t.TempDir()}, Clock: clock, Log: logr.Discard(),
		Policy: certificate.Policy{
			DNSNames: []string{"localhost"}, Addresses: []string{"127.0.0.1"}, Authority: time.Hour, Certificate: time.Hour, Overlap: time.Minute, Told: true,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return source, clock
}

func serve(t *testing.T, w api.Interpreter, l serving.Limits) *fixture {
	t.Helper()
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	f.source, f.clock = issued(t, 0)
	f.begin(w, l)
	return f
}

// begin serves within limits; where they say nothing of time, requests have as much as the slowest machine takes.
func (f *fixture) begin(w api.Interpreter, l serving.Limits) {
	f.t.Helper()
	d := DefaultLimits()
	l.Patience, l.BodyTimeout = cmp.Or(l.Patience, 5*time.Minute), cmp.Or(l.BodyTimeout, 5*time.Minute)
	l.Requests, l.Waiting, l.Behind = cmp.Or(l.Requests, d.Requests), cmp.Or(l.Waiting, d.Waiting), cmp.Or(l.Requests, d.Requests)
	l.Connections, l.Streams = d.Connections, d.Streams
	l.BodyBytes, l.BodiesBytes = cmp.Or(l.BodyBytes, d.BodyBytes), cmp.Or(l.BodiesBytes, d.BodiesBytes)
	var err error
	f.Server, err = New(f.t.Context(), Options{
		Address: "127.0.0.1:0", Interpreter: w, Certificate: certificate.Serve(f.source), Limits: l, Log: logr.Discard(),
		Metrics: NewMetrics(f.registry, knowsQueues),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go func() { f.ended <- f.Serve(ctx, 10*time.Second) }()
	f.t.Cleanup(stop)
}

// endpoint is where Karmada asks.
func (f *fixture) endpoint(seconds int32) configuration.Endpoint {
	return configuration.Endpoint{URL: "https://" + f.Address() + "/interpret", CABundle: f.source.Held().Bundle, TimeoutSeconds: seconds}
}

// caller is Karmada.
func (f *fixture) caller(dialect string, seconds int32) *dispatch.Dispatcher {
	f.t.Helper()
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Any(dialect, f.endpoint(seconds))})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// asked is a question about a queue with a text of some length.
func asked(o interpreter.Operation, length int) interpreter.Request {
	object := `{"apiVersion":"acme.com/v1","kind":"Queue","metadata":{"name":"q","namespace":"n"},"spec":{"replicas":3,"text":"` +
		strings.Repeat("x", length) + `"}}`
	return interpreter.Request{Operation: o, Kind: queue, Object: json.RawMessage(object)}
}

// post sends a body as it is.
func (f *fixture) post(client *http.Client, body, query string) (status int, text string) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "https://"+f.Address()+"/interpret"+query, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	var answer struct {
		Response struct {
			Status struct {
				Code    int
				Message string
			}
		}
		Message string
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return response.StatusCode, ""
	}
	return response.StatusCode, fmt.Sprint(answer.Response.Status.Code, " ", answer.Response.Status.Message, answer.Message)
}

func eventually(t *testing.T, about string, right func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !right(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: timed out waiting for this condition", about)
		}
	}
}

// entrance returns the entrance of the server.
func (f *fixture) entrance() *entrance { return f.server.Handler.(serving.Drain).Handler.(*entrance) }
