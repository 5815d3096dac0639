// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// panicking is a store with commits that panic while it is set.
type panicking struct {
	ledger.Store
	now bool
}

func (s *panicking) Commit(ctx context.Context, changes ...ledger.Change) error {
	if s.now {
		panic("the store is broken")
	}
	return s.Store.Commit(ctx, changes...)
}

// TestPanicBeforeRow checks that a failed endpoint without a row leaves no claim: neither its address and MAC address
// in the network, nor a VLAN of a parent.
func TestPanicBeforeRow(t *testing.T) {
	for _, options := range [][]string{nil, {"kind=vlan", "parent=eth0"}} {
		w := newWorld(t)
		store := &panicking{Store: w.store}
		w.store = store
		w.restart()
		w.create(plain("net", "172.30.0.0/24", "172.30.0.1", options...))
		w.create(plain("other", "172.31.0.0/24", "172.31.0.1", options...))
		ask := func(network, id, address string) error {
			e := endpoint(network, id, address)
			if options != nil {
				e.Options = mapOf("vlan=42")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := w.CreateEndpoint(ctx, e)
			return err
		}
		store.now = true
		func() {
			defer func() { _ = recover() }()
			_ = ask("net", "one", "172.30.0.2/24")
			t.Error("want a panic in the injected step, got none")
		}()
		store.now = false
		next := "net"
		if options == nil {
			w.must(ask(next, "two", "172.30.0.2/24"))
		} else {
			next = "other"
			w.must(ask(next, "two", "172.31.0.2/24"))
		}
		w.same("rows", []string{"endpoint/" + next + "/two", "network/net", "network/other"}, w.rows())
	}
}
