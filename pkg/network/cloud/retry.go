// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cloud

import "time"

// RetryAfter is the error of a call that a cloud refused because of too many requests. A rate limiter finds it with
// errors.As and sends no requests to the cloud for this time.
type RetryAfter struct {
	// After is how long the cloud wants to be left alone; at least a second, at most MaximumRetryAfter.
	After time.Duration
	// Reason is the cloud's message.
	Reason string
}

// MaximumRetryAfter limits the pause that a cloud can request: a wrong clock or value must not stop a pool for a day.
const MaximumRetryAfter = 5 * time.Minute

// NewRetryAfter returns the error with the time limited to its bounds.
func NewRetryAfter(after time.Duration, reason string) *RetryAfter {
	return &RetryAfter{After: min(MaximumRetryAfter, max(time.Second, after)), Reason: reason}
}

// Error implements error.
func (r *RetryAfter) Error() string {
	return r.Reason + "; the cloud is to be asked again in " + r.After.String()
}
