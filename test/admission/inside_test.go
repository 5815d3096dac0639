// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
func (f sourceFunc) Lookup(ctx context.Context, _ string, _ facts.LookupRequest) (*facts.LookupResult, error) {
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
func withFacts(from sourceFunc) webhook.Engine {
	GinkgoHelper()
	documents, findings := profile.Load(source.File{Name: "region.yaml", Data: []byte(failing["region"])})
	Expect(findings.Err()).To(Succeed())
	program, err := compiler.Compile(documents, compiler.Options{Kubernetes: elsewhere})
	Expect(err).NotTo(HaveOccurred())
	return engineFunc(bound{program, from}.Admit)
}

// serveInside serves the handler with an engine.
func serveInside(engine webhook.Engine) *inside {
	GinkgoHelper()
	registry, log := prometheus.NewRegistry(), &logBuffer{}
	logger := funcr.NewJSON(func(line string) { _, _ = log.Write([]byte(line + "\n")) }, funcr.Options{})
	served := &inside{
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), log: log,
		config: serveTLS(&webhook.Handler{
			Engine: engine, Metrics: webhook.NewMetrics(registry), Log: logr.New(logger.GetSink()), MaxReviewBytes: 1 << 20,
			Timeout: 10 * time.Second,
		}),
	}
	served.config.URL = ptr.To(*served.config.URL + "/webhooks/controlplane/region")
	return served
}

func (s *inside) counter(name string, selected labels) float64 {
	GinkgoHelper()
	recorder := httptest.NewRecorder()
	s.metrics.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return sumOf(recorder.Body.String(), name, selected)
}

// These items of docs/failures.md need a fault in Graft, or facts that do not come.
var _ = Describe("a failing admission inside the handler", func() {
	blocking := func(ctx context.Context) (*facts.Facts, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	all := map[string]struct {
		reason  mutation.Reason
		engine  webhook.Engine
		code    int32
		message []string
		logged  string
		timeout int32
	}{
		"DeadlineExceeded": {
			reason: mutation.DeadlineExceeded, engine: withFacts(blocking), timeout: 1,
			code: 504, message: []string{"denied the request", "the deadline of the admission passed"},
		},
		"FactsUnavailable": {
			reason: mutation.FactsUnavailable, timeout: 10,
			engine: withFacts(func(context.Context) (*facts.Facts, error) { return nil, facts.ErrUnavailable }),
			code:   503, message: []string{"denied the request", "FactsUnavailable", "unavailable"},
		},
		"Panicked": {
			reason: webhook.Panicked, timeout: 10,
			engine: withFacts(func(context.Context) (*facts.Facts, error) { panic(secretValue) }),
			code:   500, message: []string{"denied the request", "internal error (a bug in Graft; its log has the stack)"},
			logged: "inside_test.go",
		},
		"Panicked by the runtime": {
			reason: webhook.Panicked, timeout: 10,
			engine: withFacts(func(context.Context) (*facts.Facts, error) {
				var none *facts.Facts
				return none.WithNamespace(facts.Namespace{}), nil
			}),
			code: 500, message: []string{"denied the request", "internal error"}, logged: "nil pointer dereference",
		},
		"Internal": {
			reason: mutation.Internal, timeout: 10,
			engine: engineFunc(func(context.Context, mutation.Request) (*mutation.Result, error) {
				return nil,
					errors.New("a cause")
			}),
			code: 500, message: []string{"denied the request", "internal error"}, logged: "a cause",
		},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		It("is denied, counted and logged: "+name, func(ctx SpecContext) {
			test := all[name]
			served := serveInside(test.engine)
			namespace := newNamespace(ctx, "inside-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")), nil)
			register(ctx, "inside", namespace, served.config,
				func(w *admissionregistrationv1.MutatingWebhook) { w.TimeoutSeconds = &test.timeout })
			object := deployment(namespace, "kube-controller-manager")
			for times := 1.0; times <= 2; times++ { // the second time, as it must still serve
				expectDenied(land.Client().Create(ctx, object.DeepCopy()), test.code, test.message...)
				Expect(served.counter("graft_admission_failures_total", labels{"reason": string(test.reason)})).
					To(BeNumerically("==", times), "counted failures")
			}
			expectAbsent(ctx, object)
			log := served.log.String()
			Expect(log).To(ContainSubstring(test.logged), "the log of the handler")
			Expect(log).NotTo(ContainSubstring(secretValue), "the log of the handler")
		})
	}

	It("is counted when its caller has gone: Cancelled", func(ctx SpecContext) {
		served := serveInside(withFacts(blocking))
		namespace := newNamespace(ctx, "inside-cancelled", nil)
		register(ctx, "inside", namespace, served.config, nil)
		object := deployment(namespace, "kube-controller-manager")
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		Expect(land.Client().Create(short, object.DeepCopy())).NotTo(Succeed(), "creating an object without an answer")
		Eventually(func() error {
			if served.counter("graft_admission_failures_total", labels{"reason": string(webhook.Cancelled)}) != 1 {
				return errNotYet
			}
			return nil
		}).Should(Succeed(), "the count")
		expectAbsent(ctx, object)
	})
})
