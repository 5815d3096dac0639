// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestUnfinished separates unfinished from bound allocations by their state only.
func TestUnfinished(t *testing.T) {
	l, err := ledger.Open(t.Context(), storeOf(t, nil), pools(t))
	if err != nil {
		t.Fatal(err)
	}
	tricky := json.RawMessage(`{"state":"bound","other":"\"state\":\"intended\""}`)
	for key, state := range map[string]network.State{
		"a": network.Bound, "b": network.Intended, `"state":"bound"`: network.Intended, `"state":"intended"`: network.Bound, "c": network.Releasing,
	} {
		in := intent()
		in.Owner.Key, in.State = key, network.Intended
		in.Cloud = `","state":"bound"`
		in.Holder = network.Holder{Name: `"state":"bound"`}
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		_, err := l.Update(t.Context(), in.Owner, func(a *network.Allocation) error {
			a.State, a.Binding.Reference = state, tricky
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]network.State{}
	if err := l.Unfinished(t.Context(), func(a network.Allocation) error { got[a.Owner.Key] = a.State; return nil }); err != nil {
		t.Fatal(err)
	}
	want := map[string]network.State{"b": network.Intended, `"state":"bound"`: network.Intended, "c": network.Releasing}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}
}
