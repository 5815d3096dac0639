// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// RunShared runs the tests of Run, and additional tests for stores that several servers share. Each server opens the
// store itself.
func RunShared(t *testing.T, place func(t *testing.T) Open) {
	t.Helper()
	Run(t, place)
	for name, test := range map[string]func(*testing.T, Open){
		"releases are seen by other servers":                  testReleasesAreSeen,
		"quarantines are seen by other servers":               testQuarantineIsSeen,
		"releases are found without a watch":                  testReleasesAreFound,
		"two servers allocate one owner once":                 testOneOwner,
		"two servers keep a quota":                            testQuotaAmongTwo,
		"two servers exhaust a pool":                          testExhaustedTogether,
		"lost responses lose no allocation":                   testLostAnswers,
		"changes arrive in order":                             testToldInOrder,
		"an owner gets its address again from another server": testReallocationOnTwoServers,
		"commits have a maximum number of rows":               testBatches,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

// following returns a ledger on its own store that follows changes until the test ends.
func following(t *testing.T, store ledger.Store) *ledger.Ledger {
	t.Helper()
	l := openLedger(t, store)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() {
		if err := l.Follow(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
		closing(t, store)
	})
	return l
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func testReleasesAreSeen(t *testing.T, open Open) {
	one, two := following(t, open(t)), following(t, open(t))
	ipv4 := func(of string) ledger.Intent {
		in := intent(of)
		in.Families = []int{32}
		return in
	}
	for i := range size {
		reserve(t, one, ipv4(fmt.Sprint(i)))
	}
	eventually(t, "the second server knows what the first has given out", func() bool { return two.Taken("pool") == size })
	if _, _, err := two.Reserve(t.Context(), ipv4("more")); !errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v, want %v", err, network.ErrExhausted)
	}
	if err := one.Delete(t.Context(), owner("2"), now, now); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second server knows of the release", func() bool { return two.Taken("pool") == size-1 })
	if got := show(reserve(t, two, ipv4("more"))); !strings.HasPrefix(got, "10.0.0.3 ") {
		t.Errorf("got %s, want what the first server has released", got)
	}
	if _, _, err := one.Reserve(t.Context(), ipv4("even more")); !errors.Is(err, network.ErrTaken) &&
		!errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v, want that nothing is free", err)
	}
}

func testQuarantineIsSeen(t *testing.T, open Open) {
	one, two := following(t, open(t)), following(t, open(t))
	given := reserve(t, one, intent("a"))
	until := now.Add(time.Minute)
	if err := one.Delete(t.Context(), given.Owner, now, until); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second server knows of the rest", func() bool { return two.Usage("pool").Quarantined == 2 })
	// The first server expires the row; the second one does it if the first one does not.
	if got, err := two.Expire(t.Context(), until); got != 0 || err != nil {
		t.Errorf("got %d rows awake and %v, want 0", got, err)
	}
	if got, err := two.Expire(t.Context(), until.Add(time.Minute)); got != 4 || err != nil {
		t.Errorf("got %d rows awake and %v, want 4", got, err)
	}
	eventually(t, "the first server knows that it is free", func() bool { return one.Taken("pool") == 0 })
	if got, err := one.Expire(t.Context(), until.Add(time.Minute)); got != 0 || err != nil {
		t.Errorf("got %d rows awake and %v, want 0", got, err)
	}
}

// testReleasesAreFound lets servers without a watch request addresses by name that other servers have released.
func testReleasesAreFound(t *testing.T, open Open) {
	store, other := open(t), open(t)
	defer closing(t, store)
	defer closing(t, other)
	one := openLedger(t, store)
	named := intent("a")
	named.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	reserve(t, one, named)
	two := openLedger(t, other)
	if err := one.Delete(t.Context(), owner("a"), now, now); err != nil {
		t.Fatal(err)
	}
	named.Owner = owner("b")
	reserve(t, two, named)
	if err := two.Delete(t.Context(), owner("b"), now, now); err != nil {
		t.Fatal(err)
	}
	named.Owner = owner("c")
	reserve(t, one, named)
}

// testOneOwner lets two servers allocate the same owner and the same address concurrently: both return the same
// allocation.
func testOneOwner(t *testing.T, open Open) {
	servers := []*ledger.Ledger{following(t, open(t)), following(t, open(t))}
	for round := range 20 {
		in := intent(fmt.Sprint(round))
		in.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.5")}
		var (
			group sync.WaitGroup
			fresh atomic.Int32
			got   [2]network.Allocation
		)
		for i, l := range servers {
			group.Go(func() {
				a, first, err := l.Reserve(t.Context(), in)
				if err != nil {
					t.Errorf("server %d, round %d: %v", i, round, err)
				}
				if got[i] = a; first {
					fresh.Add(1)
				}
			})
		}
		group.Wait()
		if diff := cmp.Diff(got[0], got[1], comparing); diff != "" || fresh.Load() != 1 {
			t.Fatalf("round %d: %d were fresh (-first +second):\n%s", round, fresh.Load(), diff)
		}
		if err := servers[round%2].Delete(t.Context(), in.Owner, now, now); err != nil {
			t.Fatal(err)
		}
	}
}

// testExhaustedTogether lets servers share fewer addresses than owners request: each address has one owner at a time,
// and all are free at the end.
func testExhaustedTogether(t *testing.T, open Open) {
	servers := []*ledger.Ledger{following(t, open(t)), following(t, open(t)), following(t, open(t))}
	var (
		group   sync.WaitGroup
		holders sync.Map
		given   atomic.Int32
	)
	for caller := range 4 * len(servers) {
		group.Go(func() {
			l := servers[caller%len(servers)]
			for n := range 30 {
				in := intent(fmt.Sprintf("%d/%d", caller, n))
				a, _, err := l.Reserve(t.Context(), in)
				if errors.Is(err, network.ErrExhausted) || errors.Is(err, network.ErrTaken) {
					time.Sleep(2 * time.Millisecond)
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				given.Add(1)
				if other, taken := holders.LoadOrStore(a.Addresses[0], in.Owner); taken {
					t.Errorf("%s was allocated to both %v and %v", a.Addresses[0], other, in.Owner)
				}
				holders.Delete(a.Addresses[0])
				if err := l.Delete(t.Context(), in.Owner, now, now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if given.Load() < 2*size {
		t.Errorf("only %d allocations were made", given.Load())
	}
	for i, l := range servers {
		eventually(t, fmt.Sprintf("server %d knows that all is free", i), func() bool { return l.Taken("pool") == 0 })
	}
}

// losing is a shared store that loses responses.
type losing struct {
	ledger.Store
	ledger.Watcher
	lose atomic.Bool
}

var errLost = errors.New("the answer was lost")

// Commit calls CommitAt.
func (s *losing) Commit(ctx context.Context, changes ...ledger.Change) error {
	_, err := s.CommitAt(ctx, changes...)
	return err
}

// CommitAt loses a third of the requests and a third of the responses.
func (s *losing) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	what := rand.IntN(3)
	if s.lose.Load() && what == 0 {
		return 0, errLost
	}
	revision, err := s.Watcher.CommitAt(ctx, changes...)
	if s.lose.Load() && what == 1 && err == nil {
		return 0, errLost
	}
	return revision, err
}

func testLostAnswers(t *testing.T, open Open) {
	var (
		servers []*ledger.Ledger
		stores  []*losing
		group   sync.WaitGroup
	)
	for range 2 {
		store := open(t)
		watcher, ok := store.(ledger.Watcher)
		if !ok {
			t.Fatal("a shared store must implement the watch of commits")
		}
		lossy := &losing{Store: store, Watcher: watcher}
		stores, servers = append(stores, lossy), append(servers, following(t, lossy))
		lossy.lose.Store(true)
	}
	for caller := range 8 {
		group.Go(func() {
			for n := range 20 {
				in := intent(fmt.Sprintf("%d/%d", caller, n))
				in.Pool = "large"
				until := func(do func(*ledger.Ledger) error) {
					for attempt := 0; ; attempt++ {
						if err := do(servers[(caller+attempt)%2]); err == nil {
							return
						} else if !errors.Is(err, errLost) {
							t.Error(err)
							return
						}
					}
				}
				until(func(l *ledger.Ledger) error { _, _, err := l.Reserve(t.Context(), in); return err })
				if n%2 == 0 {
					until(func(l *ledger.Ledger) error { return l.Delete(t.Context(), in.Owner, now, now) })
				}
			}
		})
	}
	group.Wait()
	for i, l := range servers {
		stores[i].lose.Store(false)
		if got := consistent(t, l); got != 8*10 {
			t.Errorf("got %d allocations, want %d", got, 8*10)
		}
		eventually(t, fmt.Sprintf("server %d knows what is taken", i), func() bool {
			if _, err := l.Expire(t.Context(), now); err != nil {
				t.Error(err)
			}
			return l.Taken("large") == 8*10
		})
	}
}

// recording is an observer that records its calls.
type recording struct {
	mutex sync.Mutex
	rows  map[string]string
	last  int64
	begun int
	// unordered reports that a revision was lower than the one before.
	unordered bool
}

// Begin implements ledger.Observer.
func (r *recording) Begin(revision int64, scan func(each func(key string, value []byte) error) error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.rows, r.last = map[string]string{}, revision
	r.begun++
	return scan(func(key string, value []byte) error { r.rows[key] = string(value); return nil })
}

// Change implements ledger.Observer.
func (r *recording) Change(revision int64, key string, value []byte) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.unordered = r.unordered || revision < r.last
	if r.last = revision; value == nil {
		delete(r.rows, key)
	} else {
		r.rows[key] = string(value)
	}
}

// testToldInOrder compares observed changes with the rows, and the revisions of commits with those of the observed
// changes.
func testToldInOrder(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	watcher := store.(ledger.Watcher)
	if err := store.Commit(t.Context(), ledger.Change{Key: "before", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	told := &recording{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Watch(ctx, told) }()
	eventually(t, "the watch begins", func() bool { told.mutex.Lock(); defer told.mutex.Unlock(); return told.begun == 1 })
	var last int64
	commit := func(changes ...ledger.Change) {
		t.Helper()
		revision, err := watcher.CommitAt(t.Context(), changes...)
		if err != nil || revision <= last {
			t.Fatalf("got revision %d after %d, and error %v", revision, last, err)
		}
		last = revision
	}
	for i := range 50 {
		key, value := fmt.Sprint("row", i%7), fmt.Appendf(nil, "%d", i)
		commit(ledger.Change{Key: key, Value: value}, ledger.Change{Key: "empty", Value: []byte{}})
		if i < 43 {
			commit(ledger.Change{Key: key, Was: value}, ledger.Change{Key: "empty", Was: []byte{}})
		} else {
			commit(ledger.Change{Key: "empty", Was: []byte{}})
		}
	}
	eventually(t, "all is told", func() bool { told.mutex.Lock(); defer told.mutex.Unlock(); return told.last == last })
	want := map[string]string{}
	if err := store.Scan(t.Context(), "",
		func(key, value []byte) error { want[string(key)] = string(value); return nil }); err != nil {
		t.Fatal(err)
	}
	told.mutex.Lock()
	if diff := cmp.Diff(want, told.rows); diff != "" {
		t.Errorf("rows (-want +told):\n%s", diff)
	}
	if told.unordered {
		t.Error("the order of the revisions is not kept")
	}
	told.mutex.Unlock()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch has ended with %v", err)
	}
}

// testBatches writes the maximum number of rows of a commit, and one more.
func testBatches(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	limit := ledger.Batch(store)
	if limiter, ok := store.(ledger.Limiter); ok {
		limit = limiter.Limit()
	}
	var changes []ledger.Change
	for i := range limit {
		changes = append(changes, ledger.Change{Key: fmt.Sprint("row", i), Value: []byte("1")})
	}
	if err := store.Commit(t.Context(), changes...); err != nil {
		t.Errorf("%d rows: %v", limit, err)
	}
	if _, ok := store.(ledger.Limiter); !ok {
		return
	}
	for i := range changes {
		changes[i].Key += "again"
	}
	if err := store.Commit(t.Context(),
		append(changes, ledger.Change{Key: "last", Value: []byte("1")})...); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("%d rows: got error %v, want %v", limit+1, err, ledger.ErrTooLarge)
	}
	if value, err := store.Get(t.Context(), "row0again"); value != nil || err != nil {
		t.Errorf("a part of the failed commit was written: %q, %v", value, err)
	}
}

// testQuotaAmongTwo lets two servers allocate and release concurrently under one quota: the number of allocations never
// exceeds the limit.
func testQuotaAmongTwo(t *testing.T, open Open) {
	const limit = 2
	servers := []*ledger.Ledger{following(t, open(t)), following(t, open(t))}
	var group sync.WaitGroup
	var held, most, refused atomic.Int64
	for caller := range 6 {
		group.Go(func() {
			for n := range 15 {
				in := intent(fmt.Sprintf("%d-%d", caller, n))
				in.Quotas = []ledger.Quota{{Name: "namespace/shop", Limit: limit}}
				_, _, err := servers[caller%2].Reserve(t.Context(), in)
				if errors.Is(err, network.ErrQuota) || errors.Is(err, network.ErrTaken) {
					refused.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				for now, seen := held.Add(1), most.Load(); now > seen && !most.CompareAndSwap(seen, now); {
					seen = most.Load()
				}
				held.Add(-1)
				if err := servers[(caller+1)%2].Delete(t.Context(), in.Owner, now, now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if most.Load() > limit || refused.Load() == 0 {
		t.Errorf("up to %d addresses were held at once, and %d requests were refused", most.Load(), refused.Load())
	}
}
