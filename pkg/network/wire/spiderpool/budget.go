// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// timeoutHeader is how many milliseconds the caller still waits; Spiderpool sends it from v1.2.2 on.
const timeoutHeader = "X-Request-Timeout-Ms"

// unsaid is how long a caller waits that does not say so, by the contract. It bounds those that do, too.
const unsaid = 2 * time.Minute

// The part of a caller's time that is kept for the way back.
const (
	returnPart = 20
	returnMost = 500 * time.Millisecond
)

// within bounds the work on a request by the time that its caller has.
func within(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), budget(r.Header.Get(timeoutHeader)))
}

// budget parses the header. It ignores an invalid number, because a call without a deadline is better than a refusal;
// the result is not positive if no time is left.
func budget(header string) time.Duration {
	milliseconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64)
	if err != nil || milliseconds > unsaid.Milliseconds() {
		return unsaid
	}
	left := time.Duration(max(milliseconds, 0)) * time.Millisecond
	return left - min(left/returnPart, returnMost)
}
