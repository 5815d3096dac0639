// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the HTTP interface of the control-plane extension: it decodes and answers
// AdmissionReviews, registers the webhooks that the loaded profiles need, maintains the certificates, and
// reloads changed profiles.
//
// It makes no decisions about objects; pkg/controlplane/mutation does. It must not log or return content of
// objects. Only this package may import Gardener's extensions/pkg/webhook. Start reading at Handler for an
// admission, at Store for the active profiles, at Registrar for the registration and at AddCertificates for the
// certificates.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Engine decides on objects.
type Engine interface {
	// Serves reports whether a loaded profile has rules for the route.
	Serves(Route) bool
	// Admit mutates an object. Its errors are *mutation.Failure. It must not keep the request or a part of it.
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// Handler answers AdmissionReviews below PathPrefix. Every failure corresponds to an item of docs/failures.md,
// and is counted.
type Handler struct {
	// Engine mutates objects.
	Engine Engine
	// Installations finds other installations in the cluster. It may be nil.
	Installations *Installations
	// OptOuts finds the namespaces that are opted out. It may be nil.
	OptOuts *OptOuts
	// Metrics counts admissions.
	Metrics *Metrics
	// Log receives one line for each failure.
	Log logr.Logger
	// MaxReviewBytes is the maximum size of a body.
	MaxReviewBytes int64
	// Timeout applies to requests without one; the API server always sends one.
	Timeout time.Duration
}

// exchange is the state of a request. After a panic, it allows to answer the request.
type exchange struct {
	route Route
	// provider is the provider in metrics. It is one of the served providers, so that callers cannot create
	// series.
	provider string
	served   bool
	review   *review
	started  time.Time
	body     []byte
	// target is the target of a denied object, if the engine knows it.
	target string
}

// ServeHTTP answers one review.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{provider: "unknown", started: time.Now()}
	defer h.recover(w, r, x)
	var ok bool
	if x.route, ok = parseRoute(r.URL.Path); !ok {
		http.Error(w, "no such webhook: the paths are "+PathPrefix+"<segment>/<set>/<provider>", http.StatusNotFound)
		return
	}
	if h.Engine.Serves(x.route) {
		x.served, x.provider = true, x.route.label()
	}
	ctx, end := serving.WithDeadline(r.Context(), x.started.Add(timeout(r, h.Timeout)))
	defer end()
	refused := h.read(w, r, x)
	if refused == nil {
		x.review, refused = parseReview(x.body, x.route)
	}
	if refused != nil {
		h.refused(w, x, refused)
		return
	}
	x.review.respond(w, r, h.answer(ctx, x))
	// not after a panic, because the review may still be in use
	x.review.scanned.Release()
}

// timeout returns the API server's timeout minus a margin for the transfer of the answer.
func timeout(r *http.Request, otherwise time.Duration) time.Duration {
	granted := serving.Timeout(r)
	if granted == 0 || granted > otherwise {
		granted = otherwise
	}
	return granted - min(granted/5, 500*time.Millisecond)
}

// read reads the body, which serving.Guard has received in time. It returns a rejection if it cannot.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, x *exchange) *rejection {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return refuse(ReviewMethod, http.StatusMethodNotAllowed, "send an %s with POST", reviewKind)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return refuse(ReviewMediaType, http.StatusUnsupportedMediaType, "the body must be application/json")
	}
	if r.ContentLength > h.MaxReviewBytes {
		return h.tooLarge()
	}
	var err error
	switch x.body, err = serving.ReadAll(r, h.MaxReviewBytes); {
	case err != nil:
		return refuse(ReviewUnreadable, http.StatusBadRequest, "the body could not be read completely")
	case int64(len(x.body)) > h.MaxReviewBytes:
		return h.tooLarge()
	}
	return nil
}

func (h *Handler) tooLarge() *rejection {
	return refuse(ReviewTooLarge, http.StatusRequestEntityTooLarge, "the review is larger than %d bytes", h.MaxReviewBytes)
}

// answer returns the response to the review.
func (h *Handler) answer(ctx context.Context, x *exchange) admissionv1.AdmissionResponse {
	switch {
	case !x.review.handled():
		return h.allowed(x, "", "ignored")
	case h.OptOuts.Contains(ctx, x.review.request.Namespace):
		return h.allowed(x, subjectOf(x.review.request), "opted-out")
	case h.Installations.Yields(x.route):
		return h.allowed(x, subjectOf(x.review.request), "yielded")
	case !x.served:
		return h.denied(x, &rejection{mutation.NotLoaded, http.StatusServiceUnavailable,
			fmt.Sprintf("NotLoaded: no profile for %s of provider %q is loaded", x.route.Set, x.route.label()), nil})
	}
	if deadline, ok := ctx.Deadline(); ok {
		// The other half of the time is for applying the rules and for the answer.
		x.review.request.ObserveUntil = x.started.Add(deadline.Sub(x.started) / 2)
	}
	result, err := h.Engine.Admit(ctx, x.review.request)
	if err != nil {
		var failure *mutation.Failure
		if errors.As(err, &failure) {
			x.target = failure.Target
		}
		return h.denied(x, denialOf(ctx, err))
	}
	if result.Panic != nil {
		h.Log.Error(result.Panic, "A request panicked: this is a bug", "set", x.route.Set, "provider", x.route.label(), "target", result.Target)
	}
	h.Metrics.rules(x, result)
	switch {
	case result.Patch != nil:
		h.Metrics.patched(x, result.Target, len(result.Patch))
		return patched(result)
	case result.Target == "":
		return h.allowed(x, "", "ignored")
	default:
		return h.allowed(x, result.Target, "unchanged")
	}
}

// allowed counts an admission without a patch, and returns the response.
func (h *Handler) allowed(x *exchange, subject, result string) admissionv1.AdmissionResponse {
	h.Metrics.admission(x, subject, result)
	return admissionv1.AdmissionResponse{Allowed: true}
}

// denied counts and logs a denial, and returns the response.
func (h *Handler) denied(x *exchange, d *rejection) admissionv1.AdmissionResponse {
	request := x.review.request
	h.Metrics.admission(x, cmp.Or(subjectOf(request), x.target), "denied")
	h.Metrics.failure(x, d.reason)
	h.Log.Error(d.cause, "Denied an admission", "set", x.route.Set, "provider", x.route.label(), "operation", request.Operation,
		"kind", request.Kind, "namespace", request.Namespace, "name", request.Name,
		"reason", d.reason, "code", d.code, "message", d.message, "uid", x.review.uid)
	return denied(d)
}

// subjectOf returns the name of the object in metrics if it is a target of the contract, or "".
func subjectOf(r mutation.Request) string {
	if t, _ := target.Match(r.Garden, r.Group, r.Kind, r.Name); t != nil {
		return t.Subject()
	}
	return ""
}

func (h *Handler) refused(w http.ResponseWriter, x *exchange, r *rejection) {
	h.Metrics.failure(x, r.reason)
	h.Log.Error(nil, "Refused a request", "set", x.route.Set, "provider", x.route.label(), "reason", r.reason, "status", r.code, "message", r.message)
	http.Error(w, r.message, int(r.code))
}

// recover responds to a request after a panic.
func (h *Handler) recover(w http.ResponseWriter, r *http.Request, x *exchange) {
	value := recover()
	if value == nil {
		return
	}
	if serving.Aborted(value) {
		panic(value)
	}
	cause := serving.Panicked(value)
	h.Log.Error(cause, "A request panicked: this is a bug", "stack", string(debug.Stack()))
	if x.review == nil {
		h.Metrics.failure(x, Panicked)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	x.review.respond(w, r, h.denied(x, &rejection{Panicked, http.StatusInternalServerError, "internal error (a bug in Graft; its log has the stack)", cause}))
}
