// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package api answers Karmada: in the dialect that it ships (ResourceInterpreterContext), and in that of the proposal before it (ExploreReview). Both
// come to one path, and are told apart by their kind.
//
// It reads messages and writes answers that the callers accept, and knows no rules: an Interpreter has them. Objects are not decoded here, but handed on
// as they came. Certificates and who may connect are the server's business. Enter at New.
package api

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

const (
	// Group is that of the messages of both dialects.
	Group = "config.karmada.io"
	// Version is that of the messages; no other is spoken.
	Version = "v1alpha1"

	// DefaultMaximumBytes bounds the body of a request where Options do not.
	DefaultMaximumBytes = 20 << 20
	// DefaultPatience is how long a caller waits where neither it nor Options say so: the timeout that both dialects call their default.
	DefaultPatience = 10 * time.Second
)

// Interpreter answers questions. Its error is an *interpreter.Failure, or the server's own fault.
type Interpreter interface {
	Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error)
}

// Options are those of the codec.
type Options struct {
	Interpreter Interpreter
	// Prompt says that the Interpreter comes back after its context has ended as soon as the function in hand has, whatever it is asked: it is asked about
	// small objects without a goroutine that could be left behind.
	Prompt bool
	// Log is told of what fails: without objects.
	Log logr.Logger
	// MaximumBytes bounds the body of a request. Default DefaultMaximumBytes.
	MaximumBytes int64
	// Patience is the longest that work is waited for; a caller that says `?timeout=` waits no longer than that. Default DefaultPatience.
	Patience time.Duration
	// Answered is told of each answer. It may be nil.
	Answered func(Answered)
}

// Answered is an answer, for metrics. Dialect, operation and kind are empty where they could not be read.
type Answered struct {
	Dialect   string
	Operation interpreter.Operation
	Kind      interpreter.Kind
	// Code is 200 for a success and else that of the failure, whatever the status of HTTP was.
	Code int
	// Bytes are those of the request's body.
	Bytes int
	Took  time.Duration
}

// New answers both dialects, on whatever path.
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
