// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// releaseAll allocates for many owners, and releases all of them while background work is stopped.
func releaseAll(t *testing.T, s *service.Service, owners int) {
	t.Helper()
	for i := range owners {
		if _, err := s.Allocate(t.Context(), request("pool", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), network.Owner{Contract: "test", Key: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// background runs the service for a time.
func background(t *testing.T, s *service.Service, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	time.Sleep(d)
	cancel()
	group.Wait()
}

// TestReleasesBeyondMemoryWaitInLedger checks that releases that do not fit into memory wait in the ledger and are completed.
func TestReleasesBeyondMemoryWaitInLedger(t *testing.T) {
	for name, limit := range map[string]*service.Limit{"without a limiter": nil, "with a limiter": {Rate: 1000, Burst: 10, Parallel: 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const owners = 6000
				l := &limited{takes: time.Millisecond}
				s := crowd(t, l, limit, service.Options{})
				releaseAll(t, s, owners)
				if got := s.Pending(); got != owners {
					t.Errorf("%d wait, want %d", got, owners)
				}
				background(t, s, time.Minute)
				left := 0
				for _, bound := range l.bound {
					if bound {
						left++
					}
				}
				if left > 0 || l.calls != 2*owners || s.Pending() != 0 {
					t.Errorf("%d allocations remain after %d calls, %d waiting", left, l.calls, s.Pending())
				}
			})
		})
	}
}

// TestFailedReleasesAreRetriedApart checks that releases that failed together are retried at different times.
func TestFailedReleasesAreRetriedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owners = 200
		l := &limited{takes: time.Millisecond}
		random := rand.New(rand.NewPCG(1, 2))
		var mutex sync.Mutex
		s := crowd(t, l, nil, service.Options{Releasers: owners, Random: func() float64 { mutex.Lock(); defer mutex.Unlock(); return random.Float64() }})
		releaseAll(t, s, owners)
		fails := time.Now().Add(10 * time.Second)
		l.most, l.fails = 0, func(int) error {
			if time.Now().Before(fails) {
				return errBroken
			}
			return nil
		}
		began := l.calls
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { s.Run(ctx) })
		time.Sleep(8 * time.Second)
		l.mutex.Lock()
		l.most = 0
		l.mutex.Unlock()
		time.Sleep(2 * time.Minute)
		cancel()
		group.Wait()
		if l.most > owners/10 || s.Pending() != 0 {
			t.Errorf("up to %d calls were made at once, and %d wait", l.most, s.Pending())
		}
		if calls := l.calls - began; calls < 3*owners || calls > 8*owners {
			t.Errorf("got %d calls for %d releases", calls, owners)
		}
	})
}

// TestUnreachableCloudBlocksNoOther checks that releases of an unreachable cloud block neither the calls nor the memory for other clouds,
// and are not read repeatedly.
func TestUnreachableCloudBlocksNoOther(t *testing.T) {
	for name, of := range map[string]struct {
		limit service.Limit
		found bool // by another server, when it starts
	}{
		"the cloud fails": {}, "the cloud hangs": {limit: service.Limit{Parallel: 4}}, "another server left the releases": {found: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := servers(t)
				good, dead := newFake(), one.way
				limiter := service.NewLimiter("dead", of.limit, clock.RealClock{})
				for _, s := range []*server{one, two} {
					s.Configure(map[string]service.Pool{"cloudy": {Cloud: dead, Limiter: limiter}, "plain": {Cloud: good}}, nil)
				}
				dead.arrives = func(call string) error {
					if call != "unbind" {
						return nil
					}
					time.Sleep(time.Duration(of.limit.Parallel) * time.Minute / 4)
					return errBroken
				}
				for i := range 4200 {
					one.allocate(t, request("cloudy", fmt.Sprint(i)))
					if err := one.Release(t.Context(), request("cloudy", fmt.Sprint(i)).Owner); err != nil {
						t.Fatal(err)
					}
				}
				if of.found {
					if one = two; one.Recover(t.Context()) != nil {
						t.Fatal("recovery fails after the restart")
					}
				}
				end := one.run(t)
				time.Sleep(5 * time.Second)
				before := one.store.count()
				one.allocate(t, request("plain", "a"))
				if err := one.Release(t.Context(), request("plain", "a").Owner); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if said := good.said(); said != "bind a, unbind a" {
					t.Errorf("unexpected calls of the other cloud: %s; %d releases wait", said, one.Pending())
				}
				if reads := one.store.count() - before; of.limit.Parallel > 0 && reads > 100 {
					t.Errorf("%d rows were read in five seconds", reads)
				}
				end()
			})
		})
	}
}

// TestReleasesBehindManyOfUnreachableCloud checks that many releases of an unreachable cloud in the ledger do not hide later releases.
func TestReleasesBehindManyOfUnreachableCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := servers(t)
		good, random := newFake(), rand.New(rand.NewPCG(1, 2))
		one.way.hook = func(call string, _ network.Allocation) error {
			if strings.HasPrefix(call, "unbind") {
				return errBroken
			}
			return nil
		}
		pools := map[string]service.Pool{"cloudy": {Cloud: one.way}, "plain": {Cloud: good}}
		one.Configure(pools, nil)
		for i := range 8300 {
			one.allocate(t, request("cloudy", fmt.Sprint(i)))
			if err := one.Release(t.Context(), request("cloudy", fmt.Sprint(i)).Owner); err != nil {
				t.Fatal(err)
			}
		}
		one.allocate(t, request("plain", "last"))
		if err := one.Release(t.Context(), request("plain", "last").Owner); err != nil {
			t.Fatal(err)
		}
		var err error
		if one.ledger, err = ledger.Open(t.Context(), one.store.rows, ledger.Pool{Name: "cloudy"}, ledger.Pool{Name: "plain"}); err != nil {
			t.Fatal(err)
		}
		var mutex sync.Mutex
		one.again(service.Options{Random: func() float64 {
			mutex.Lock()
			defer mutex.Unlock()
			return random.Float64()
		}}, pools)
		end := one.run(t)
		looks := 0
		for ; looks < 30 && good.said() != "bind last, unbind last"; looks++ {
			if err := one.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if looks == 30 {
			t.Errorf("unexpected calls of the other cloud: %s; %d releases wait", good.said(), one.Pending())
		}
		end()
	})
}

// TestReleaseContinuesAfterMoveToOtherCloud checks that a delayed release continues at once if its owner now has an allocation of
// another cloud.
func TestReleaseContinuesAfterMoveToOtherCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _ := servers(t)
		good, limiter := newFake(), service.NewLimiter("dead", service.Limit{Parallel: 1}, clock.RealClock{})
		one.Configure(map[string]service.Pool{"cloudy": {Cloud: one.way, Limiter: limiter}, "plain": {Cloud: good}}, nil)
		one.way.arrives = func(call string) error {
			if call == "unbind" {
				time.Sleep(time.Hour)
			}
			return nil
		}
		release := func(key string) {
			if err := one.Release(t.Context(), request("cloudy", key).Owner); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 1100 {
			one.allocate(t, request("cloudy", fmt.Sprint(i)))
			release(fmt.Sprint(i))
		}
		one.allocate(t, request("cloudy", "x"))
		end := one.run(t)
		time.Sleep(time.Second)
		release("x")
		time.Sleep(5 * time.Second)
		if err := one.ledger.Delete(t.Context(), request("cloudy", "x").Owner, time.Now(), time.Now()); err != nil { // by another server, after the answer of the cloud
			t.Fatal(err)
		}
		one.allocate(t, request("plain", "x"))
		release("x")
		time.Sleep(5 * time.Second)
		if said := good.said(); said != "bind x, unbind x" {
			t.Errorf("unexpected calls of the other cloud: %s", said)
		}
		go end()
		time.Sleep(2000 * time.Hour)
	})
}
