// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// The reasons for failures outside of the engine. The engine's reasons are mutation.Reasons.
const (
	// ReviewUnreadable: the body is not an AdmissionReview; HTTP 400.
	ReviewUnreadable mutation.Reason = "ReviewUnreadable"
	// ReviewTooLarge: the body is larger than configured; HTTP 413.
	ReviewTooLarge mutation.Reason = "ReviewTooLarge"
	// ReviewVersion: the version of the review is not supported; HTTP 400.
	ReviewVersion mutation.Reason = "ReviewVersion"
	// ReviewMethod: the request is not a POST; HTTP 405.
	ReviewMethod mutation.Reason = "ReviewMethod"
	// ReviewMediaType: the body is not declared as JSON; HTTP 415.
	ReviewMediaType mutation.Reason = "ReviewMediaType"
	// Panicked: the program has a bug; denied with 500, or HTTP 500 if the UID was not known yet.
	Panicked mutation.Reason = "Panicked"
	// Cancelled: the API server disconnected; it reads no answer, and the code 504 is only counted.
	Cancelled mutation.Reason = "Cancelled"
)

// rejection is the reason of a denied admission, or of a request that is not a valid review and is answered with an HTTP
// status instead of a response.
type rejection struct {
	reason  mutation.Reason
	code    int32
	message string
	// cause is logged, but not returned.
	cause error
}

// refuse returns the rejection of a request that is not a valid review.
func refuse(reason mutation.Reason, code int32, format string, arguments ...any) *rejection {
	return &rejection{reason: reason, code: code, message: fmt.Sprintf(format, arguments...)}
}

// denialOf converts an error of the engine. An expired deadline takes precedence, because it interrupts reads
// and evaluations and so causes other errors.
func denialOf(ctx context.Context, err error) *rejection {
	var failure *mutation.Failure
	isFailure := errors.As(err, &failure)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && isFailure:
		return &rejection{mutation.DeadlineExceeded, http.StatusGatewayTimeout, "the deadline of the admission passed: " + failure.Message, err}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &rejection{mutation.DeadlineExceeded, http.StatusGatewayTimeout, "the deadline of the admission passed", err}
	case ctx.Err() != nil:
		return &rejection{Cancelled, http.StatusGatewayTimeout, "the caller disconnected", err}
	}
	if isFailure {
		// The cause contains no values either (see mutation.Failure), and explains the problem to the author of
		// the rule.
		return &rejection{failure.Reason, failure.Code(), string(failure.Reason) + ": " + failure.Error(), failure.Err}
	}
	return &rejection{mutation.Internal, http.StatusInternalServerError, "internal error", err}
}

// statusReason returns the reason of an HTTP code.
func statusReason(code int32) metav1.StatusReason {
	return apierrors.NewGenericServerResponse(int(code), "", schema.GroupResource{}, "", "", 0, false).ErrStatus.Reason
}
