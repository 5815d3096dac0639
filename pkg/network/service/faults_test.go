// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestLateBind lets a bind take effect after its answer was lost and the owner was released: it is
// unbound in the end.
func TestLateBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFake()
		book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, ledger.Pool{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		s := service.New(book, map[string]service.Pool{"slow": {Cloud: cloud, Settle: 20 * time.Second}}, service.Options{Clock: clock.RealClock{}})
		cloud.hook = func(call string, _ network.Allocation) error {
			if call != "bind a" {
				return nil
			}
			time.AfterFunc(15*time.Second, func() { cloud.set("a", true) })
			return errBroken
		}
		if _, err := s.Allocate(t.Context(), request("slow", "a")); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("got error %v", err)
		}
		if err := s.Release(t.Context(), request("slow", "a").Owner); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { s.Run(ctx) })
		time.Sleep(10 * time.Second)
		if a, err := s.Get(t.Context(), request("slow", "a").Owner); err != nil || a.State != network.Releasing {
			t.Errorf("while the call may take effect: the state is %s, %v", a.State, err)
		}
		time.Sleep(time.Minute)
		if _, err := s.Get(t.Context(), request("slow", "a").Owner); !errors.Is(err, network.ErrNotHeld) || cloud.has["a"] {
			t.Errorf("afterwards: got error %v, and the cloud has it: %v", err, cloud.has["a"])
		}
		cancel()
		group.Wait()
	})
}

// TestLateUnbind lets an owner return while the bind of its first request may still take effect. A
// late unbind of its release must not remove its new allocation.
func TestLateUnbind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFake()
		book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, ledger.Pool{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		s := service.New(book, map[string]service.Pool{"slow": {Cloud: cloud, Settle: 20 * time.Second}}, service.Options{Clock: clock.RealClock{}})
		binds := 0
		cloud.hook = func(call string, _ network.Allocation) error {
			if call == "unbind a" {
				time.AfterFunc(10*time.Second, func() { cloud.set("a", false) })
				return errBroken
			}
			if binds++; binds == 1 {
				return errBroken
			}
			return nil
		}
		r := request("slow", "a")
		if _, err := s.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("got error %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { s.Run(ctx) })
		if err := s.Release(t.Context(), r.Owner); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if a, err := s.Allocate(t.Context(), r); err != nil || a.State != network.Bound {
			t.Errorf("after the owner's next request: the state is %s, want bound: %v", a.State, err)
		}
		time.Sleep(time.Minute)
		if a, err := s.Get(t.Context(), r.Owner); err != nil || a.State != network.Bound || !cloud.has["a"] {
			t.Errorf("at the end: the state is %s (%v), in the cloud: %v", a.State, err, cloud.has["a"])
		}
		cancel()
		group.Wait()
	})
}

// TestLateRepeatedBind repeats a request after a failed bind. The second bind takes effect at the end of its
// settle time, when the owner is already released: it is unbound in the end.
func TestLateRepeatedBind(t *testing.T) {
	const settle = 20 * time.Second
	for _, pause := range []time.Duration{0, settle / 4, settle/2 - time.Second, settle/2 + time.Second, settle, 2 * settle} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newFake()
				book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, ledger.Pool{Name: "slow"})
				if err != nil {
					t.Fatal(err)
				}
				s := service.New(book, map[string]service.Pool{"slow": {Cloud: cloud, Settle: settle}}, service.Options{Clock: clock.RealClock{}})
				binds := 0
				cloud.hook = func(call string, _ network.Allocation) error {
					if call != "bind a" {
						return nil
					}
					if binds++; binds == 2 {
						time.AfterFunc(settle-time.Millisecond, func() { cloud.set("a", true) })
						time.Sleep(settle / 2)
					}
					return errBroken
				}
				for range 2 {
					if _, err := s.Allocate(t.Context(), request("slow", "a")); !errors.Is(err, network.ErrUnavailable) {
						t.Errorf("got error %v", err)
					}
					if binds == 1 {
						time.Sleep(pause)
					}
				}
				if err := s.Release(t.Context(), request("slow", "a").Owner); err != nil {
					t.Error(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var group sync.WaitGroup
				group.Go(func() { s.Run(ctx) })
				time.Sleep(5 * settle)
				if _, err := s.Get(t.Context(), request("slow", "a").Owner); !errors.Is(err, network.ErrNotHeld) || cloud.has["a"] {
					t.Errorf("afterwards: got error %v, and the cloud has it: %v", err, cloud.has["a"])
				}
				cancel()
				group.Wait()
			})
		})
	}
}

// TestCallIsNotSentAfterAPause checks that the deadline of a call leaves the settle time before BindUntil, so that a
// process that was paused before a call does not send it.
func TestCallIsNotSentAfterAPause(t *testing.T) {
	const settle = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		cloud := &deadlines{fakeCloud: newFake()}
		book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, ledger.Pool{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		s := service.New(book, map[string]service.Pool{"slow": {Cloud: cloud, Settle: settle}}, service.Options{Clock: clock.RealClock{}})
		cloud.hook = func(string, network.Allocation) error { return errBroken }
		for range 30 {
			if _, err := s.Allocate(t.Context(), request("slow", "a")); !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("got error %v", err)
			}
			a, err := s.Get(t.Context(), request("slow", "a").Owner)
			if err != nil {
				t.Fatal(err)
			}
			if cloud.deadline.IsZero() || cloud.deadline.Add(settle).After(a.BindUntil) {
				t.Errorf("a call until %s may take effect after %s", cloud.deadline, a.BindUntil)
			}
			if left := time.Until(cloud.deadline); left < settle/2 {
				t.Errorf("the call has %s, want at least %s", left, settle/2)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestShorterTimeoutKeepsTheEndOfEarlierCalls checks that a call after a change of the cloud's timeout does not shorten
// the time until which an earlier call may take effect.
func TestShorterTimeoutKeepsTheEndOfEarlierCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := newFake()
		book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, ledger.Pool{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		pools := func(settle time.Duration) map[string]service.Pool {
			return map[string]service.Pool{"slow": {Cloud: cloud, Settle: settle}}
		}
		s := service.New(book, pools(time.Minute), service.Options{Clock: clock.RealClock{}})
		cloud.hook = func(string, network.Allocation) error { return errBroken }
		var until []time.Time
		for range 2 {
			if _, err := s.Allocate(t.Context(), request("slow", "a")); !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("got error %v", err)
			}
			a, err := s.Get(t.Context(), request("slow", "a").Owner)
			if err != nil {
				t.Fatal(err)
			}
			until = append(until, a.BindUntil)
			s.Configure(pools(time.Second), nil)
		}
		if until[1].Before(until[0]) {
			t.Errorf("calls may take effect until %s, and the row has %s", until[0], until[1])
		}
	})
}

// deadlines is a cloud that records the deadline of the last call to bind.
type deadlines struct {
	*fakeCloud
	deadline time.Time
}

func (d *deadlines) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	d.deadline, _ = ctx.Deadline()
	return d.fakeCloud.Bind(ctx, a)
}

// TestRollBackBeforeTheBindTakesEffect rolls back an intent whose bind takes effect later: the address is not allocated
// to another owner before it is unbound.
func TestRollBackBeforeTheBindTakesEffect(t *testing.T) {
	const settle = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		cloud, store := newFake(), &rows{rows: map[string][]byte{}}
		start := func() *service.Service {
			book, err := ledger.Open(t.Context(), store, ledger.Pool{Name: "slow"})
			if err != nil {
				t.Fatal(err)
			}
			return service.New(book, map[string]service.Pool{"slow": {Cloud: cloud, Settle: settle}}, service.Options{Clock: clock.RealClock{}})
		}
		cloud.hook = func(call string, _ network.Allocation) error {
			if call == "bind a" {
				return errBroken
			}
			return nil
		}
		killed := start()
		if _, err := killed.Allocate(t.Context(), request("slow", "a")); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("got error %v", err)
		}
		a, err := killed.Get(t.Context(), request("slow", "a").Owner)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Until(a.BindUntil)-time.Millisecond, func() { cloud.set("a", true) })
		time.Sleep(time.Until(a.BindUntil) - time.Second)
		s := start()
		if err := s.Recover(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { s.Run(ctx) })
		time.Sleep(time.Hour)
		if _, err := s.Get(t.Context(), request("slow", "a").Owner); !errors.Is(err, network.ErrNotHeld) || cloud.has["a"] {
			t.Errorf("afterwards: got error %v, and the cloud has it: %v", err, cloud.has["a"])
		}
		cancel()
		group.Wait()
	})
}

// TestAddressInUseInTheCloud chooses another address in the same request, and leaves the one in use alone for a while.
func TestAddressInUseInTheCloud(t *testing.T) {
	w := newWorld(t)
	w.cloud.hook = func(call string, a network.Allocation) error {
		if call == "bind a" && a.Addresses[0].String() == "10.0.0.1" {
			return fmt.Errorf("binding: %w", network.ErrInUse)
		}
		return nil
	}
	if a := w.allocate(request("cloudy", "a")); a.Addresses[0].String() != "10.0.0.2" || a.State != network.Bound {
		t.Errorf("got %v, %s", a.Addresses, a.State)
	}
	if b := w.allocate(request("cloudy", "b")); b.Addresses[0].String() == "10.0.0.1" {
		t.Errorf("another owner got %v during the doubtful call", b.Addresses)
	}
}

// TestDepartedCallerTakesNoAddress checks that a departed caller takes no address from its owner and writes nothing.
func TestDepartedCallerTakesNoAddress(t *testing.T) {
	w := newWorld(t)
	w.allocate(request("plain", "old", "10.0.0.1"))
	gone := service.New(w.ledger, map[string]service.Pool{"plain": {Quarantine: rest}, "cloudy": {Cloud: w.cloud, Quarantine: rest}}, service.Options{
		Clock: w.clock, Disconnected: func(context.Context) bool { return true },
	})
	r := request("plain", "new", "10.0.0.1")
	r.Preempt = true
	for _, r := range []service.Request{r, request("plain", "other"), request("cloudy", "third")} {
		if _, err := gone.Allocate(t.Context(), r); !errors.Is(err, network.ErrGone) {
			t.Errorf("%s: got error %v", r.Owner.Key, err)
		}
	}
	if got := w.states("old", "new", "other", "third"); got != "old bound, new none, other none, third none" {
		t.Errorf("got %s", got)
	}
}

// TestRequestFromBeforeTheRelease is refused, and one from after it is served.
func TestRequestFromBeforeTheRelease(t *testing.T) {
	w := newWorld(t)
	r := request("plain", "a")
	r.Arrived = w.clock.Now().Add(-time.Second)
	for _, held := range []bool{true, false} {
		if held {
			w.allocate(request("plain", "a"))
		}
		if err := w.Release(t.Context(), r.Owner); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Allocate(t.Context(), r); !errors.Is(err, network.ErrReleased) {
			t.Errorf("held before: %v: got error %v", held, err)
		}
	}
	r.Arrived = w.clock.Now()
	w.allocate(r)
}

// TestRequestWithoutRulesNeedsAllocation checks that such a request is refused if its owner no longer has an allocation.
func TestRequestWithoutRulesNeedsAllocation(t *testing.T) {
	w := newWorld(t)
	r := request("plain", "a")
	r.MustHold = true
	if _, err := w.Allocate(t.Context(), r); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got error %v", err)
	}
	w.allocate(request("plain", "a"))
	w.allocate(r)
}

// TestRetractKeepsAllocationOfAnotherRequest checks that Retract keeps an allocation that another request got.
func TestRetractKeepsAllocationOfAnotherRequest(t *testing.T) {
	w := newWorld(t)
	a := w.allocate(request("plain", "a"))
	if err := w.MarkAnswered(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := w.Retract(t.Context(), a); err != nil || w.state("a") != network.Bound {
		t.Errorf("the state is %s, want bound: %v", w.state("a"), err)
	}
	b := w.allocate(request("plain", "b"))
	if err := w.Retract(t.Context(), b); err != nil || w.state("b") != "none" {
		t.Errorf("the unanswered allocation is %s, want none: %v", w.state("b"), err)
	}
}

// leased is a store of several servers, each with a lease.
type leased struct {
	*shared
	server string
	left   time.Duration
}

func (l *leased) Server() string       { return l.server }
func (l *leased) Lease() time.Duration { return l.left }

// TestReleaseMovesWhenLeaseEnds checks that a release belongs to its server until its lease ends, and to another server
// afterwards. A server without a lease calls no cloud.
func TestReleaseMovesWhenLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		common, cloud := &rows{rows: map[string][]byte{}}, newFake()
		open := func(name string) (*leased, *service.Service) {
			store := &leased{&shared{rows: common}, name, time.Hour}
			if err := common.Commit(t.Context(), ledger.Change{Key: ledger.ServerKey(name), Value: []byte{}}); err != nil {
				t.Fatal(err)
			}
			book, err := ledger.Open(t.Context(), store, ledger.Pool{Name: "cloudy"})
			if err != nil {
				t.Fatal(err)
			}
			return store, service.New(book, map[string]service.Pool{"cloudy": {Cloud: cloud}}, service.Options{Clock: clock.RealClock{}})
		}
		first, one := open("one")
		_, two := open("two")
		r := request("cloudy", "a")
		if _, err := one.Allocate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := one.Release(t.Context(), r.Owner); err != nil {
			t.Fatal(err)
		}
		if _, err := two.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("while the first server holds its lease: got error %v", err)
		}
		if err := common.Commit(t.Context(), ledger.Change{Key: ledger.ServerKey("one"), Was: []byte{}}); err != nil {
			t.Fatal(err)
		}
		if _, err := two.Allocate(t.Context(), r); err != nil {
			t.Errorf("when the lease has ended: got error %v", err)
		}
		first.left = 0
		if _, err := one.Allocate(t.Context(), request("cloudy", "b")); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("a server without a lease: got error %v", err)
		}
	})
}

// TestRequestsOfOneOwnerShareFailure checks that repeated requests do not call a failing cloud again, each after the other:
// a release of the owner would wait for all of them.
func TestRequestsOfOneOwnerShareFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := servers(t)
		var binds atomic.Int32
		one.way.arrives = func(call string) error {
			if strings.HasPrefix(call, "bind") {
				binds.Add(1)
				time.Sleep(10 * time.Second)
				return errBroken
			}
			return nil
		}
		var group sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			group.Go(func() { _, errs[i] = one.Allocate(t.Context(), request("cloudy", "a")) })
		}
		group.Wait()
		for i, err := range errs {
			if !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("request %d: got error %v, want %v", i, err, network.ErrUnavailable)
			}
		}
		if got := binds.Load(); got != 1 {
			t.Errorf("the cloud got %d calls, want 1", got)
		}
	})
}
