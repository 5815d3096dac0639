// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"testing"
)

// TestRequestIsReleasedByLastHolder checks that a request is released once, when its last holder is done.
func TestRequestIsReleasedByLastHolder(t *testing.T) {
	left := 0
	ctx, release := WithHold(context.Background(), func() { left++ })
	worker := Hold(ctx)
	release()
	if left != 0 {
		t.Error("the place was released during the work")
	}
	worker()
	Hold(ctx)()
	if left != 1 {
		t.Errorf("the place was released %d times, want once", left)
	}
	Hold(context.Background())()
}
