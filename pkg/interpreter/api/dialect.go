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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// succeed appends the body of a successful answer.
	succeed func(out []byte, uid string, r *answer) ([]byte, error)
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

// contextFailed is the message for a failure.
type contextFailed struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Response   contextResponse `json:"response"`
}

type contextResponse struct {
	UID        string        `json:"uid"`
	Successful bool          `json:"successful"`
	Failure    contextStatus `json:"status"`
}

type contextStatus struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func contextSuccess(out []byte, uid string, a *answer) ([]byte, error) {
	o := beginMessage(out, KindContext, uid)
	o.member("successful").bool(true)
	a.writeTo(&o, "rawStatus")
	return o.endMessage(), nil
}

// contextFailure returns status 200, because Karmada reads the message of the answer only then.
func contextFailure(uid string, f *interpreter.Failure) (int, any) {
	response := contextResponse{UID: uid, Failure: contextStatus{Message: f.Message, Code: f.Code}}
	return http.StatusOK, contextFailed{Group + "/" + Version, KindContext, response}
}

// reviewSuccess encodes a successful ExploreReview. The dialect has only nodeClaim and resourceRequest for
// requirements, and requires them for replicas. It fails if a dependency is selected by labels, which the
// dialect cannot express.
func reviewSuccess(out []byte, uid string, a *answer) ([]byte, error) {
	said := *a
	if a.operation == interpreter.Replicas {
		said.requirements = &interpreter.Requirements{}
		if r := a.requirements; r != nil {
			*said.requirements = interpreter.Requirements{NodeClaim: r.NodeClaim, ResourceRequest: r.ResourceRequest}
		}
	}
	for _, d := range a.dependencies {
		if d.Name == "" {
			return nil, unfit("a dependency on %.80s is known by its labels only, and an %s can name objects only", d.Kind, KindReview)
		}
	}
	said.dependencies = byName(a.dependencies)
	o := beginMessage(out, KindReview, uid)
	said.writeTo(&o, "status")
	return o.endMessage(), nil
}

// byName returns the dependencies without label selectors, for which the dialect has no field.
func byName(all []interpreter.Dependency) []interpreter.Dependency {
	named := make([]interpreter.Dependency, len(all))
	for i, d := range all {
		d.LabelSelector = nil
		named[i] = d
	}
	return named
}

// reasons maps HTTP statuses to the reasons that Kubernetes clients know.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// statusOf returns a failure as a metav1.Status. Kubernetes clients read its message, but drop plain text for
// most HTTP statuses.
func statusOf(uid string, f *interpreter.Failure) (int, any) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Message: f.Message, Reason: reasons[f.Code], Code: int32(f.Code),
	}
	if uid != "" {
		status.Details = &metav1.StatusDetails{UID: types.UID(uid)}
	}
	return f.Code, status
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
