// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// account has the attributes of an admission's span: names of the program and of profiles, but no content of
// objects.
type account struct {
	span           trace.Span // nil without tracing
	target, result string
	reason         mutation.Reason
	rules          int
}

// begin starts the span of a review as a child of the API server's span in the request's headers (W3C Trace
// Context).
func (h *Handler) begin(x *exchange, r *http.Request) *http.Request {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, x.account.span = h.Tracer.Start(ctx, "admission", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(x.started))
	return r.WithContext(ctx)
}

// end sets the result of the review and ends its span.
func (x *exchange) end() {
	a := x.account
	a.span.SetAttributes(
		attribute.String("graft.set", string(x.route.Set)), attribute.String("graft.provider", x.provider),
		attribute.String("graft.target", a.target), attribute.String("graft.result", a.result), attribute.Int("graft.rules", a.rules),
	)
	if a.reason != "" {
		a.span.SetAttributes(attribute.String("graft.reason", string(a.reason)))
		a.span.SetStatus(codes.Error, string(a.reason))
	}
	a.span.End()
}

// changed counts the rules that changed something.
func (a *account) changed(result *mutation.Result) {
	for _, applied := range result.Applied {
		if applied.Outcome == mutation.Changed {
			a.rules++
		}
	}
}
