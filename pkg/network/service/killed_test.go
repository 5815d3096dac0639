// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go4.org/netipx"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// settle is how long a call of a server that was killed may still take effect in these tests.
const settle = 4 * time.Second

// life is one life of a server: it ends after a number of steps, which are commits and calls that change a cloud.
type life struct {
	mutex sync.Mutex
	left  int
	dead  bool
}

func (l *life) begin(steps int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.left = steps
}

// step reports whether the next step is made, and whether it is made late, after the server's end.
func (l *life) step() (alive, late bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	late = l.left == 0 && !l.dead
	if l.left--; l.left < 0 {
		l.dead = true
	}
	return !l.dead, late
}

// small is a store with a limit, as seen by one life of a server.
type small struct {
	*rows
	*life
	limit int
}

func (s small) Limit() int { return s.limit }

func (s small) Commit(ctx context.Context, changes ...ledger.Change) error {
	if len(changes) > s.limit {
		return ledger.ErrTooLarge
	}
	if alive, _ := s.step(); !alive {
		return errDead
	}
	return s.rows.Commit(ctx, changes...)
}

// ports is a cloud with one port for each address, as seen by one life of a server. A bind that was sent at the server's end takes effect later.
type ports struct {
	*life
	*bindings
}

type bindings struct {
	mutex sync.Mutex
	of    map[netip.Addr]string
	wrong []string
}

func (p ports) change(a network.Allocation, what string, do func(address netip.Addr)) error {
	do = func(do func(netip.Addr)) func(netip.Addr) {
		return func(address netip.Addr) {
			p.bindings.mutex.Lock()
			defer p.bindings.mutex.Unlock()
			if by := p.of[address]; by != "" && by != a.Owner.Key {
				p.wrong = append(p.wrong, fmt.Sprintf("%s %s for %s, which is that of %s", what, address, a.Owner.Key, by))
			}
			do(address)
		}
	}(do)
	time.Sleep(time.Millisecond)
	alive, late := p.step()
	if !alive && (!late || what != "bind") {
		return errDead
	}
	if !alive {
		time.AfterFunc(settle/4, func() { do(a.Addresses[0]) })
		return errDead
	}
	do(a.Addresses[0])
	return nil
}

func (p ports) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	return network.Binding{}, p.change(a, "bind", func(address netip.Addr) { p.of[address] = a.Owner.Key })
}

func (p ports) Unbind(_ context.Context, a network.Allocation) error {
	return p.change(a, "unbind", func(address netip.Addr) { delete(p.of, address) })
}

// TestRepeatedRequestsKilled kills a server after each step of a request for several owners, its next life after each step of the recovery and of
// the same request again, and a third one. In the end the owners have all or nothing, in the ledger and in the clouds; a request that comes then is
// served, and when all is released nothing is left.
func TestRepeatedRequestsKilled(t *testing.T) {
	for name, of := range map[string]struct {
		pools string // of a, b, …: p(lain), or of the cloud c or d
		limit int    // of changes in a commit
	}{
		"three owners in one cloud":        {"ccc", 1000},
		"three owners in two clouds":       {"cdc", 1000},
		"one of three owners has no cloud": {"pcd", 1000},
		"a group that needs two commits":   {"ccdc", 16},
		"a group that needs many commits":  {"pcdpcd", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 14
			for first := range most {
				for second := range most {
					for _, third := range []int{1, 3, 6} {
						synctest.Test(t, func(t *testing.T) { killed(t, of.pools, of.limit, first, second, third) })
						if t.Failed() {
							t.Fatalf("killed after %d, %d and %d steps", first, second, third)
						}
					}
				}
			}
		})
	}
}

func killed(t *testing.T, pools string, limit int, steps ...int) {
	store := &rows{rows: map[string][]byte{}}
	clouds := map[byte]*bindings{'c': {of: map[netip.Addr]string{}}, 'd': {of: map[netip.Addr]string{}}}
	var requests []service.Request
	for i := range len(pools) {
		requests = append(requests, request(pools[i:i+1], string(rune('a'+i)), fmt.Sprintf("10.0.0.%d", i+1)))
	}
	live := func(steps int, do func(s *service.Service)) {
		l := &life{left: 1000} // the format is written before it begins
		s := newLife(t, small{store, l, limit}, map[string]service.Pool{
			"p": {}, "c": {Cloud: ports{l, clouds['c']}, CloudName: "c", Settle: settle}, "d": {Cloud: ports{l, clouds['d']}, CloudName: "d", Settle: settle},
		})
		l.begin(steps)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { s.Run(ctx) })
		do(s)
		cancel()
		group.Wait()
	}
	for _, n := range steps {
		live(n, func(s *service.Service) {
			var group sync.WaitGroup
			group.Go(func() { _ = s.Recover(t.Context()) })
			group.Go(func() { _, _ = s.AllocateAll(t.Context(), requests...) })
			group.Wait()
		})
	}
	live(1000, func(s *service.Service) {
		if err := s.Recover(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if held := holders(t, s, requests, clouds); held != 0 && held != len(requests) {
			t.Errorf("want all or no owners with an allocation, got %d of %d", held, len(requests))
		}
		if _, err := s.AllocateAll(t.Context(), requests...); err != nil {
			t.Errorf("asking again: %v", err)
		}
		if held := holders(t, s, requests, clouds); held != len(requests) {
			t.Errorf("%d of %d owners have the allocation of their answer", held, len(requests))
		}
		for _, r := range requests {
			if err := s.Release(t.Context(), r.Owner); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		if held := holders(t, s, requests, clouds); held != 0 {
			t.Errorf("%d owners still have their released allocation", held)
		}
	})
}

func newLife(t *testing.T, store ledger.Store, pools map[string]service.Pool) *service.Service {
	t.Helper()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.9"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	var of []ledger.Pool
	for name := range pools {
		of = append(of, ledger.Pool{Name: name, Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}})
	}
	book, err := ledger.Open(t.Context(), store, of...)
	if err != nil {
		t.Fatal(err)
	}
	return service.New(book, pools, service.Options{Clock: clock.RealClock{}})
}

// holders returns the number of complete owners, and reports owners with differences between the ledger and the clouds.
func holders(t *testing.T, s *service.Service, requests []service.Request, clouds map[byte]*bindings) (count int) {
	t.Helper()
	var states []string
	for _, r := range requests {
		a, err := s.Get(t.Context(), r.Owner)
		if err == nil && a.State == network.Bound {
			count++
		}
		of := clouds[r.Pool[0]]
		if of == nil {
			states = append(states, fmt.Sprintf("%s %s", r.Owner.Key, a.State))
			continue
		}
		of.mutex.Lock()
		by := of.of[r.Addresses[0]]
		if (by == r.Owner.Key) != (err == nil && a.State == network.Bound) || err == nil && a.State != network.Bound {
			t.Errorf("%s is %s (%v), and the cloud has bound it for %q", r.Owner.Key, a.State, err, by)
		}
		for _, wrong := range of.wrong {
			t.Error(wrong)
		}
		of.mutex.Unlock()
		states = append(states, fmt.Sprintf("%s %s", r.Owner.Key, a.State))
	}
	if t.Failed() {
		t.Log(strings.Join(states, ", "))
	}
	return count
}
