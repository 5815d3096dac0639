// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

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
	named := map[string]interpreter.Operation{}
	if d := dialects[kind]; d != nil {
		for name, o := range d.operations {
			named[name] = o
		}
	}
	return named
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
	return &interpreter.Failure{Code: interpreter.CodeBroken, Message: "the server failed; its log says why"}, true
}

// longestLine limits messages, in bytes. It leaves room in an Event (1 kB) for the text that callers add.
const longestLine = 900

// line returns text as one line that fits an Event, or a placeholder if it is empty.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(text), "?"))
	if text == "" {
		return "it failed"
	}
	if len(text) <= longestLine {
		return text
	}
	end := longestLine
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
