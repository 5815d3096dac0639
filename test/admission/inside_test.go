// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// inside is the handler of the webhooks, served by the test over TLS, with facts that go wrong as the test wants.
type inside struct {
	config  admissionregistrationv1.WebhookClientConfig
	metrics http.Handler
	log     *logBuffer
}

// sourceFunc is a Source of facts.
type sourceFunc func(context.Context) (*facts.Facts, error)

func (f sourceFunc) Read(ctx context.Context, _ string) (*facts.Facts, error) { return f(ctx) }
func (f sourceFunc) Lookup(ctx context.Context, _ string, _ facts.LookupRequest) (*facts.Found, error) {
	_, err := f(ctx)
	return nil, err
}

// bound is a program with its source of facts, as the extension binds them.
type bound struct {
	*mutation.Program
	source facts.Source
}

func (b bound) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return b.Program.Admit(ctx, r, b.source)
}

// engineFunc is an engine that serves everything.
type engineFunc func(context.Context, mutation.Request) (*mutation.Result, error)

func (engineFunc) Serves(webhook.Route) bool { return true }
func (f engineFunc) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return f(ctx, r)
}

// elsewhere are versions without known flags, so that profiles may write any flags.
var elsewhere, _ = semver.NewConstraint("< 1.31")

// withFacts is the real engine with a profile that needs the facts.
func withFacts(t *testing.T, from sourceFunc) webhook.Engine {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "region.yaml", Data: []byte(failing["region"])})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	return engineFunc(bound{program, from}.Admit)
}

// serveInside serves the handler with an engine.
func serveInside(t *testing.T, engine webhook.Engine) *inside {
	t.Helper()
	registry, log := prometheus.NewRegistry(), &logBuffer{}
	logger := funcr.NewJSON(func(line string) { _, _ = log.Write([]byte(line + "\n")) }, funcr.Options{})
	served := &inside{
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), log: log,
		config: serveTLS(t, &webhook.Handler{
			Engine: engine, Metrics: webhook.NewMetrics(registry), Log: logr.New(logger.GetSink()), MaxReviewBytes: 1 << 20, Timeout: 10 * time.Second,
		}),
	}
	served.config.URL = ptr.To(*served.config.URL + "/webhooks/controlplane/region")
	return served
}

func (s *inside) counter(t *testing.T, name string, selected labels) float64 {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.metrics.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return sumOf(t, recorder.Body.String(), name, selected)
}

// TestFailuresInside has a case for the rows of docs/failures.md that need a fault in Graft, or facts that do not come.
func TestFailuresInside(t *testing.T) {
	blocking := func(ctx context.Context) (*facts.Facts, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, test := range map[string]struct {
		reason  mutation.Reason
		engine  webhook.Engine
		code    int32
		message []string
		logged  string
		timeout int32
	}{
		"DeadlineExceeded": {
			reason: mutation.DeadlineExceeded, engine: withFacts(t, blocking), timeout: 1,
			code: 504, message: []string{"denied the request", "the deadline of the admission passed"},
		},
		"FactsUnavailable": {
			reason: mutation.FactsUnavailable, timeout: 10,
			engine: withFacts(t, func(context.Context) (*facts.Facts, error) { return nil, facts.ErrUnavailable }),
			code:   503, message: []string{"denied the request", "FactsUnavailable", "unavailable"},
		},
		"Panicked": {
			reason: webhook.Panicked, timeout: 10,
			engine: withFacts(t, func(context.Context) (*facts.Facts, error) { panic(secretValue) }),
			code:   500, message: []string{"denied the request", "internal error (a bug in Graft; its log has the stack)"}, logged: "inside_test.go",
		},
		"Panicked by the runtime": {
			reason: webhook.Panicked, timeout: 10,
			engine: withFacts(t, func(context.Context) (*facts.Facts, error) {
				var none *facts.Facts
				return none.WithNamespace(facts.Namespace{}), nil
			}),
			code: 500, message: []string{"denied the request", "internal error"}, logged: "nil pointer dereference",
		},
		"Internal": {
			reason: mutation.Internal, timeout: 10,
			engine: engineFunc(func(context.Context, mutation.Request) (*mutation.Result, error) { return nil, errors.New("a cause") }),
			code:   500, message: []string{"denied the request", "internal error"}, logged: "a cause",
		},
	} {
		t.Run(name, func(t *testing.T) {
			served := serveInside(t, test.engine)
			namespace := newNamespace(t, "inside-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")), nil)
			register(t, "inside", namespace, served.config, func(w *admissionregistrationv1.MutatingWebhook) { w.TimeoutSeconds = &test.timeout })
			object := deployment(namespace, "kube-controller-manager")
			for times := 1.0; times <= 2; times++ { // the second time, as it must still serve
				expectDenied(t, land.Client().Create(t.Context(), object.DeepCopy()), test.code, test.message...)
				if got := served.counter(t, "graft_admission_failures_total", labels{"reason": string(test.reason)}); got != times {
					t.Errorf("counted %v times, want %v", got, times)
				}
			}
			expectAbsent(t, object)
			if log := served.log.String(); !strings.Contains(log, test.logged) || strings.Contains(log, secretValue) {
				t.Errorf("the log lacks %q, or has a value: %s", test.logged, log)
			}
		})
	}

	t.Run("Cancelled", func(t *testing.T) {
		served := serveInside(t, withFacts(t, blocking))
		namespace := newNamespace(t, "inside-cancelled", nil)
		register(t, "inside", namespace, served.config, nil)
		object := deployment(namespace, "kube-controller-manager")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := land.Client().Create(ctx, object.DeepCopy()); err == nil {
			t.Error("the object was admitted")
		}
		eventually(t, "the count", func() error {
			if served.counter(t, "graft_admission_failures_total", labels{"reason": string(webhook.Cancelled)}) != 1 {
				return errNotYet
			}
			return nil
		})
		expectAbsent(t, object)
	})
}
