// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Engine decides on objects.
type Engine interface {
	// Serves says whether a loaded profile has rules for the route.
	Serves(Route) bool
	// Admit mutates one object; its error is a *mutation.Failure. Neither the request nor a part of it may be kept.
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// Handler answers the AdmissionReviews below PathPrefix. Every failure ends in one row of the table in docs/failures.md, and
// is counted.
type Handler struct {
	// Engine decides.
	Engine Engine
	// Installations are the others in the cluster; nil: none.
	Installations *Installations
	// OptOuts are the namespaces that are opted out; nil: none.
	OptOuts *OptOuts
	// Metrics counts.
	Metrics *Metrics
	// Events tell of denials in the namespaces of objects; nil: none.
	Events *Events
	// Tracer makes a span of each review; nil: none.
	Tracer trace.Tracer
	// Log gets one line for each failure.
	Log logr.Logger
	// MaxReviewBytes is the largest body that is read.
	MaxReviewBytes int64
	// Timeout is the time for a request that names none; the API server always does.
	Timeout time.Duration
}

// exchange is one request on its way through the handler, for the answer of last resort after a panic.
type exchange struct {
	route Route
	// provider is the provider as metrics name it: of those that are served, so that strangers make no series.
	provider string
	served   bool
	review   *review
	started  time.Time
	// target is that of an object that failed, where the engine knows it.
	target string
	body   []byte
	account
}

// ServeHTTP answers one review.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{provider: "unknown", started: time.Now()}
	if h.Tracer != nil {
		r = h.begin(x, r)
		defer x.end() // when also a panic has been answered
	}
	defer h.recover(w, x)
	var ok bool
	if x.route, ok = parseRoute(r.URL.Path); !ok {
		http.Error(w, "no such webhook: the paths are "+PathPrefix+"<segment>/<set>/<provider>", http.StatusNotFound)
		return
	}
	if h.Engine.Serves(x.route) {
		x.served, x.provider = true, x.route.label()
	}
	ctx := serving.EndAt(r.Context(), x.started.Add(timeout(r, h.Timeout)))
	defer ctx.End()
	err := h.read(ctx, w, r, x)
	if err == nil {
		x.review, err = parseReview(x.body, x.route)
	}
	if err != nil {
		h.refused(w, x, err)
		return
	}
	answer := buffers.Get().(*[]byte)
	*answer = h.answer(ctx, x, (*answer)[:0])
	h.write(w, *answer)
	// Not after a panic: something may still use the review.
	x.review.release()
	buffers.Put(answer)
}

// timeout is what the API server grants less a margin for the answer's way back.
func timeout(r *http.Request, otherwise time.Duration) time.Duration {
	granted := serving.Timeout(r)
	if granted == 0 || granted > otherwise {
		granted = otherwise
	}
	return granted - min(granted/5, 500*time.Millisecond)
}

// longAnswer is from how many bytes an answer may go out in two pieces, of which net/http sends the second one when the handler has returned. It is sent
// at once, before what the review took is tidied up.
const longAnswer = 3 << 10

// buffers are used again, for answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// read takes the body; its errors are *refusals.
func (h *Handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request, x *exchange) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return refuse(ReviewMethod, http.StatusMethodNotAllowed, "an %s is sent by POST", reviewKind)
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return refuse(ReviewMediaType, http.StatusUnsupportedMediaType, "the body must be application/json")
	}
	if r.ContentLength > h.MaxReviewBytes {
		return h.tooLarge()
	}
	// A sender that stops in the middle must not hold the connection; what does not support this has limits of its own.
	if deadline, ok := ctx.Deadline(); ok {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(deadline)
		// While it holds, net/http takes an admission that lasts that long for one whose caller has hung up.
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	var err error
	switch x.body, err = serving.ReadAll(r, h.MaxReviewBytes); {
	case err != nil:
		return refuse(ReviewUnreadable, http.StatusBadRequest, "the body could not be read to its end")
	case int64(len(x.body)) > h.MaxReviewBytes:
		return h.tooLarge()
	}
	return nil
}

// isJSON says whether a Content-Type is that of JSON, with whatever parameters.
func isJSON(contentType string) bool {
	const want = "application/json"
	if contentType == want { // as kube-apiserver sends it
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == want
}

func (h *Handler) tooLarge() *refusal {
	return refuse(ReviewTooLarge, http.StatusRequestEntityTooLarge, "the review is larger than %d bytes", h.MaxReviewBytes)
}

// answer appends the answer.
func (h *Handler) answer(ctx context.Context, x *exchange, out []byte) []byte {
	if !x.review.handled() {
		h.Metrics.admission(x, "", "ignored")
		return appendAllowed(out, x.review.uid)
	}
	if h.OptOuts.Contains(x.review.request.Namespace) {
		h.Metrics.admission(x, subjectOf(x.review.request), "opted-out")
		return appendAllowed(out, x.review.uid)
	}
	if h.Installations.Yields(x.route) {
		h.Metrics.admission(x, subjectOf(x.review.request), "yielded")
		return appendAllowed(out, x.review.uid)
	}
	if !x.served {
		return h.denied(ctx, out, x, &denial{mutation.NotLoaded, http.StatusServiceUnavailable,
			fmt.Sprintf("NotLoaded: no profile for %s of provider %q is loaded", x.route.Set, x.route.label()), nil})
	}
	if deadline, ok := ctx.Deadline(); ok {
		// The other half is for what is applied, and for the answer.
		x.review.request.ObserveUntil = x.started.Add(deadline.Sub(x.started) / 2)
	}
	result, err := h.Engine.Admit(ctx, x.review.request)
	if err != nil {
		var failure *mutation.Failure
		if errors.As(err, &failure) {
			x.target = failure.Target
		}
		return h.denied(ctx, out, x, denialOf(ctx, err))
	}
	if result.Panic != nil {
		h.Log.Error(result.Panic, "Recovered from a panic", "set", x.route.Set, "provider", x.route.label(), "target", result.Target)
	}
	if x.span != nil {
		x.changed(result)
	}
	h.Metrics.rules(x, result)
	switch {
	case result.Patch != nil:
		h.Metrics.patched(x, result.Target, len(result.Patch))
		return appendPatched(out, x.review.uid, result)
	case result.Target == "":
		h.Metrics.admission(x, "", "ignored")
	default:
		h.Metrics.admission(x, result.Target, "unchanged")
	}
	return appendAllowed(out, x.review.uid)
}

func (h *Handler) write(w http.ResponseWriter, answer []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	// Without a length, a long answer would go in chunks, and in more packets.
	header.Set("Content-Length", strconv.Itoa(len(answer)))
	// A caller that hung up has been counted by its API server, and reads no answer.
	_, _ = w.Write(answer)
	if len(answer) > longAnswer {
		_ = http.NewResponseController(w).Flush()
	}
}

// denied counts and logs a denial, and appends the answer.
func (h *Handler) denied(ctx context.Context, out []byte, x *exchange, d *denial) []byte {
	request := x.review.request
	name := x.target
	if subject := subjectOf(request); subject != "" {
		name = subject
	}
	h.Metrics.admission(x, name, "denied")
	h.Metrics.failure(x, d.reason)
	h.Log.Error(d.cause, "Denied an admission", "set", x.route.Set, "provider", x.route.label(), "operation", request.Operation,
		"kind", request.Kind, "namespace", request.Namespace, "name", request.Name,
		"reason", d.reason, "code", d.code, "message", d.message, "uid", x.review.uid)
	h.Events.denied(ctx, x.review, d)
	return appendDenied(out, x.review.uid, d)
}

// subjectOf is what metrics call the object of a request where the contract names it; empty for other objects.
func subjectOf(r mutation.Request) string {
	if t, _ := target.Match(r.Garden, r.Group, r.Kind, r.Name); t != nil {
		return t.Subject()
	}
	return ""
}

func (h *Handler) refused(w http.ResponseWriter, x *exchange, err error) {
	r := &refusal{reason: ReviewUnreadable, status: http.StatusBadRequest, message: "the review could not be read"}
	errors.As(err, &r)
	h.Metrics.failure(x, r.reason)
	h.Log.Error(nil, "Refused a request", "set", x.route.Set, "provider", x.route.label(), "reason", r.reason, "status", r.status, "message", r.message)
	http.Error(w, r.message, r.status)
}

// recover answers after a panic. The value of the panic is logged only where it is the runtime's own, as another could hold
// a piece of an object.
func (h *Handler) recover(w http.ResponseWriter, x *exchange) {
	value := recover()
	if value == nil {
		return
	}
	// What ends a connection on purpose is http.Server's business.
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	cause := fmt.Errorf("panic of type %T", value)
	if err, ok := value.(runtime.Error); ok {
		cause = err
	}
	h.Log.Error(cause, "Recovered from a panic", "stack", string(debug.Stack()))
	if x.review == nil {
		h.Metrics.failure(x, Panicked)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h.write(w, h.denied(context.Background(), nil, x, &denial{Panicked, http.StatusInternalServerError, "internal error (a bug in Graft; its log has the stack)", cause}))
}
