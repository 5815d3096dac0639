// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestReleaseIf checks that a condition sees the stored row after another server changed it, not the remembered one.
func TestReleaseIf(t *testing.T) {
	now := time.Unix(1e9, 0)
	held := func(uid string) ledger.Intent {
		in := intent()
		in.Holder.UID = uid
		return in
	}
	again := func(ctx context.Context, l *ledger.Ledger) error {
		if err := l.Delete(ctx, test("a"), now, now); err != nil {
			return err
		}
		in := held("second")
		in.Owner = test("a")
		_, _, err := l.Reserve(ctx, in)
		return err
	}
	for name, c := range map[string]struct {
		// meanwhile is the action of the other server.
		meanwhile func(context.Context, *ledger.Ledger) error
		// uid is the UID of the holder to release.
		uid string
		// left is the holder that ReleaseIf found instead, and there lists the owners with allocations afterwards.
		left, there string
	}{
		"deletes a row that nobody changed": {func(context.Context, *ledger.Ledger) error { return nil }, "first", "", ""},
		"another holder has the allocation": {func(context.Context, *ledger.Ledger) error { return nil }, "second", "first", "first"},
		"keeps an allocation in release":    {func(ctx context.Context, l *ledger.Ledger) error { return l.Delete(ctx, test("a"), now, now) }, "first", "", ""},
		"deletes a row that was bound meanwhile": {func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Update(ctx, test("a"), func(a *network.Allocation) error { a.State = network.Bound; return nil })
			return err
		}, "first", "", ""},
		"keeps an address reallocated by another server": {again, "first", "second", "second"},
		"keeps an address that another server preempts":  {again, "second", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := newTelling(t, 0, 0, 0)
			one, two := follow(t, store), follow(t, store)
			in := held("first")
			in.Owner, in.State = test("a"), network.Intended
			if _, _, err := one.Reserve(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if err := c.meanwhile(t.Context(), two); err != nil {
				t.Fatal(err)
			}
			left, err := one.ReleaseIf(t.Context(), in.Owner, now, false, func(a network.Allocation) (time.Time, ledger.Release) {
				if a.Holder.UID == c.uid {
					return now, ledger.Deleted
				}
				return now, ledger.Kept
			})
			if err != nil {
				t.Fatal(err)
			}
			var found string
			if left != nil {
				found = left.Holder.UID
			}
			var there string
			if err := two.All(t.Context(), func(a network.Allocation) error { there += a.Holder.UID; return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.left, c.there}, []string{found, there}); diff != "" {
				t.Errorf("who is left, and who is there (-want +got):\n%s", diff)
			}
		})
	}
}
