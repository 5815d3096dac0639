// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP codec for Karmada's questions. It speaks two dialects on one path, distinguished by
// the message's kind: the one that Karmada ships (ResourceInterpreterContext) and the earlier proposal
// (ExploreReview).
//
// It decodes messages and encodes answers that the callers accept. The rules are behind an Interpreter. Objects
// are passed on as raw JSON. Certificates and client authentication belong to the server. Start reading at New.
package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

const (
	// Group is the API group of the messages of both dialects.
	Group = "config.karmada.io"
	// Version is the only supported version of the messages.
	Version = "v1alpha1"

	// DefaultMaximumBytes limits the body of a request if Options do not, in bytes. A request has at most two objects,
	// or one with the status of each cluster; etcd limits an object to 1.5 MiB (--max-request-bytes).
	DefaultMaximumBytes = 20 << 20
	// DefaultPatience is the timeout if neither the caller nor Options set one. Both dialects document it as
	// their default.
	DefaultPatience = 10 * time.Second
)

// Interpreter answers questions. Its errors are *interpreter.Failure, or faults of the server.
type Interpreter interface {
	Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error)
}

// Options configure a Handler.
type Options struct {
	Interpreter Interpreter
	// Log receives failures, without objects.
	Log logr.Logger
	// MaximumBytes limits the body of a request. The default is DefaultMaximumBytes.
	MaximumBytes int64
	// Patience limits the time for one request, as does the caller's `?timeout=`. The default is
	// DefaultPatience.
	Patience time.Duration
	// Answered is called after each answer. It may be nil.
	Answered func(Answered)
}

// Answered describes an answer, for metrics. Dialect, operation and kind are empty if they could not be read.
type Answered struct {
	Dialect   string
	Operation interpreter.Operation
	Kind      interpreter.Kind
	// Code is 200 for a success, and otherwise the code of the failure, independent of the HTTP status.
	Code int
	// Bytes is the size of the request's body.
	Bytes int
	Took  time.Duration
}

// New returns a handler for both dialects, on any path.
func New(o Options) *Handler {
	o.MaximumBytes, o.Patience = cmp.Or(max(0, o.MaximumBytes), DefaultMaximumBytes), cmp.Or(max(0, o.Patience), DefaultPatience)
	if o.Answered == nil {
		o.Answered = func(Answered) {}
	}
	return &Handler{options: o}
}

// The kinds of messages, which also name the dialects.
const (
	KindContext = "ResourceInterpreterContext"
	KindReview  = "ExploreReview"
)

// dialect describes how one kind of message is encoded.
type dialect struct {
	kind string
	// operations maps the dialect's names to operations.
	operations map[string]interpreter.Operation
	// succeed returns the response of a successful answer.
	succeed func(uid string, o interpreter.Operation, r interpreter.Response) (any, error)
	// fail returns the HTTP status and the body for a failure.
	fail func(uid string, f *interpreter.Failure) (status int, body any)
}

var dialects = map[string]*dialect{
	KindContext: {
		kind: KindContext,
		operations: map[string]interpreter.Operation{
			"InterpretReplica":    interpreter.Replicas,
			"InterpretComponent":  interpreter.Components,
			"ReviseReplica":       interpreter.Revise,
			"Retain":              interpreter.Retain,
			"AggregateStatus":     interpreter.Aggregate,
			"InterpretStatus":     interpreter.Status,
			"InterpretHealth":     interpreter.Health,
			"InterpretDependency": interpreter.Dependencies,
			"Prune":               interpreter.Prune,
		},
		succeed: contextSuccess,
		fail:    contextFailure,
	},
	KindReview: {
		kind: KindReview,
		operations: map[string]interpreter.Operation{
			"ExploreReplica":           interpreter.Replicas,
			"ExploreReplicaRevising":   interpreter.Revise,
			"ExploreRetaining":         interpreter.Retain,
			"ExploreStatusAggregating": interpreter.Aggregate,
			"ExploreStatus":            interpreter.Status,
			"ExploreHealthy":           interpreter.Health,
			"ExploreDependencies":      interpreter.Dependencies,
			"ExplorePacking":           interpreter.Prune,
		},
		succeed: reviewSuccess,
		fail:    statusOf,
	},
}

// Operations returns the operations of a dialect, by their names in it.
func Operations(kind string) map[string]interpreter.Operation {
	if d := dialects[kind]; d != nil {
		return maps.Clone(d.operations)
	}
	return nil
}

// fail returns the HTTP status and body for a failure, in the caller's dialect if it is known.
func (i identity) fail(f *interpreter.Failure) (int, any) {
	if i.uid == "" || i.dialect == nil {
		return statusOf(i.uid, f)
	}
	return i.dialect.fail(i.uid, f)
}

// failureOf converts an error to a failure. It also reports whether the fault is the server's; callers then
// learn no details.
func failureOf(err error) (f *interpreter.Failure, ours bool) {
	known, ok := errors.AsType[*interpreter.Failure](err)
	switch {
	case ok && known.Code >= http.StatusBadRequest && known.Code < 600:
		return &interpreter.Failure{Code: known.Code, Message: line(known.Message)}, known.Code >= http.StatusInternalServerError
	case ok:
		return &interpreter.Failure{Code: interpreter.CodeBroken, Message: line(known.Message)}, true
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return &interpreter.Failure{Code: http.StatusGatewayTimeout, Message: "the answer took longer than the caller's timeout"}, true
	}
	return &interpreter.Failure{Code: interpreter.CodeBroken, Message: "the server failed; its log has the reason"}, true
}

// line returns text as one line that fits an Event. For an empty text, it returns a fixed message.
func line(text string) string { return cmp.Or(serving.Line(text, serving.LongestLine), "it failed") }
