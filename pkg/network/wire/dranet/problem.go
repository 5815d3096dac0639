// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// statuses are those where the contract says otherwise than what is usual: it knows 400, 404, 409 and 500, and 500 is for what may pass.
var statuses = []struct {
	err    error
	status int
}{
	{network.ErrBusy, http.StatusTooManyRequests},
	{network.ErrRefused, http.StatusBadRequest},
	{network.ErrQuota, http.StatusConflict},
	{network.ErrUnknownPool, http.StatusInternalServerError},
	{network.ErrExhausted, http.StatusInternalServerError},
	{network.ErrUnavailable, http.StatusInternalServerError},
	{context.DeadlineExceeded, http.StatusInternalServerError},
	{context.Canceled, http.StatusInternalServerError},
}

func problemOf(err error) *wire.Problem {
	problem := wire.ProblemOf(err)
	if _, said := errors.AsType[*wire.Problem](err); said {
		return problem
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			problem.Status = s.status
			break
		}
	}
	return problem
}

func bad(format string, values ...any) *wire.Problem {
	return wire.Problemf(http.StatusBadRequest, format, values...)
}

// broken is the problem of what we would have answered: the author of the profile, or we, have to look at it.
func broken(what string, err error) *wire.Problem {
	return &wire.Problem{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("the server's profile is broken: %s: %s", what, err),
		Cause:   fmt.Errorf("a broken answer is not sent: %s: %w", what, err),
	}
}
