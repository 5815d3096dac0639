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

// reasons are those that clients of Kubernetes know by their status.
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

// statusOf is a failure as a status of HTTP, with a body of which clients of Kubernetes read the message: of texts, they drop it for most statuses.
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

// fail is a failure as it is answered.
func (i identity) fail(f *interpreter.Failure) (int, any) {
	if i.uid == "" || i.dialect == nil {
		return statusOf(i.uid, f)
	}
	return i.dialect.fail(i.uid, f)
}

// failureOf is the failure of an error, and whether it is the server's own fault, of which callers learn no more than that.
func failureOf(err error) (f *interpreter.Failure, ours bool) {
	known, ok := errors.AsType[*interpreter.Failure](err)
	switch {
	case ok && known.Code >= http.StatusBadRequest && known.Code < 600:
		return &interpreter.Failure{Code: known.Code, Message: line(known.Message)}, known.Code >= http.StatusInternalServerError
	case ok:
		return &interpreter.Failure{Code: interpreter.CodeBroken, Message: line(known.Message)}, true
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return &interpreter.Failure{Code: http.StatusGatewayTimeout, Message: "it takes longer than the caller waits"}, true
	}
	return &interpreter.Failure{Code: interpreter.CodeBroken, Message: "the server failed; its log says why"}, true
}

// longestLine is less than what an event holds (1 kB), with what callers put around it, in bytes.
const longestLine = 900

// line is a text on one line that is not too long for an event, and not empty.
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
