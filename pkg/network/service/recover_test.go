// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

var errDead = errors.New("the server is dead")

// mortal lets a server make a number of commits and cloud calls, which all take effect. Later ones do not.
type mortal struct {
	ledger.Store
	left atomic.Int64
}

func (m *mortal) step() (alive bool) { return m.left.Add(-1) >= 0 }

func (m *mortal) Commit(ctx context.Context, changes ...ledger.Change) error {
	if !m.step() {
		return errDead
	}
	return m.Store.Commit(ctx, changes...)
}

// TestRequestsKilled kills a server after each step of a request for several owners, and after each step of its
// recovery: in the end all owners have their allocations, or none has anything in the ledger or the clouds.
func TestRequestsKilled(t *testing.T) {
	for name, of := range map[string]struct {
		pools   string // of a, b and c: p(lain) or c(loudy)
		answers map[string]error
	}{
		"the cloud binds all":                           {pools: "ccc"},
		"the first owner has no cloud":                  {pools: "pcc"},
		"the last owner has no cloud":                   {pools: "ccp"},
		"the cloud refuses the first":                   {pools: "ccc", answers: map[string]error{"bind a": errNo}},
		"the cloud refuses the last":                    {pools: "ccc", answers: map[string]error{"bind c": errNo}},
		"the cloud refuses the second before the third": {pools: "pcc", answers: map[string]error{"bind b": errNo}},
		"the call for the second is not sent":           {pools: "ccc", answers: map[string]error{"bind b": fmt.Errorf("%w: no", network.ErrNotSent)}},
		"the call for the second fails":                 {pools: "ccc", answers: map[string]error{"bind b": errBroken}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []service.Request
			for at, key := range []string{"a", "b", "c"} {
				requests = append(requests, request(map[byte]string{'p': "plain", 'c': "cloudy"}[of.pools[at]], key))
			}
			for first := range int64(10) {
				for second := range int64(6) {
					w := newWorld(t)
					dying := &mortal{Store: w.commits.Store}
					w.live(dying, first, of.answers, func(s *service.Service) { _, _ = s.AllocateAll(t.Context(), requests...) })
					w.live(dying, second, nil, func(s *service.Service) { _ = s.Recover(t.Context()) })
					w.live(dying, 1000, nil, func(s *service.Service) {
						if err := s.Recover(t.Context()); err != nil {
							t.Error(err)
						}
						w.eventually(fmt.Sprintf("killed after %d and %d, all or none: %s", first, second, w.states("a", "b", "c")), func() bool {
							got := w.states("a", "b", "c")
							return got == "a bound, b bound, c bound" || got == "a none, b none, c none"
						})
					})
					for at, key := range []string{"a", "b", "c"} {
						if want := w.state(key) == network.Bound && of.pools[at] == 'c'; w.cloud.has[key] != want {
							t.Errorf("killed after %d and %d: %s: bound: %v, ledger: %s", first, second, key, !want, w.state(key))
						}
					}
				}
			}
		})
	}
}

// live runs a server that dies after a number of steps.
func (w *world) live(dying *mortal, things int64, answers map[string]error, do func(*service.Service)) {
	w.t.Helper()
	dying.left.Store(things)
	w.cloud.mutex.Lock()
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if !dying.step() || dying.left.Load() < 0 {
			return errDead
		}
		return answers[call]
	}
	w.cloud.mutex.Unlock()
	var err error
	if w.ledger, err = ledger.Open(w.t.Context(), dying, w.pools...); err != nil {
		w.t.Fatal(err)
	}
	s := service.New(w.ledger, map[string]service.Pool{"plain": {}, "cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	do(s)
	cancel()
	<-done
}

// TestRecoverTogether rolls requests back also where a part of them is of another server.
func TestRecoverTogether(t *testing.T) {
	w := newWorld(t)
	reserve := func(pool, lead string, keys ...string) {
		var intents []ledger.Intent
		for _, key := range keys {
			in := ledger.Intent{Owner: owner(key), Pool: pool, State: network.Intended, Now: w.clock.Now(), Together: owner(lead)}
			intents = append(intents, in)
		}
		if _, _, err := w.ledger.ReserveAll(t.Context(), intents); err != nil {
			t.Fatal(err)
		}
	}
	reserve("cloudy", "a", "a", "b")
	reserve("cloudy", "c", "c")
	reserve("plain", "c", "d")
	reserve("cloudy", "e", "e", "f")
	for _, key := range []string{"b", "c", "f"} {
		w.cloud.set(key, true)
	}
	w.Service = service.New(w.ledger, map[string]service.Pool{"cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "a releasing, b releasing, c releasing, d intended, e releasing, f releasing"
	if got := w.states("a", "b", "c", "d", "e", "f"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func owner(key string) network.Owner { return network.Owner{Contract: "test", Key: key} }

// TestRecoverWhileAnotherCloudHangs checks that work of one cloud is completed while another cloud hangs, at the start
// and later.
func TestRecoverWhileAnotherCloudHangs(t *testing.T) {
	for name, look := range map[string]func(t *testing.T, s *server) (end func()){
		"at the start": func(t *testing.T, s *server) func() {
			if err := s.Recover(t.Context()); err != nil {
				t.Error(err)
			}
			return s.run(t)
		},
		"while the server runs": func(t *testing.T, s *server) func() {
			defer time.Sleep(10 * time.Minute)
			return s.run(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, _ := servers(t)
				good := newFake()
				one.Configure(map[string]service.Pool{"cloudy": {Cloud: one.way}, "plain": {Cloud: good}}, nil)
				fails := func(string, network.Allocation) error { return errBroken }
				one.way.hook, good.hook = fails, fails
				for i := range 100 {
					for _, pool := range []string{"cloudy", "plain"} {
						if _, err := one.Allocate(t.Context(), request(pool, fmt.Sprint(pool, i))); !errors.Is(err, network.ErrUnavailable) {
							t.Fatalf("got error %v", err)
						}
					}
				}
				one.way.arrives, good.hook = func(string) error { time.Sleep(time.Hour); return errBroken }, nil
				time.Sleep(time.Hour)
				end := look(t, one)
				time.Sleep(2 * time.Second)
				for i := range 100 {
					if a, err := one.Get(t.Context(), request("plain", fmt.Sprint("plain", i)).Owner); !errors.Is(err, network.ErrNotHeld) {
						t.Errorf("%d is %s, %v", i, a.State, err)
					}
				}
				end()
			})
		})
	}
}
