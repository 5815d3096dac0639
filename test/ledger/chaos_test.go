// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// TestChaos lets three servers allocate and release while the leader of etcd is killed, another member is paused, and
// both return: no address ever has two owners, and in the end every row belongs to an owner with this answer.
func TestChaos(t *testing.T) {
	c := cluster.Start(t, 3)
	w := &world{t: t, holders: map[netip.Addr]network.Owner{}, owners: map[network.Owner][]netip.Addr{}}
	for range 3 {
		w.servers = append(w.servers, follow(t, openFor(t, c, "/chaos", 5*time.Second)))
	}
	ctx, end := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 24 {
		callers.Go(func() { w.live(ctx, i) })
	}
	for _, l := range w.servers {
		callers.Go(func() { w.wake(ctx, l) })
	}
	steps := disturb(t, c, &w.done)
	end()
	callers.Wait()
	gap := time.Duration(w.gap.Load()).Round(time.Millisecond)
	t.Logf("%d allocations, by step %v; %d answers were lost; the longest time without an allocation was %s", w.done.Load(), steps, w.lost.Load(), gap)
	if gap > patience {
		t.Errorf("for %s nothing was given out, though two of three members were there", gap)
	}
	w.check(open(t, c, "/chaos"))
}

// patience is how long nothing may be given out: a call that hangs, an election, and much for a machine that is busy.
const patience = 30 * time.Second

// disturb kills and pauses members, one at a time, and says how many allocations were made in each step.
func disturb(t *testing.T, c *cluster.Cluster, done *atomic.Int64) (steps []int64) {
	t.Helper()
	step := func(lasts time.Duration) {
		before := done.Load()
		time.Sleep(lasts)
		steps = append(steps, done.Load()-before)
	}
	step(2 * time.Second)
	leader := c.Leader()
	c.Kill(leader)
	step(3 * time.Second)
	c.Restart(leader)
	step(2 * time.Second)
	leader = c.Leader()
	c.Pause(leader)
	step(7 * time.Second)
	c.Resume(leader)
	step(2 * time.Second)
	follower := (c.Leader() + 1) % 3
	c.Pause(follower)
	step(3 * time.Second)
	c.Resume(follower)
	c.Kill((follower + 1) % 3)
	step(3 * time.Second)
	c.Restart((follower + 1) % 3)
	step(2 * time.Second)
	return steps
}

// world is what those who ask were told.
type world struct {
	t       *testing.T
	servers []*ledger.Ledger
	// done counts allocations and lost answers that were lost; gap is the longest time between two allocations.
	done, lost, last, gap atomic.Int64

	mutex   sync.Mutex
	holders map[netip.Addr]network.Owner
	owners  map[network.Owner][]netip.Addr
}

// live asks for one owner after the other, and gives back, in time, whatever the servers say. Each call goes to any of the servers.
func (w *world) live(ctx context.Context, caller int) {
	random := rand.New(rand.NewPCG(uint64(caller), uint64(time.Now().UnixNano())))
	server := func() *ledger.Ledger { return w.servers[random.IntN(len(w.servers))] }
	for i := 0; ctx.Err() == nil; i++ {
		owner := network.Owner{Contract: "test", Key: fmt.Sprintf("%d/%d", caller, i)}
		if w.reserve(ctx, owner, server) && random.IntN(4) > 0 {
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		if ctx.Err() != nil {
			return
		}
		// An owner whose answers were lost gives back, too; the rest keeps what it has.
		if random.IntN(200) > 0 {
			w.forget(owner, server, time.Duration(random.IntN(4)/3)*time.Second)
		}
	}
}

// reserve asks until there is an answer, or asks no more: then what was done of it must not appear later.
func (w *world) reserve(ctx context.Context, owner network.Owner, server func() *ledger.Ledger) bool {
	for attempt := 0; ; attempt++ {
		l := server()
		a, _, err := l.Reserve(context.WithoutCancel(ctx), ledger.Intent{
			Owner: owner, Pool: "pool", Trunk: network.Trunk{Node: "n"}, State: network.Bound, Now: time.Now(),
		})
		switch {
		case err == nil:
			w.note(a)
			return true
		case errors.Is(err, network.ErrExhausted), errors.Is(err, network.ErrTaken):
			time.Sleep(20 * time.Millisecond)
		default:
			w.lost.Add(1)
		}
		if attempt%4 == 3 || ctx.Err() != nil {
			w.forget(owner, server, 0)
			return false
		}
	}
}

func (w *world) note(a network.Allocation) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := time.Now().UnixNano()
	if last := w.last.Swap(now); last > 0 {
		w.gap.Store(max(w.gap.Load(), now-last))
	}
	w.done.Add(1)
	for _, address := range a.Addresses {
		if other, taken := w.holders[address]; taken && other != a.Owner {
			w.t.Errorf("%s was given to %s and to %s", address, other, a.Owner)
		}
		w.holders[address] = a.Owner
	}
	w.owners[a.Owner] = a.Addresses
}

// forget gives back until a server says that it is done.
func (w *world) forget(owner network.Owner, server func() *ledger.Ledger, rest time.Duration) {
	w.mutex.Lock()
	for _, address := range w.owners[owner] {
		delete(w.holders, address)
	}
	delete(w.owners, owner)
	w.mutex.Unlock()
	for {
		l, now := server(), time.Now()
		err := l.Forget(context.WithoutCancel(w.t.Context()), owner, now, now.Add(rest))
		if err == nil {
			return
		}
		w.lost.Add(1)
	}
}

func (w *world) wake(ctx context.Context, l *ledger.Ledger) {
	for ctx.Err() == nil {
		if _, err := l.Wake(context.WithoutCancel(ctx), time.Now()); err != nil {
			w.lost.Add(1)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// check holds the rows, and what the servers know, against what those who asked were told.
func (w *world) check(store ledger.Store) {
	w.t.Helper()
	ctx := w.t.Context()
	report, err := ledger.Verify(ctx, store, ledger.VerifyOptions{Now: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, fault := range report.Faults {
		w.t.Errorf("the row %s: %s", fault.Key, fault.Problem)
	}
	l, err := ledger.Open(ctx, store, pool(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[network.Owner][]netip.Addr{}
	if err := l.All(ctx, func(a network.Allocation) error { found[a.Owner] = a.Addresses; return nil }); err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(w.owners, found, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		w.t.Errorf("what owners hold (-told +found):\n%s", diff)
	}
	// What rests wakes, whichever server is left alone with it, and is free everywhere, once the watches that were broken off have gone on: nothing may
	// stay taken for good.
	want := uint64(len(found))
	for i, l := range w.servers {
		deadline := time.Now().Add(time.Minute)
		for l.Taken("pool") != want && time.Now().Before(deadline) {
			if _, err := l.Wake(ctx, time.Now()); err != nil {
				w.t.Error(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if got := l.Taken("pool"); got != want {
			w.t.Errorf("server %d knows %d taken addresses, and %d are", i, got, want)
		}
	}
}

// follow opens a ledger that follows until the test ends.
func follow(t *testing.T, store ledger.Store) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), store, pool(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := l.Follow(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// pool is one of 100 addresses, with VLANs.
func pool(t testing.TB) ledger.Pool {
	t.Helper()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.100"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Pool{
		Name: "pool", FirstVLAN: 100, LastVLAN: 200, MACPrefix: []byte{2, 0x11},
		Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}},
	}
}
