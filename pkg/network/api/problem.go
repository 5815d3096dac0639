// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Problem is an error with its HTTP status. Users of the caller see its text, for example in an event of a Pod.
type Problem struct {
	Status  int
	Message string
	// RetryAfter is the time until a retry makes sense, or 0 if it is unknown.
	RetryAfter time.Duration
	// Cause is logged in addition to the message; it may be nil.
	Cause error
}

// Problemf returns a problem with a formatted message.
func Problemf(status int, format string, values ...any) *Problem {
	return &Problem{Status: status, Message: fmt.Sprintf(format, values...)}
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Status returns the HTTP status of an error.
type Status struct {
	Err    error
	Status int
}

// statusOf returns the status of the first match.
func statusOf(err error, statuses []Status) (int, bool) {
	for _, s := range statuses {
		if errors.Is(err, s.Err) {
			return s.Status, true
		}
	}
	return 0, false
}

// usual returns the HTTP status of an error of the network packages.
var usual = []Status{
	{policy.ErrDenied, http.StatusForbidden},
	{network.ErrBusy, http.StatusTooManyRequests},
	{network.ErrRefused, http.StatusUnprocessableEntity},
	{network.ErrNotSent, http.StatusInternalServerError},
	{network.ErrUnknownPool, http.StatusNotFound},
	{network.ErrOutside, http.StatusBadRequest},
	{network.ErrTaken, http.StatusConflict},
	{network.ErrQuota, http.StatusForbidden},
	{network.ErrNotHeld, http.StatusNotFound},
	{network.ErrExhausted, http.StatusServiceUnavailable},
	{network.ErrReleased, http.StatusConflict},
	{network.ErrGone, http.StatusServiceUnavailable},
	{network.ErrUnavailable, http.StatusServiceUnavailable},
}

// ProblemOf returns the problem of an error: with the usual status, or that of a contract. Unknown errors are the
// server's own fault: their text is only logged. It returns nil for nil.
func ProblemOf(err error, otherwise ...Status) *Problem {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := &Problem{Status: http.StatusInternalServerError, Message: "the server failed; its log has the reason", Cause: err}
	if status, ok := statusOf(err, usual); ok {
		p.Status, p.Message = status, err.Error()
	} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.Status, p.Message = http.StatusGatewayTimeout, "it takes longer than the caller waits; the work continues: retry"
	}
	if busy, ok := errors.AsType[*network.Busy](err); ok {
		p.RetryAfter = busy.RetryAfter
	}
	if status, ok := statusOf(err, otherwise); ok {
		p.Status = status
	}
	return p
}

// Header sets the header Retry-After if the time until a retry is known.
func (p *Problem) Header(w http.ResponseWriter) {
	if p.RetryAfter > 0 {
		seconds := (p.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
}

// Write answers with the problem: its text, on one line.
func (p *Problem) Write(w http.ResponseWriter) {
	p.Header(w)
	writeBytes(w, p.Status, "text/plain; charset=utf-8", []byte(Line(p.Message)))
}

// Panic is a panic of another goroutine of a request, with its stack; the request's own goroutine panics with it.
type Panic struct {
	Value any
	Stack []byte
}

// Line returns a text on one line, shortened for an event.
func Line(text string) string {
	return serving.Line(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "), serving.LongestLine)
}
