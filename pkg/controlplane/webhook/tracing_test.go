// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestSpans checks the attributes of spans, and that they are children of the caller's span.
func TestSpans(t *testing.T) {
	const caller = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"
	admitted := func(context.Context, mutation.Request) (*mutation.Result, error) {
		return &mutation.Result{Target: "kube-apiserver", Patch: []byte("[]"), Applied: []mutation.Applied{
			{Outcome: mutation.Changed}, {Outcome: mutation.Skipped}, {Outcome: mutation.Changed},
		}}, nil
	}
	of := func(provider, target, result string, rules int, more ...string) []string {
		return append([]string{"graft.set=controlplane", "graft.provider=" + provider, "graft.target=" + target, "graft.result=" + result,
			fmt.Sprintf("graft.rules=%d", rules)}, more...)
	}
	for name, test := range map[string]struct {
		engine engine
		path   string
		body   []byte
		want   []string
		failed bool
	}{
		"traces a patched object": {admitted, path, reviewOf(nil), of("openstack", "kube-apiserver", "patched", 2), false},
		"traces a denied object": {failing(mutation.LookupFailed), path, reviewOf(nil),
			of("openstack", "kube-apiserver", "denied", 0, "graft.reason=LookupFailed"), true},
		"traces an unknown provider": {admitted, "/webhooks/controlplane/strange", reviewOf(nil), of("unknown", "kube-apiserver", "denied", 0, "graft.reason=NotLoaded"), true},
		"traces an invalid review":   {admitted, path, []byte("{"), of("openstack", "", "", 0, "graft.reason=ReviewUnreadable"), true},
		"traces a panic":             {func(context.Context, mutation.Request) (*mutation.Result, error) { panic("x") }, path, reviewOf(nil), of("openstack", "kube-apiserver", "denied", 0, "graft.reason=Panicked"), true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
			handler := &Handler{
				Engine: test.engine, Metrics: NewMetrics(prometheus.NewRegistry()), MaxReviewBytes: 64 << 10, Timeout: 10 * time.Second,
				Tracer: provider.Tracer("test"), Log: logr.Discard(),
			}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, test.path, bytes.NewReader(test.body))
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Traceparent", caller)
			handler.ServeHTTP(httptest.NewRecorder(), request)
			spans := recorder.Ended()
			if len(spans) != 1 {
				t.Fatalf("want one span, got %d", len(spans))
			}
			span := spans[0]
			if span.Parent().SpanID().String() != "1112131415161718" || span.SpanContext().TraceID().String() != "0102030405060708090a0b0c0d0e0f10" {
				t.Errorf("unexpected trace %s and parent span %s", span.SpanContext().TraceID(), span.Parent().SpanID())
			}
			var got []string
			for _, a := range span.Attributes() {
				got = append(got, string(a.Key)+"="+a.Value.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if (span.Status().Code == codes.Error) != test.failed {
				t.Errorf("the status is %+v", span.Status())
			}
		})
	}
}
