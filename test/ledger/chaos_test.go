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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

var _ = Describe("three servers on three members of etcd", Label("slow"), func() {
	It("give no address to two owners, and lose none, while members are killed and paused", func(ctx SpecContext) {
		c := cluster.Start(GinkgoTB(), 3)
		w := &world{holders: map[netip.Addr]network.Owner{}, owners: map[network.Owner][]netip.Addr{}}
		for range 3 {
			w.servers = append(w.servers, follow(openFor(GinkgoTB(), c, "/chaos", 5*time.Second)))
		}
		living, end := context.WithCancel(ctx)
		var callers sync.WaitGroup
		for i := range 24 {
			callers.Go(func() {
				defer GinkgoRecover()
				w.live(living, i)
			})
		}
		for _, l := range w.servers {
			callers.Go(func() { w.wake(living, l) })
		}
		steps := disturb(c, &w.done)
		end()
		callers.Wait()
		gap := time.Duration(w.gap.Load()).Round(time.Millisecond)
		AddReportEntry("allocations", fmt.Sprintf("%d allocations, by step %v; %d answers were lost; the longest gap was %s",
			w.done.Load(), steps, w.lost.Load(), gap))
		Expect(gap).To(BeNumerically("<=", patience), "the longest time without an allocation")
		w.check(ctx, open(GinkgoTB(), c, "/chaos"))
	})
})

// patience limits the time without an allocation: a call that hangs, an election, and much for a busy machine.
const patience = 30 * time.Second

// disturb kills and pauses members, one at a time, and returns the number of allocations in each step.
func disturb(c *cluster.Cluster, done *atomic.Int64) (steps []int64) {
	GinkgoHelper()
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

// world records the answers of the servers.
type world struct {
	servers []*ledger.Ledger
	// done counts allocations and lost answers that were lost; gap is the longest time between two allocations.
	done, lost, last, gap atomic.Int64

	mutex   sync.Mutex
	holders map[netip.Addr]network.Owner
	owners  map[network.Owner][]netip.Addr
}

// live allocates and releases for one owner at a time, and ignores errors. Each call goes to a random server.
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
		// An owner whose answers were lost also releases; the others keep their addresses.
		if random.IntN(200) > 0 {
			w.forget(ctx, owner, server, time.Duration(random.IntN(4)/3)*time.Second)
		}
	}
}

// reserve requests until there is an answer, or gives up: then no effect of the requests may appear later.
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
			w.forget(ctx, owner, server, 0)
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
		if other, taken := w.holders[address]; taken {
			Expect(a.Owner).To(Equal(other), "the owner of %s", address)
		}
		w.holders[address] = a.Owner
	}
	w.owners[a.Owner] = a.Addresses
}

// forget releases the allocation of an owner until a server confirms it.
func (w *world) forget(ctx context.Context, owner network.Owner, server func() *ledger.Ledger, rest time.Duration) {
	w.mutex.Lock()
	for _, address := range w.owners[owner] {
		delete(w.holders, address)
	}
	delete(w.owners, owner)
	w.mutex.Unlock()
	for {
		l, now := server(), time.Now()
		err := l.Delete(context.WithoutCancel(ctx), owner, now, now.Add(rest))
		if err == nil {
			return
		}
		w.lost.Add(1)
	}
}

func (w *world) wake(ctx context.Context, l *ledger.Ledger) {
	for ctx.Err() == nil {
		if _, err := l.Expire(context.WithoutCancel(ctx), time.Now()); err != nil {
			w.lost.Add(1)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// check compares the rows, and the caches of the servers, with the recorded answers.
func (w *world) check(ctx context.Context, store ledger.Store) {
	GinkgoHelper()
	report, err := ledger.Verify(ctx, store, 0)
	Expect(err).NotTo(HaveOccurred(), "verifying the ledger")
	Expect(report.Faults).To(BeEmpty(), "faulty rows")
	l, err := ledger.Open(ctx, store, pool(GinkgoTB()))
	Expect(err).NotTo(HaveOccurred(), "opening the ledger")
	found := map[network.Owner][]netip.Addr{}
	Expect(l.All(ctx, func(a network.Allocation) error {
		found[a.Owner] = a.Addresses
		return nil
	})).To(Succeed(), "reading the ledger")
	equal := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	Expect(found).To(BeComparableTo(w.owners, equal), "the addresses of the owners")
	// Addresses in quarantine become free on every server, whichever server ends the quarantine, once the broken watches
	// have continued.
	for i, l := range w.servers {
		Eventually(ctx, func(g Gomega) {
			_, err := l.Expire(ctx, time.Now())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(l.Taken("pool")).To(BeEquivalentTo(len(found)))
		}).Should(Succeed(), "taken addresses by server %d", i)
	}
}

// follow opens a ledger that follows until the end of the spec.
func follow(store ledger.Store) *ledger.Ledger {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := ledger.Open(ctx, store, pool(GinkgoTB()))
	Expect(err).NotTo(HaveOccurred(), "opening a ledger")
	var group sync.WaitGroup
	group.Go(func() {
		defer GinkgoRecover()
		Expect(l.Follow(ctx)).To(Succeed(), "following the ledger")
	})
	DeferCleanup(func() {
		cancel()
		group.Wait()
		Expect(store.Close()).To(Succeed())
	})
	return l
}

// pool returns a pool of 100 addresses, with VLANs.
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
