// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// The reasons for which a request fails outside of the engine; those of the engine are mutation.Reasons.
const (
	// ReviewUnreadable: the body is no AdmissionReview; HTTP 400.
	ReviewUnreadable mutation.Reason = "ReviewUnreadable"
	// ReviewTooLarge: the body is larger than configured; HTTP 413.
	ReviewTooLarge mutation.Reason = "ReviewTooLarge"
	// ReviewVersion: the review is of a version that is not served; HTTP 400.
	ReviewVersion mutation.Reason = "ReviewVersion"
	// ReviewMethod: the request is not a POST; HTTP 405.
	ReviewMethod mutation.Reason = "ReviewMethod"
	// ReviewMediaType: the body is not declared as JSON; HTTP 415.
	ReviewMediaType mutation.Reason = "ReviewMediaType"
	// Panicked: the program has a bug; denied with 500, or HTTP 500 when not even the UID was known.
	Panicked mutation.Reason = "Panicked"
	// Cancelled: the API server hung up; it reads no answer, and the code 504 is for the count only.
	Cancelled mutation.Reason = "Cancelled"
)

// refusal is a request that is no review that could be answered: it ends in an HTTP status instead of a response.
type refusal struct {
	reason  mutation.Reason
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(reason mutation.Reason, status int, format string, arguments ...any) *refusal {
	return &refusal{reason: reason, status: status, message: fmt.Sprintf(format, arguments...)}
}

// denial is why an admission is denied.
type denial struct {
	reason  mutation.Reason
	code    int32
	message string
	// cause is for the log alone.
	cause error
}

// denialOf turns what the engine returned into the answer. A deadline that passed explains every other error, as whatever
// was being read or evaluated was cut short by it.
func denialOf(ctx context.Context, err error) *denial {
	var failure *mutation.Failure
	isFailure := errors.As(err, &failure)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && isFailure:
		return &denial{mutation.DeadlineExceeded, http.StatusGatewayTimeout, "the deadline of the admission passed: " + failure.Message, err}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &denial{mutation.DeadlineExceeded, http.StatusGatewayTimeout, "the deadline of the admission passed", err}
	case ctx.Err() != nil:
		return &denial{Cancelled, http.StatusGatewayTimeout, "the caller hung up", err}
	}
	if isFailure {
		// The cause holds no values either (see mutation.Failure), and says what the author of the rule has to know.
		return &denial{failure.Reason, failure.Code(), string(failure.Reason) + ": " + failure.Error(), failure.Err}
	}
	return &denial{mutation.Internal, http.StatusInternalServerError, "internal error", err}
}

// statusReason is the machine-readable reason of an HTTP code, as metav1.StatusReason writes it.
func statusReason(code int32) string {
	switch code {
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusUnprocessableEntity:
		return "Invalid"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusGatewayTimeout:
		return "Timeout"
	default:
		return "InternalError"
	}
}
