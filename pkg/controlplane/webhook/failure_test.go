// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestDenialOf checks the message after a timeout, with the lookup or rule that caused it.
func TestDenialOf(t *testing.T) {
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	gone, leave := context.WithCancel(context.Background())
	leave()
	slow := &mutation.Failure{Reason: mutation.DeadlineExceeded, Message: "profile p: lookup cloud", Err: errors.New("reading the Secret a/x")}
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		reason  mutation.Reason
		message string
	}{
		{"a lookup was slow", late, slow, mutation.DeadlineExceeded, "the deadline of the admission passed: profile p: lookup cloud"},
		{"another step was slow", late, errors.New("x"), mutation.DeadlineExceeded, "the deadline of the admission passed"},
		{"reports a caller that disconnected", gone, slow, Cancelled, "the caller disconnected"},
		{"there was time", context.Background(), slow, mutation.DeadlineExceeded, "DeadlineExceeded: profile p: lookup cloud: reading the Secret a/x"},
		{"reports an unknown error as internal", context.Background(), errors.New("x"), mutation.Internal, "internal error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := denialOf(c.ctx, c.err); got.reason != c.reason || got.message != c.message {
				t.Errorf("got %s: %s, want %s: %s", got.reason, got.message, c.reason, c.message)
			}
		})
	}
}
