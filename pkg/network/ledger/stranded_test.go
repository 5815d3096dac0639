// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestAllocationsOutsideOfTheirPool checks which allocations are outside of their pool: those with one of two addresses outside, and those
// without addresses, but no quarantines.
func TestAllocationsOutsideOfTheirPool(t *testing.T) {
	store, _ := newDoubtful(t)
	both, chosen := ranged(t, "10.0.0.1-10.0.0.9", "fd00::1-fd00::9"), ledger.Pool{Name: "chosen"}
	l, err := ledger.Open(t.Context(), store, both, chosen)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ key, pool string }{{"a", both.Name}, {"b", both.Name}, {"c", chosen.Name}} {
		in := intent()
		in.Owner, in.Pool, in.Addresses, in.Trunk, in.Families = test(of.key), of.pool, nil, network.Trunk{}, nil
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Update(t.Context(), test("c"), func(a *network.Allocation) error {
		a.Binding.Reference, a.Cloud = json.RawMessage(`{"addresses":["10.0.0.1"]}`), `"addresses":["10.0.0.1"]`
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	if err := l.Delete(t.Context(), test("b"), now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pools []ledger.Pool
		want  []string
	}{
		"the pool is unchanged":     {[]ledger.Pool{both, chosen}, nil},
		"one family shrinks":        {[]ledger.Pool{ranged(t, "10.0.0.1-10.0.0.9", "fd00::9-fd00::9"), chosen}, []string{"a"}},
		"without a family":          {[]ledger.Pool{ranged(t, "10.0.0.1-10.0.0.9"), chosen}, []string{"a"}},
		"a cloud chooses now":       {[]ledger.Pool{{Name: both.Name}, chosen}, nil},
		"one pool is removed":       {[]ledger.Pool{both}, []string{"c"}},
		"all pools are removed":     {nil, []string{"a", "c"}},
		"a quarantine has no owner": {[]ledger.Pool{ranged(t, "10.0.0.1-10.0.0.1", "fd00::1-fd00::1"), chosen}, nil},
	} {
		stranded, err := l.Configure(t.Context(), func(network.Allocation) bool { return true }, test.pools...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range stranded {
			got = append(got, a.Owner.Key)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
