// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"fmt"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// statuses lists deviations of the contract from the usual codes: it defines 400, 404, 409 and 500, and 500 for
// temporary errors.
var statuses = []wire.Status{
	{Err: network.ErrBusy, Status: http.StatusTooManyRequests},
	{Err: network.ErrRefused, Status: http.StatusBadRequest},
	{Err: network.ErrQuota, Status: http.StatusConflict},
	{Err: network.ErrUnknownPool, Status: http.StatusInternalServerError},
	{Err: network.ErrExhausted, Status: http.StatusInternalServerError},
	{Err: network.ErrUnavailable, Status: http.StatusInternalServerError},
	{Err: context.DeadlineExceeded, Status: http.StatusInternalServerError},
	{Err: context.Canceled, Status: http.StatusInternalServerError},
}

func problemOf(err error) *wire.Problem { return wire.ProblemOf(err, statuses...) }

func bad(format string, values ...any) *wire.Problem {
	return wire.Problemf(http.StatusBadRequest, format, values...)
}

// broken returns the problem of an invalid response: the author of the profile, or of Graft, must fix it.
func broken(what string, err error) *wire.Problem {
	return &wire.Problem{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("the server's profile is broken: %s: %s", what, err),
		Cause:   fmt.Errorf("a broken answer is not sent: %s: %w", what, err),
	}
}
