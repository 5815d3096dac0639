// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// stalled is a store of which one commit, the next one, is made by somebody else.
type stalled struct {
	*telling
	next atomic.Pointer[func(commit func() error) error]
}

func (s *stalled) Commit(ctx context.Context, changes ...ledger.Change) error {
	_, err := s.CommitAt(ctx, changes...)
	return err
}

func (s *stalled) CommitAt(ctx context.Context, changes ...ledger.Change) (revision int64, err error) {
	commit := func() error {
		revision, err = s.telling.CommitAt(ctx, changes...)
		return err
	}
	if by := s.next.Swap(nil); by != nil {
		return revision, (*by)(commit)
	}
	return revision, commit()
}

// stall lets the next commit wait for a channel to be closed.
func (s *stalled) stall(over <-chan struct{}, then func(commit func() error) error) {
	by := func(commit func() error) error {
		<-over
		return then(commit)
	}
	s.next.Store(&by)
}

// The ways in which a commit that was stalled ends.
func made(commit func() error) error { return commit() }
func failed(func() error) error      { return errBroken }
func unanswered(commit func() error) error {
	if err := commit(); err != nil {
		return err
	}
	return errBroken
}

// waker is a ledger with an address that rests, and how its rest is ended.
type waker struct {
	*ledger.Ledger
	store *stalled
	in    ledger.Intent
	now   time.Time
}

func newWaker(t *testing.T, shared bool) waker {
	t.Helper()
	w := waker{store: &stalled{telling: newTelling(t, 0, 0, 0)}, in: intent(), now: time.Unix(1e9, 0)}
	if shared {
		w.Ledger = follow(t, w.store)
		synctest.Wait() // it follows
	} else {
		var err error
		if w.Ledger, err = ledger.Open(t.Context(), struct{ ledger.Store }{w.store}, pools(t)); err != nil {
			t.Fatal(err)
		}
	}
	w.in.Addresses, w.in.Kin = []netip.Addr{netip.MustParseAddr("10.0.0.1")}, w.in.Owner.Key
	if _, _, err := w.Reserve(t.Context(), w.in); err != nil {
		t.Fatal(err)
	}
	if err := w.Forget(t.Context(), w.in.Owner, w.now, w.now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return w
}

// wake begins to end the rest, which the commit does not do before the channel is closed.
func (w waker) wake(t *testing.T, rouse bool, over <-chan struct{}, then func(commit func() error) error) {
	w.store.stall(over, then)
	go func() {
		if rouse {
			_, _ = w.Rouse(t.Context(), w.in.Owner.Contract, w.in.Pool, w.in.Addresses[0])
		} else {
			_, _ = w.Wake(t.Context(), w.now.Add(time.Hour))
		}
	}()
	synctest.Wait()
}

// TestNamedWhileWaking asks for an address by name while its rest is being ended: who had it gets it however that ends, and another owner when it is free;
// and nobody else waits meanwhile.
func TestNamedWhileWaking(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(commit func() error) error
		other error
	}{"made": {then: made}, "not made": {failed, network.ErrTaken}, "made, and the answer is lost": {unanswered, network.ErrTaken}} {
		for _, rouse := range []bool{false, true} {
			for _, kin := range []bool{true, false} {
				t.Run(name+map[bool]string{true: ", before its time"}[rouse]+map[bool]string{true: ", kin"}[kin], func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w, over := newWaker(t, false), make(chan struct{})
						in, want := w.in, error(nil)
						if !kin {
							in.Owner, in.Kin, want = test("other"), "other", c.other
						}
						w.wake(t, rouse, over, c.then)
						answer := make(chan error, 1)
						go func() {
							_, _, err := w.Reserve(t.Context(), in)
							answer <- err
						}()
						synctest.Wait()
						if len(answer) > 0 {
							t.Fatalf("it is not waited for: %v", <-answer)
						}
						meanwhile(t, w, in.Owner)
						close(over)
						if err := <-answer; !errors.Is(err, want) || want == nil && err != nil {
							t.Errorf("got error %v, want %v", err, want)
						}
						if _, err := w.Wake(t.Context(), w.now.Add(time.Hour)); err != nil {
							t.Error(err)
						}
						if _, _, err := w.Reserve(t.Context(), in); err != nil || w.Taken("pool") != 2 {
							t.Errorf("in the end: got error %v and %d taken, want 2", err, w.Taken("pool"))
						}
					})
				})
			}
		}
	}
}

// meanwhile does what must not wait: it asks for another address, gives back what the owner that waits has, and changes the pools.
func meanwhile(t *testing.T, w waker, owner network.Owner) {
	t.Helper()
	another := intent()
	another.Owner = test("another")
	if _, _, err := w.Reserve(t.Context(), another); err != nil {
		t.Errorf("another address: %v", err)
	}
	if err := w.Forget(t.Context(), owner, w.now, w.now); err != nil {
		t.Errorf("the same owner: %v", err)
	}
	pool := pools(t)
	pool.FirstVLAN, pool.LastVLAN = 2, 3
	for _, to := range []ledger.Pool{pool, pools(t)} {
		if err := w.Configure(t.Context(), to); err != nil {
			t.Errorf("other pools: %v", err)
		}
	}
}

// TestNamedWhileWakingHangs holds that who waits for a store that hangs leaves when it must, and takes nothing along.
func TestNamedWhileWakingHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, over := newWaker(t, false), make(chan struct{})
		w.wake(t, false, over, made)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		others := w.in
		others.Owner, others.Addresses = test("other"), nil
		if _, _, err := w.ReserveAll(ctx, []ledger.Intent{others, w.in}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, network.ErrTaken) {
			t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
		}
		if got := w.Taken("pool"); got != 1 {
			t.Errorf("got %d taken, want what rests", got)
		}
		close(over)
		synctest.Wait()
		if _, _, err := w.Reserve(t.Context(), w.in); err != nil {
			t.Error(err)
		}
	})
}

// TestNamedWhileWakingIsShared holds that of a store that others write, too, it is found out at once whether the address still rests.
func TestNamedWhileWakingIsShared(t *testing.T) {
	for name, then := range map[string]func(commit func() error) error{"made": made, "not made": failed, "made, and the answer is lost": unanswered} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, over := newWaker(t, true), make(chan struct{})
				w.wake(t, false, over, then)
				if _, _, err := w.Reserve(t.Context(), w.in); err != nil {
					t.Error(err)
				}
				close(over)
				synctest.Wait()
				if a, err := w.At(t.Context(), "pool", w.in.Addresses[0]); err != nil || a.Owner != w.in.Owner || w.Taken("pool") != 1 {
					t.Errorf("in the end: got %v, error %v and %d taken, want 1", a.Owner, err, w.Taken("pool"))
				}
			})
		})
	}
}
