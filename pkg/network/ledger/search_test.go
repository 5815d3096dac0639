// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// TestSearchFindsQuarantines checks that a search for an address finds its quarantine, with its end and the last owner.
func TestSearchFindsQuarantines(t *testing.T) {
	store := memory.Open(t)
	l, err := ledger.Open(t.Context(), store, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1e9, 0).UTC()
	for _, key := range []string{"rests", "holds"} {
		in := intent()
		in.Owner = test(key)
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Delete(t.Context(), test("rests"), now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr("10.0.0.1")
	for name, c := range map[string]struct {
		query ledger.Query
		want  []string
	}{
		"an address in quarantine":                  {ledger.Query{Address: address}, []string{"10.0.0.1 of the pool pool until 2001-09-09T01:47:40Z, last test/rests"}},
		"an address in quarantine, of its pool":     {ledger.Query{Address: address, Pool: "pool"}, []string{"10.0.0.1 of the pool pool until 2001-09-09T01:47:40Z, last test/rests"}},
		"an address in quarantine, of another pool": {ledger.Query{Address: address, Pool: "other"}, nil},
		"an address in quarantine has no owner":     {ledger.Query{Address: address, Owner: "test/*"}, nil},
		"an address in quarantine is not bound":     {ledger.Query{Address: address, State: network.Bound}, nil},
		"an allocated address":                      {ledger.Query{Address: address.Next()}, []string{"test/holds"}},
		"returns all without a filter":              {ledger.Query{}, []string{"test/holds"}},
	} {
		var got []string
		err := ledger.Search(t.Context(), store, c.query, func(e ledger.Entry) error {
			if e.Allocation != nil {
				got = append(got, e.Owner.String())
				return nil
			}
			got = append(got, e.Resource.String()+" until "+e.Until.Format(time.RFC3339)+", last "+e.Last.String())
			return nil
		})
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}
