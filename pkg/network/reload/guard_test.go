// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// TestGuard checks that the active profiles stay while a guard rejects the next ones.
func TestGuard(t *testing.T) {
	w := newWorld(t)
	var inTheWay error
	asked := 0
	w.options.Guard = func(_ context.Context, next *policy.Policy, put func() error) error {
		if asked++; next.Pool("overlay") == nil {
			t.Error("the guard is not asked of the next policy")
		}
		if inTheWay != nil {
			return inTheWay
		}
		return put()
	}
	w.open(t, pool("10.0.0.1-10.0.0.9", ""))
	before := w.Policy().Hash
	inTheWay = errors.New("a network is in the way")
	if got := w.load(t, pool("10.0.0.1-10.0.0.20", "")); got != inTheWay.Error() || w.Policy().Hash != before || asked != 1 {
		t.Errorf("loading says %q; asked %d times", got, asked)
	}
	if diff := cmp.Diff([4]float64{1, 1, 1, 0}, w.counts(t)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	inTheWay = nil
	if err := w.Load(t.Context()); err == nil || asked != 1 {
		t.Error("it is tried again at once")
	}
	w.clock.Step(time.Minute)
	if err := w.Load(t.Context()); err != nil || w.Policy().Hash == before {
		t.Errorf("it is not tried again: %v", err)
	}
}
