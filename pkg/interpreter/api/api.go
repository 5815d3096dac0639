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
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

const (
	// Group is the API group of the messages of both dialects.
	Group = "config.karmada.io"
	// Version is the only supported version of the messages.
	Version = "v1alpha1"

	// DefaultMaximumBytes limits the body of a request if Options do not.
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
	// Prompt states that the Interpreter returns soon after its context ends: after the CEL function that is
	// running. The Handler then calls it for small objects without a separate goroutine.
	Prompt bool
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
	if o.MaximumBytes <= 0 {
		o.MaximumBytes = DefaultMaximumBytes
	}
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Answered == nil {
		o.Answered = func(Answered) {}
	}
	return &Handler{options: o}
}
