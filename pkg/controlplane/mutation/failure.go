// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Reason is the reason of a failed admission in one word. Metrics count it, and docs/failures.md lists all.
type Reason string

// The reasons, which docs/failures.md explains.
const (
	NotLoaded          Reason = "NotLoaded"
	ProfileInvalid     Reason = "ProfileInvalid"
	ObjectUnreadable   Reason = "ObjectUnreadable"
	ContainerMissing   Reason = "ContainerMissing"
	NodePartMissing    Reason = "NodePartMissing"
	NestedUnreadable   Reason = "NestedUnreadable"
	ExpressionFailed   Reason = "ExpressionFailed"
	ClusterMissing     Reason = "ClusterMissing"
	ClusterUndecodable Reason = "ClusterUndecodable"
	FactsUnavailable   Reason = "FactsUnavailable"
	LookupFailed       Reason = "LookupFailed"
	LookupMissing      Reason = "LookupMissing"
	ContractBroken     Reason = "ContractBroken"
	DeadlineExceeded   Reason = "DeadlineExceeded"
	Internal           Reason = "Internal"
	// DeniedByRule: a deny rule of the profile applies.
	DeniedByRule Reason = "DeniedByRule"
)

// Failure is the error of an admission. Its message contains no value of the object or of a lookup, unless the author
// of a deny rule writes one into its message.
type Failure struct {
	Reason Reason
	// Message describes the error, with the rule and its position if a rule caused it.
	Message string
	// Target is the name of the target; empty if the object has no rule.
	Target string
	// By is the deny rule that applies, or nil for other reasons.
	By *Applied
	// Rule is the rule that could not be applied, or nil.
	Rule *Rule
	// Err is the cause, for logs, or nil if the message is complete.
	Err error
}

// codes are the HTTP status codes in the admission's answer.
var codes = map[Reason]int32{
	NotLoaded: 503, ProfileInvalid: 503, ObjectUnreadable: 422, ContainerMissing: 422, NodePartMissing: 422, NestedUnreadable: 422, ExpressionFailed: 500,
	ClusterMissing: 503, ClusterUndecodable: 500, FactsUnavailable: 503, LookupFailed: 503, LookupMissing: 422,
	ContractBroken: 403, DeadlineExceeded: 504, Internal: 500, DeniedByRule: 403,
}

func asFailure(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return fail(Internal, err, "unexpected error")
}

func applyFailure(what string, err error) *Failure {
	reason := Internal
	switch {
	case errors.Is(err, target.ErrContainerMissing):
		reason = ContainerMissing
	case errors.Is(err, document.ErrDuplicateKey), errors.Is(err, document.ErrTooLarge), errors.Is(err, document.ErrTooDeep):
		reason = ObjectUnreadable
	case errors.Is(err, target.ErrNested), errors.Is(err, document.ErrKind):
		reason = NestedUnreadable
	case errors.Is(err, operation.ErrValue):
		reason = ExpressionFailed
	case errors.Is(err, target.ErrNodePartMissing):
		reason = NodePartMissing
	case errors.Is(err, contract.ErrBroken):
		reason = ContractBroken
	}
	return fail(reason, err, "%s", what)
}

// Error returns the message with the cause.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Message + ": " + f.Err.Error()
	}
	return f.Message
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Code returns the HTTP status code for the response to kube-apiserver.
func (f *Failure) Code() int32 { return codes[f.Reason] }

// fail returns a failure. If no time was left, this is the reason.
func fail(reason Reason, err error, format string, arguments ...any) *Failure {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		reason = DeadlineExceeded
	}
	return &Failure{Reason: reason, Message: fmt.Sprintf(format, arguments...), Err: err}
}

func evaluationFailure(r *Rule, err error) *Failure {
	return fail(ExpressionFailed, err, "rule %s", r)
}

func factsFailure(namespace string, err error) *Failure {
	reason := FactsUnavailable
	switch {
	case errors.Is(err, facts.ErrNotFound):
		reason = ClusterMissing
	case errors.Is(err, facts.ErrUndecodable):
		reason = ClusterUndecodable
	}
	return fail(reason, err, "reading the facts of namespace %s", namespace)
}

func lookupFailure(e *scope.LookupError) *Failure {
	reason := LookupFailed
	switch {
	case e.Unresolved:
		reason = ExpressionFailed
	case errors.Is(e.Cause, facts.ErrNotFound):
		reason = LookupMissing
	}
	return fail(reason, e, "%s", e.Subject())
}
