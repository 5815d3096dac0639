// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ledgertest is the test suite for stores of a ledger, and for the ledger on each store. Programs must not
// import it. Start reading at Run.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Open opens a store that is empty the first time. It keeps its rows if the same function closes it and opens it again.
type Open func(t *testing.T) ledger.Store

// Run runs the suite. place returns a separate place for each test. The tests run in parallel, because they wait for
// disks and servers most of the time.
func Run(t *testing.T, place func(t *testing.T) Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"commits rows and rejects stale changes":           testCommit,
		"rejects two changes of one row":                   testTwice,
		"keeps no reference to the caller's values":        testKept,
		"scans rows in order":                              testScan,
		"keeps rows over a restart":                        testDurable,
		"lets one of many writers win":                     testOneWinner,
		"fails after it was closed":                        testClosed,
		"returns the same allocation again":                testIdempotent,
		"allocates requested addresses":                    testNamed,
		"reports an exhausted pool":                        testExhausted,
		"allocates VLANs for each trunk":                   testTrunks,
		"keeps released resources in quarantine":           testQuarantine,
		"updates only unchanged allocations":               testUpdate,
		"serves many callers":                              testManyCallers,
		"lets two servers share rows":                      testTwoServers,
		"keeps allocations over a restart":                 testRestart,
		"rejects an unknown format":                        testFormat,
		"stores records":                                   testRecords,
		"loses no change of shared records":                testSharedRecords,
		"ignores records in the ledger":                    testRecordsBeside,
		"returns the next free address":                    testNext,
		"reallocates an address to its previous owner":     testReallocation,
		"keeps a quarantine without a previous owner":      testQuarantineWithoutOwner,
		"keeps the quarantine after a failed reallocation": testFailedReallocation,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

func testIdempotent(t *testing.T, open Open) {
	l := opened(t, open(t))
	first := reserve(t, l, intent("a"))
	again, fresh, err := l.Reserve(t.Context(), intent("a"))
	if err != nil || fresh {
		t.Fatalf("the second time: fresh is %v, error %v", fresh, err)
	}
	if diff := cmp.Diff(first, again, comparing); diff != "" {
		t.Errorf("the same owner (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff("10.0.0.1 fd00::1 02:11:0a:00:00:01 100", show(first)); diff != "" {
		t.Errorf("allocation (-want +got):\n%s", diff)
	}
	if got := l.Taken("pool"); got != 2 {
		t.Errorf("got %d taken, want 2", got)
	}
	found, err := l.ByAddress(t.Context(), "pool", netip.MustParseAddr("fd00::1"))
	if err != nil || found.Owner != first.Owner {
		t.Errorf("at fd00::1: got %v and %v", found.Owner, err)
	}
	if _, err := l.Get(t.Context(), owner("b")); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got error %v, want %v", err, network.ErrNotHeld)
	}
}

func testNamed(t *testing.T, open Open) {
	l := opened(t, open(t))
	named := func(of string, addresses ...string) (network.Allocation, error) {
		in := intent(of)
		for _, address := range addresses {
			in.Addresses = append(in.Addresses, netip.MustParseAddr(address))
		}
		a, _, err := l.Reserve(t.Context(), in)
		return a, err
	}
	for _, c := range []struct {
		of, addresses, want string
		err                 error
	}{
		{of: "a", addresses: "10.0.0.3", want: "10.0.0.3 fd00::1 02:11:0a:00:00:03 100"},
		{of: "b", addresses: "10.0.0.3", err: network.ErrTaken},
		{of: "b", addresses: "10.0.0.9", want: "10.0.0.9 fd00::2 02:11:0a:00:00:09 101"}, // an address outside of the ranges
		{of: "c", addresses: "10.0.1.1", err: network.ErrOutside},
		{of: "c", addresses: "10.0.0.4 10.0.0.5", err: network.ErrOutside},
		{of: "c", addresses: "10.0.0.4 fd00::2", err: network.ErrTaken}, // no resource of it may stay in use
		{of: "c", addresses: "10.0.0.4 fd00::3", want: "10.0.0.4 fd00::3 02:11:0a:00:00:04 102"},
	} {
		a, err := named(c.of, strings.Fields(c.addresses)...)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s wants %s: got error %v, want %v", c.of, c.addresses, err, c.err)
		} else if err == nil {
			if diff := cmp.Diff(c.want, show(a)); diff != "" {
				t.Errorf("%s wants %s (-want +got):\n%s", c.of, c.addresses, diff)
			}
		}
	}
	if _, _, err := l.Reserve(t.Context(), ledger.Intent{Owner: owner("d"), Pool: "pol"}); !errors.Is(err,
		network.ErrUnknownPool) {
		t.Errorf("got error %v, want %v", err, network.ErrUnknownPool)
	}
}

func testExhausted(t *testing.T, open Open) {
	l := opened(t, open(t))
	for i := range size {
		in := intent(fmt.Sprint(i))
		in.Families = []int{32}
		reserve(t, l, in)
	}
	in := intent("more")
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v, want %v", err, network.ErrExhausted)
	}
	in.Families = []int{128}
	if got := show(reserve(t, l, in)); !strings.HasPrefix(got, "fd00::1 ") {
		t.Errorf("got %s: the other family must not be taken by what was refused", got)
	}
	if err := l.Delete(t.Context(), owner("2"), now, now); err != nil {
		t.Fatal(err)
	}
	in = intent("last")
	in.Families = []int{32}
	if got := show(reserve(t, l, in)); !strings.HasPrefix(got, "10.0.0.3 ") {
		t.Errorf("got %s, want the one that was given back", got)
	}
}

func testTrunks(t *testing.T, open Open) {
	l := opened(t, open(t))
	var got []uint16
	for i, mac := range []string{"aa", "aa", "bb", "aa"} {
		in := intent(fmt.Sprint(i))
		in.Trunk = network.Trunk{Node: "n", MAC: mac}
		got = append(got, reserve(t, l, in).VLAN)
	}
	if diff := cmp.Diff([]uint16{100, 101, 100, 102}, got); diff != "" {
		t.Errorf("VLANs (-want +got):\n%s", diff)
	}
}

func testQuarantine(t *testing.T, open Open) {
	l := opened(t, open(t))
	want := intent("a")
	want.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	reserve(t, l, want)
	until := now.Add(time.Minute)
	if err := l.Delete(t.Context(), owner("a"), now, until); err != nil {
		t.Fatal(err)
	}
	other := want
	other.Owner = owner("b")
	if _, _, err := l.Reserve(t.Context(), other); !errors.Is(err, network.ErrTaken) {
		t.Errorf("while it rests: got error %v, want %v", err, network.ErrTaken)
	}
	if _, err := l.ByAddress(t.Context(), "pool", want.Addresses[0]); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("while it rests: got error %v, want %v", err, network.ErrNotHeld)
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{until.Add(-time.Second), 0}, {until, 4}, {until, 0}} {
		if got, err := l.Expire(t.Context(), c.at); got != c.want || err != nil {
			t.Errorf("at %s: got %d rows awake and %v, want %d", c.at, got, err, c.want)
		}
	}
	if got := show(reserve(t, l, other)); !strings.HasPrefix(got, "10.0.0.5 ") {
		t.Errorf("got %s after the rest", got)
	}
	if err := l.Delete(t.Context(), owner("nobody"), now, until); err != nil {
		t.Errorf("forgetting an owner without an allocation fails: %v", err)
	}
}

func testUpdate(t *testing.T, open Open) {
	l := opened(t, open(t))
	reserve(t, l, intent("a"))
	bound, err := l.Update(t.Context(), owner("a"), func(a *network.Allocation) error {
		a.State, a.Binding.Reference = network.Bound, []byte(`{"port":"p"}`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.Get(t.Context(), owner("a")); err != nil || !cmp.Equal(got, bound, comparing) ||
		got.State != network.Bound {
		t.Errorf("got %+v and %v", got, err)
	}
	for name, change := range map[string]func(a *network.Allocation) error{
		"an error":            func(*network.Allocation) error { return network.ErrRefused },
		"another address":     func(a *network.Allocation) error { a.Addresses = a.Addresses[:1]; return nil },
		"another MAC address": func(a *network.Allocation) error { a.MAC = nil; return nil },
	} {
		if _, err := l.Update(t.Context(), owner("a"), change); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, _ := l.Get(t.Context(), owner("a")); !cmp.Equal(got, bound, comparing) {
		t.Errorf("refused updates changed the row: %+v", got)
	}
	if _, err := l.Update(t.Context(), owner("b"), func(*network.Allocation) error { return nil }); !errors.Is(err,
		network.ErrNotHeld) {
		t.Errorf("got error %v, want %v", err, network.ErrNotHeld)
	}
}

// testManyCallers reserves and deletes concurrently, with two requests for each owner.
func testManyCallers(t *testing.T, open Open) {
	l := opened(t, open(t))
	const callers, owners = 32, 40
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range owners {
				// Two callers request each owner.
				of := fmt.Sprintf("%d/%d", caller/2, i)
				in := intent(of)
				in.Pool = "large"
				if _, _, err := l.Reserve(t.Context(), in); err != nil {
					t.Errorf("reserving for %s: %v", of, err)
				}
				if i%4 == 3 && caller%2 == 0 {
					if err := l.Delete(t.Context(), owner(of), now, now); err != nil {
						t.Errorf("forgetting %s: %v", of, err)
					}
				}
			}
		})
	}
	group.Wait()
	consistent(t, l)
}

// testTwoServers lets two ledgers allocate from the same rows, as servers with a shared store do.
func testTwoServers(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	servers := []*ledger.Ledger{openLedger(t, store), openLedger(t, store)}
	var group sync.WaitGroup
	for i, l := range servers {
		for caller := range 4 {
			group.Go(func() {
				for n := range 15 {
					in := intent(fmt.Sprintf("%d/%d/%d", i, caller, n))
					in.Pool = "large"
					if _, _, err := l.Reserve(t.Context(), in); err != nil {
						t.Errorf("server %d: %v", i, err)
					}
					// Both servers also request one common owner.
					in.Owner = owner(fmt.Sprintf("both/%d/%d", caller, n))
					if _, _, err := l.Reserve(t.Context(), in); err != nil {
						t.Errorf("server %d: %v", i, err)
					}
				}
			})
		}
	}
	group.Wait()
	if got := consistent(t, servers[0]); got != 2*4*15+4*15 {
		t.Errorf("got %d allocations, want %d", got, 2*4*15+4*15)
	}
}

func testRestart(t *testing.T, open Open) {
	store := open(t)
	l := openLedger(t, store)
	kept := reserve(t, l, intent("a"))
	reserve(t, l, intent("b"))
	if err := l.Delete(t.Context(), owner("b"), now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	closing(t, store)

	l = opened(t, open(t))
	if got, err := l.Get(t.Context(), owner("a")); err != nil || !cmp.Equal(got, kept, comparing) {
		t.Errorf("after a restart: got %+v and %v", got, err)
	}
	if got := l.Taken("pool"); got != 4 {
		t.Errorf("got %d taken after a restart, want 4", got)
	}
	if got := show(reserve(t, l, intent("c"))); !strings.HasPrefix(got, "10.0.0.3 fd00::3 ") ||
		!strings.HasSuffix(got, " 102") {
		t.Errorf("got %s, want nothing that is held or rests", got)
	}
	if got, err := l.Expire(t.Context(), now.Add(time.Hour)); got != 4 || err != nil {
		t.Errorf("got %d rows awake and %v, want 4", got, err)
	}
}

func testFormat(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	if err := store.Commit(t.Context(), ledger.Change{Key: "format", Value: []byte("99")}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(t.Context(), store, pools(t)...); !errors.Is(err, ledger.ErrFormat) {
		t.Errorf("got error %v, want %v", err, ledger.ErrFormat)
	}
}

// consistent checks that no resource has two owners, and that every allocation has its rows. It returns the number of
// allocations.
func consistent(t *testing.T, l *ledger.Ledger) int {
	t.Helper()
	holders, count := map[string]network.Owner{}, 0
	err := l.All(t.Context(), func(a network.Allocation) error {
		count++
		things := []string{a.MAC.String(), fmt.Sprintf("%v %d", a.Trunk, a.VLAN)}
		for _, address := range a.Addresses {
			things = append(things, address.String())
			at, err := l.ByAddress(context.WithoutCancel(t.Context()), a.Pool, address)
			if err != nil || at.Owner != a.Owner {
				t.Errorf("the row of %s has the owner %v (%v), want %v", address, at.Owner, err, a.Owner)
			}
		}
		for _, thing := range things {
			if other, taken := holders[thing]; taken {
				t.Errorf("%s has two owners: %v and %v", thing, other, a.Owner)
			}
			holders[thing] = a.Owner
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// now is the time of all tests.
var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// size is the number of IPv4 addresses that the pool allocates without a requested address.
const size = 6

var comparing = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func pools(t *testing.T) []ledger.Pool {
	t.Helper()
	subnet := func(prefix, dynamic, static string) ledger.Subnet {
		s := ledger.Subnet{Prefix: netip.MustParsePrefix(prefix)}
		for text, into := range map[string]**netipx.IPSet{dynamic: &s.Dynamic, static: &s.Static} {
			var b netipx.IPSetBuilder
			if text != "" {
				b.AddRange(netipx.MustParseIPRange(text))
			}
			set, err := b.IPSet()
			if err != nil {
				t.Fatal(err)
			}
			*into = set
		}
		return s
	}
	return []ledger.Pool{
		{
			Name: "pool", FirstVLAN: 100, LastVLAN: 200, MACPrefix: []byte{2, 0x11},
			Subnets: []ledger.Subnet{subnet("10.0.0.0/24", "10.0.0.1-10.0.0.6", "10.0.0.8-10.0.0.9"),
				subnet("fd00::/64", "fd00::1-fd00::ffff", "")},
		},
		{
			Name: "large", FirstVLAN: 1, LastVLAN: 4094, MACPrefix: []byte{2, 0x11},
			Subnets: []ledger.Subnet{subnet("10.1.0.0/16", "10.1.0.1-10.1.255.254", "")},
		},
	}
}

func openLedger(t *testing.T, store ledger.Store) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), store, pools(t)...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// opened returns a ledger on a store that is closed at the end of the test.
func opened(t *testing.T, store ledger.Store) *ledger.Ledger {
	t.Helper()
	t.Cleanup(func() { closing(t, store) })
	return openLedger(t, store)
}

func closing(t *testing.T, store ledger.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func owner(key string) network.Owner { return network.Owner{Contract: "test", Key: key} }

func intent(of string) ledger.Intent {
	return ledger.Intent{Owner: owner(of), Pool: "pool", Trunk: network.Trunk{Node: "n", MAC: "m"},
		State: network.Intended, Now: now}
}

func reserve(t *testing.T, l *ledger.Ledger, in ledger.Intent) network.Allocation {
	t.Helper()
	a, fresh, err := l.Reserve(t.Context(), in)
	if err != nil || !fresh {
		t.Fatalf("reserving for %s: fresh is %v, error %v", in.Owner, fresh, err)
	}
	return a
}

// show returns the allocation in one line.
func show(a network.Allocation) string {
	var words []string
	for _, address := range a.Addresses {
		words = append(words, address.String())
	}
	return strings.Join(append(words, a.MAC.String(), fmt.Sprint(a.VLAN)), " ")
}

func rows(t *testing.T, store ledger.Store, prefix string) string {
	t.Helper()
	var found []string
	err := store.Scan(t.Context(), prefix, func(key, value []byte) error {
		found = append(found, string(key)+"="+string(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}
