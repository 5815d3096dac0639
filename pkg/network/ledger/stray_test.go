// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// strayWorld is a store with two ledgers. One of them gets the changes of the other only on command.
type strayWorld struct {
	// does reserves and releases, and asked is the ledger whose answers are checked; both are the same on a store that
	// is not shared.
	does, asked *ledger.Ledger
	// told waits until asked has received all changes.
	told func()
}

// strayWorlds are a store of one server, and one that two servers follow.
func strayWorlds(t *testing.T, each func(t *testing.T, open func(pools ...ledger.Pool) strayWorld)) {
	t.Helper()
	t.Run("on one server", func(t *testing.T) {
		store := memory.Open(t)
		each(t, func(pools ...ledger.Pool) strayWorld {
			l, err := ledger.Open(t.Context(), store, pools...)
			if err != nil {
				t.Fatal(err)
			}
			return strayWorld{l, l, func() {}}
		})
	})
	t.Run("on a server that follows another", func(t *testing.T) {
		store, watches := newTelling(t, 0, 0, 0), 0
		each(t, func(pools ...ledger.Pool) strayWorld {
			watches += 2
			all := watches
			return strayWorld{follow(t, store, pools...), follow(t, store, pools...), func() { store.toldAll(all) }}
		})
	})
}

func (w strayWorld) configure(t *testing.T, pools ...ledger.Pool) {
	t.Helper()
	for _, l := range []*ledger.Ledger{w.does, w.asked} {
		if _, err := l.Configure(t.Context(), nil, pools...); err != nil {
			t.Fatal(err)
		}
	}
}

// reserve returns the choice of a pool, or an address by name, or the error.
func reserve(t *testing.T, l *ledger.Ledger, pool, key, address string) string {
	t.Helper()
	in := intent()
	in.Pool, in.Owner = pool, test(key)
	if address != "" {
		in.Addresses = []netip.Addr{netip.MustParseAddr(address)}
	}
	a, _, err := l.Reserve(t.Context(), in)
	if err != nil {
		return err.Error()
	}
	return a.Addresses[0].String()
}

func forget(t *testing.T, l *ledger.Ledger, key string, rest time.Duration) {
	t.Helper()
	now := time.Unix(1e9, 0)
	if err := l.Delete(t.Context(), test(key), now, now.Add(rest)); err != nil {
		t.Fatal(err)
	}
}

func named(p ledger.Pool, name string) ledger.Pool {
	p.Name = name
	return p
}

const (
	noneIsFree = "exhausted: the pool b has no free address in 10.0.0.0/24"
	firstTaken = "in use: 10.0.0.4"
)

// TestAddressesOfAnotherPoolAreNotAllocated checks that no pool allocates an address of another pool before it is free: after the pool was shrunk or
// renamed, and if the row is found in the store, in memory or in a change.
func TestAddressesOfAnotherPoolAreNotAllocated(t *testing.T) {
	whole, rest := "10.0.0.1-10.0.0.6", "10.0.0.4-10.0.0.6"
	for name, after := range map[string]func(t *testing.T) []ledger.Pool{
		"after the pool was drained": func(t *testing.T) []ledger.Pool {
			return []ledger.Pool{named(ranged(t, "10.0.0.1-10.0.0.3"), "a"), named(ranged(t, rest), "b")}
		},
		"after the pool was renamed": func(t *testing.T) []ledger.Pool { return []ledger.Pool{named(ranged(t, rest), "b")} },
	} {
		for _, reopened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reopened: %v", name, reopened), func(t *testing.T) {
				strayWorlds(t, func(t *testing.T, open func(pools ...ledger.Pool) strayWorld) {
					before := named(ranged(t, whole), "a")
					w := open(before)
					for i := range 6 {
						reserve(t, w.does, "a", fmt.Sprint("c", i), "")
					}
					forget(t, w.does, "c4", time.Hour)
					w.told()
					if reopened {
						w = open(after(t)...)
					} else {
						w.configure(t, after(t)...)
					}
					w.told()
					expectFull(t, w.asked)
					if !reopened {
						// Back and forth, and nothing of it is lost.
						w.configure(t, before)
						w.configure(t)
						w.configure(t, after(t)...)
						expectFull(t, w.asked)
					}
					forget(t, w.does, "c3", 0)
					w.told()
					if got := reserve(t, w.asked, "b", "x", ""); got != "10.0.0.4" {
						t.Errorf("after the release: got %s", got)
					}
					if _, err := w.does.Expire(t.Context(), time.Unix(1e9, 0).Add(2*time.Hour)); err != nil {
						t.Fatal(err)
					}
					w.told()
					if got := reserve(t, w.asked, "b", "y", "10.0.0.5"); got != "10.0.0.5" {
						t.Errorf("after the rest: got %s", got)
					}
					forget(t, w.does, "c5", 0)
					w.told()
					forget(t, w.asked, "x", 0)
					forget(t, w.asked, "y", 0)
					w.told()
					for _, l := range []*ledger.Ledger{w.does, w.asked} {
						if diff := cmp.Diff(ledger.Usage{Size: 3, Families: []ledger.FamilyUsage{{Bits: 32, Size: 3}}}, l.Usage("b")); diff != "" {
							t.Errorf("in the end (-want +got):\n%s", diff)
						}
					}
				})
			})
		}
	}
}

// expectFull checks that the pool b allocates nothing, and that a request changes nothing.
func expectFull(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	for range 2 {
		if got := reserve(t, l, "b", "x", ""); got != noneIsFree {
			t.Errorf("by choice: got %q", got)
		}
		if got := reserve(t, l, "b", "x", "10.0.0.4"); got != firstTaken {
			t.Errorf("by name: got %q", got)
		}
	}
}

// TestAddressOfSeveralRows checks that an address of several rows is free after the last one was deleted, in any order.
func TestAddressOfSeveralRows(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			strayWorlds(t, func(t *testing.T, open func(pools ...ledger.Pool) strayWorld) {
				one := ranged(t, "10.0.0.4-10.0.0.4")
				w := open(named(one, "a"), named(one, "b"), named(one, "c")) // which no document may say
				for _, pool := range []string{"a", "b", "c"} {
					if got := reserve(t, w.does, pool, pool, ""); got != "10.0.0.4" {
						t.Fatal(got)
					}
				}
				w.told()
				w.configure(t, named(one, "b"))
				for _, key := range order {
					if got := reserve(t, w.asked, "b", "x", "10.0.0.4"); got != firstTaken {
						t.Errorf("before %s is released: got %q", key, got)
					}
					forget(t, w.does, key, 0)
					w.told()
				}
				if got := reserve(t, w.asked, "b", "x", ""); got != "10.0.0.4" {
					t.Errorf("in the end: got %q", got)
				}
			})
		})
	}
}

// TestEqualPoolsAreNotRead checks that rows are read again only if the pools changed or one was drained.
func TestEqualPoolsAreNotRead(t *testing.T) {
	store := &scanning{Store: memory.Open(t)}
	l, err := ledger.Open(t.Context(), store, ranged(t, "10.0.0.1-10.0.0.9"))
	if err != nil {
		t.Fatal(err)
	}
	reserve(t, l, "pool", "a", "10.0.0.9")
	never := func(network.Allocation) bool { return false }
	for i, step := range []struct {
		ranges string
		reads  bool
	}{
		{"10.0.0.1-10.0.0.9", true}, // no server has accepted it yet
		{"10.0.0.1-10.0.0.9", false},
		{"10.0.0.1-10.0.0.8", true},
		{"10.0.0.1-10.0.0.8", true}, // the drained pool may be refused now
		{"10.0.0.1-10.0.0.9", true},
		{"10.0.0.1-10.0.0.9", false},
	} {
		store.scans.Store(0)
		if _, err := l.Configure(t.Context(), never, ranged(t, step.ranges)); err != nil {
			t.Fatal(err)
		}
		if reads := store.scans.Load() > 0; reads != step.reads {
			t.Errorf("step %d: reads is %v", i, reads)
		}
	}
}

// scanning is a store that counts its scans.
type scanning struct {
	ledger.Store
	scans atomic.Int64
}

func (c *scanning) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	c.scans.Add(1)
	return c.Store.Scan(ctx, prefix, each)
}
