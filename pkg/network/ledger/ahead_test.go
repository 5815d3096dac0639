// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"testing"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// TestAheadIsBounded commits much while nothing is told. Memory is right at once, what is remembered has a bound, and when all is told, memory is
// right again and nothing is remembered.
func TestAheadIsBounded(t *testing.T) {
	prefix := netip.MustParsePrefix("10.0.0.0/14")
	var b netipx.IPSetBuilder
	b.AddPrefix(prefix)
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	pools, err := newPools([]Pool{{Name: "pool", Subnets: []Subnet{{Prefix: prefix, Dynamic: dynamic}}}})
	if err != nil {
		t.Fatal(err)
	}
	l := &Ledger{pools: pools, vlans: map[network.Trunk]*allocator.VLANs{}, following: &following{revision: 1, ahead: map[string]ahead{}}}
	owned := place{owner: network.Owner{Contract: "test", Key: "a"}}.encode()
	var log []Change
	commit := func(key string, value []byte) {
		log = append(log, Change{Key: key, Value: value})
		l.done(int64(len(log)+1), log[len(log)-1:])
	}
	const many = 2*maximumAhead + 10
	address := prefix.Addr()
	for i := range many {
		key := addressKey("pool", address)
		commit(key, owned)
		if i%2 == 0 {
			commit(key, nil)
		}
		address = address.Next()
	}
	if held := l.Usage("pool").Held; held != many/2 || len(l.following.ahead) != maximumAhead {
		t.Errorf("%d are held, and %d rows are remembered", held, len(l.following.ahead))
	}
	f := &follower{l}
	for i, change := range log {
		if err := f.Change(int64(i+2), change.Key, change.Value); err != nil {
			t.Fatal(err)
		}
		if i == len(log)/8 && l.Usage("pool").Held != many/2 {
			t.Errorf("what is told late undoes what is remembered: %d are held", l.Usage("pool").Held)
		}
	}
	if held := l.Usage("pool").Held; held != many/2 || len(l.following.ahead) != 0 {
		t.Errorf("%d are held, and %d rows are remembered when all is told", held, len(l.following.ahead))
	}
}
