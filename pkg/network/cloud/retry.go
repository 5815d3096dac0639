// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cloud

import "time"

// RetryAfter is the error of a call that a cloud has turned away since it is asked too much. Whoever limits the requests to the cloud finds it
// with errors.As, and asks nothing of the cloud for so long.
type RetryAfter struct {
	// After is how long the cloud wants to be left alone; at least a second, at most MaximumRetryAfter.
	After time.Duration
	// Reason is what it said.
	Reason string
}

// MaximumRetryAfter bounds what a cloud can ask for: a wrong clock or a slip must not stop a pool for a day.
const MaximumRetryAfter = 5 * time.Minute

// NewRetryAfter is the error with a time that is within its bounds.
func NewRetryAfter(after time.Duration, reason string) *RetryAfter {
	return &RetryAfter{After: min(MaximumRetryAfter, max(time.Second, after)), Reason: reason}
}

// Error implements error.
func (r *RetryAfter) Error() string {
	return r.Reason + "; the cloud is to be asked again in " + r.After.String()
}
