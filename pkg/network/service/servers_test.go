// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// shared is the way of one server to rows that several have. What others write it is told late: never, in these tests.
type shared struct {
	*rows
	// read is called once, unless it is nil, when a row was read and nobody knows of it yet.
	read func()
}

func (s *shared) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	return 1, s.Commit(ctx, changes...)
}

func (s *shared) Watch(ctx context.Context, _ ledger.Observer) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *shared) Get(ctx context.Context, key string) ([]byte, error) {
	raw, err := s.rows.Get(ctx, key)
	if read := s.read; read != nil {
		s.read = nil
		read()
	}
	return raw, err
}

// way is that of one server to a cloud that several have.
type way struct {
	*fakeCloud
	// arrives is called before the cloud has a call, and answered when it has done it, before the answer arrives; nil: nothing happens on the way.
	arrives, answered func(call string) error
}

func (w *way) take(call string, do func() error) error {
	if w.arrives != nil {
		if err := w.arrives(call); err != nil {
			return err
		}
	}
	if err := do(); err != nil || w.answered == nil {
		return err
	}
	return w.answered(call)
}

func (w *way) Bind(ctx context.Context, a network.Allocation) (b network.Binding, err error) {
	err = w.take("bind", func() error { b, err = w.fakeCloud.Bind(ctx, a); return err })
	return b, err
}

func (w *way) Unbind(ctx context.Context, a network.Allocation) error {
	return w.take("unbind", func() error { return w.fakeCloud.Unbind(ctx, a) })
}

func (w *way) Find(ctx context.Context, a network.Allocation) (b network.Binding, has bool, err error) {
	err = w.take("find", func() error { b, has, err = w.fakeCloud.Find(ctx, a); return err })
	return b, has, err
}

// server is one of several.
type server struct {
	*service.Service
	store *shared
	way   *way
}

// servers are two of one store and one cloud, of which the pools cloudy, of one address, and plain are; in a bubble.
func servers(t *testing.T) (one, two *server) {
	t.Helper()
	common, cloud := &rows{rows: map[string][]byte{}}, newFake()
	open := func() *server {
		s := &server{store: &shared{rows: common}, way: &way{fakeCloud: cloud}}
		book, err := ledger.Open(t.Context(), s.store, ledger.Pool{Name: "cloudy"}, ledger.Pool{Name: "plain"})
		if err != nil {
			t.Fatal(err)
		}
		s.Service = service.New(book, map[string]service.Pool{"cloudy": {Cloud: s.way}, "plain": {}}, service.Options{
			Clock: clock.RealClock{}, Report: func(owner network.Owner, err error) { t.Logf("%s: %v", owner, err) },
		})
		return s
	}
	return open(), open()
}

// run runs the background work until the end is called, which waits for it.
func (s *server) run(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	return func() { cancel(); group.Wait() }
}

func (s *server) allocate(t *testing.T, r service.Request) {
	t.Helper()
	if _, err := s.Allocate(t.Context(), r); err != nil {
		t.Errorf("allocating for %s: %v", r.Owner, err)
	}
}

// holds holds that the ledger and the cloud say that an owner has what it was given.
func (s *server) holds(t *testing.T, r service.Request) {
	t.Helper()
	a, err := s.Get(t.Context(), r.Owner)
	s.way.mutex.Lock()
	defer s.way.mutex.Unlock()
	if has := s.way.has[r.Owner.Key]; err != nil || a.State != network.Bound || !has {
		t.Errorf("%s was given it, the ledger says %s (%v), and the cloud has it: %v", r.Owner, a.State, err, has)
	}
}

// once blocks the first call of a name until goOn is closed; what it gives is the error of that call.
func once(name string, failure error) (on func(call string) error, goOn chan struct{}) {
	goOn = make(chan struct{})
	var first sync.Once
	return func(call string) (err error) {
		if call == name {
			first.Do(func() { <-goOn; err = failure })
		}
		return err
	}, goOn
}

// TestAnothersWork holds that what one server does late takes nothing from an owner that another server has given it meanwhile.
func TestAnothersWork(t *testing.T) {
	r := request("cloudy", "a")
	for name, late := range map[string]func(t *testing.T, one *server) (goOn chan struct{}, do func()){
		"it ends a release": func(t *testing.T, one *server) (chan struct{}, func()) {
			one.allocate(t, r)
			answered, goOn := once("unbind", nil)
			one.way.answered = answered
			if err := one.Release(t.Context(), r.Owner); err != nil {
				t.Error(err)
			}
			return goOn, func() { defer one.run(t)(); time.Sleep(time.Minute) }
		},
		"its call was not sent": func(t *testing.T, one *server) (chan struct{}, func()) {
			arrives, goOn := once("bind", fmt.Errorf("%w: no", network.ErrNotSent))
			one.way.arrives = arrives
			return goOn, func() { _, _ = one.Allocate(t.Context(), r) }
		},
		"it is refused": func(t *testing.T, one *server) (chan struct{}, func()) {
			arrives, goOn := once("bind", errNo)
			one.way.arrives = arrives
			return goOn, func() { _, _ = one.Allocate(t.Context(), r) }
		},
		"it looks at what was begun": func(t *testing.T, one *server) (chan struct{}, func()) {
			one.way.arrives = func(string) error { return errBroken }
			if _, err := one.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("got error %v", err)
			}
			time.Sleep(time.Hour)
			answered, goOn := once("find", nil)
			one.way.arrives, one.way.answered = nil, answered
			return goOn, func() { _ = one.Recover(t.Context()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := servers(t)
				goOn, do := late(t, one)
				var group sync.WaitGroup
				group.Go(do)
				synctest.Wait()
				two.allocate(t, r)
				close(goOn)
				group.Wait()
				two.holds(t, r)
			})
		})
	}
}

// TestBoundAfterARelease holds that what a cloud binds after another server has brought the release to its end is taken back, though the cloud fails at first.
func TestBoundAfterARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := servers(t)
		r := request("cloudy", "a")
		arrives, goOn := once("bind", nil)
		fails := 3
		one.way.arrives = func(call string) error {
			if call == "unbind" && fails > 0 {
				fails--
				return errBroken
			}
			return arrives(call)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := one.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("got error %v", err)
			}
		})
		synctest.Wait()
		end := two.run(t)
		if err := two.Release(t.Context(), r.Owner); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		end()
		close(goOn)
		group.Wait()
		if _, err := two.Get(t.Context(), r.Owner); !errors.Is(err, network.ErrNotHeld) || one.way.has["a"] {
			t.Errorf("the ledger says %v, and the cloud has it: %v", err, one.way.has["a"])
		}
	})
}

// TestClaimedWhileReleased holds that a release of what one holder has leaves it to another who claims it at that moment.
func TestClaimedWhileReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := servers(t)
		r := request("cloudy", "a")
		r.Holder.UID = "old"
		one.allocate(t, r)
		one.store.read = func() {
			if _, err := two.Claim(t.Context(), r.Owner, func(h *network.Holder) error { h.UID = "new"; return nil }); err != nil {
				t.Error(err)
			}
		}
		if err := one.ReleaseOf(t.Context(), r.Owner, "old"); err != nil {
			t.Error(err)
		}
		two.holds(t, r)
	})
}

// TestReleasesAtTheEnd holds that a release is remembered whose caller has left, though the service ends before it begins.
func TestReleasesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := servers(t)
		r := request("cloudy", "a")
		answered, goOn := once("bind", nil)
		one.way.answered = answered
		end := one.run(t)
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _, _ = one.Allocate(ctx, r) })
		synctest.Wait()
		group.Go(func() {
			if err := one.Release(ctx, r.Owner); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v", err)
			}
		})
		synctest.Wait()
		leave()
		group.Wait()
		group.Go(end)
		synctest.Wait()
		close(goOn)
		group.Wait()
		if a, err := one.Get(t.Context(), r.Owner); err != nil || a.State != network.Releasing {
			t.Errorf("it was released, and is %s, %v", a.State, err)
		}
		if _, err := one.Allocate(t.Context(), r); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("afterwards: got error %v", err)
		}
	})
}

// TestReclaimsAtOnce holds that of releases for different holders at the same time the one is done that is right.
func TestReclaimsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.Configure(map[string]service.Pool{"plain": {}}, nil)
	r := request("plain", "a")
	r.Holder.UID = "mine"
	for range 500 {
		w.allocate(r)
		var group sync.WaitGroup
		for _, uid := range []string{"another's", "mine", "another's", "another's"} {
			group.Go(func() {
				if err := w.ReleaseOf(t.Context(), r.Owner, uid); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if state := w.state("a"); state != "none" {
			t.Fatalf("it was released without an error, and is %s", state)
		}
	}
}
