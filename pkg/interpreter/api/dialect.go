// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"

// The kinds of messages, which are the names of the dialects.
const (
	KindContext = "ResourceInterpreterContext"
	KindReview  = "ExploreReview"
)

// dialect is how a kind of message is spoken.
type dialect struct {
	kind string
	// operations are all that the dialect has names for.
	operations map[string]interpreter.Operation
	// succeed appends the body of an answer that is complete.
	succeed func(out []byte, uid string, r *answer) ([]byte, error)
	// fail gives the status of HTTP and the body of an answer that is none.
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

// Operations are the operations of a dialect, by the names that it has for them.
func Operations(kind string) map[string]interpreter.Operation {
	named := map[string]interpreter.Operation{}
	if d := dialects[kind]; d != nil {
		for name, o := range d.operations {
			named[name] = o
		}
	}
	return named
}
