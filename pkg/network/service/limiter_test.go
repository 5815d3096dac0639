// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// again is when a Pod that failed tries once more, after so many attempts.
type again func(random *rand.Rand, attempt int, err error) time.Duration

// kubelet is the delay of 10 to 15 seconds after any error of a Pod.
func kubelet(random *rand.Rand, _ int, _ error) time.Duration {
	return time.Duration(float64(10*time.Second) * (1 + random.Float64()/2))
}

// doubling is an exponential backoff from one second to five minutes.
func doubling(random *rand.Rand, attempt int, _ error) time.Duration {
	return time.Duration(float64(min(5*time.Minute, time.Second<<min(attempt, 10))) * (0.5 + random.Float64()/2))
}

// obedient retries after Retry-After.
func obedient(random *rand.Rand, attempt int, err error) time.Duration {
	var busy *network.Busy
	if errors.As(err, &busy) {
		return busy.RetryAfter
	}
	return kubelet(random, attempt, err)
}

// TestRequestsBeyondTheRateOfTheCloud sends 400 Pods with 50 seconds each to a cloud with two requests per second, which needs at least 195
// seconds.
func TestRequestsBeyondTheRateOfTheCloud(t *testing.T) {
	const pods = 400
	limit := service.Limit{Rate: 2, Burst: 10, Parallel: 4}
	for _, c := range []struct {
		name   string
		limit  *service.Limit
		again  again
		within time.Duration
		wasted int
	}{
		{name: "retries like kubelet", limit: &limit, again: kubelet, within: 215 * time.Second},
		{name: "retries after the given time", limit: &limit, again: obedient, within: 215 * time.Second},
		{name: "doubling to five minutes", limit: &limit, again: doubling, within: 300 * time.Second},
		{name: "retries like kubelet, without a rate limiter", again: kubelet, within: time.Hour, wasted: 1 << 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &limited{limiter: rate.NewLimiter(2.05, 11), takes: 300 * time.Millisecond}
				s := crowd(t, l, c.limit, service.Options{})
				began, attempts := time.Now(), make([]int, pods)
				var group sync.WaitGroup
				for pod := range pods {
					random := rand.New(rand.NewPCG(7, uint64(pod)))
					group.Go(func() {
						for attempt := 0; ; attempt++ {
							err := allocateWithin(t, s, fmt.Sprint(pod), 50*time.Second)
							if attempts[pod]++; err == nil {
								return
							}
							time.Sleep(c.again(random, attempt, err))
						}
					})
				}
				group.Wait()
				took, tries := time.Since(began), 0
				for _, n := range attempts {
					tries += n
				}
				t.Logf("%d Pods are served after %s, with %d attempts and %d calls of the cloud, of which %d were turned away", pods, took.Round(time.Second), tries, l.calls, l.turnedAway)
				if took > c.within || l.calls > pods+4+c.wasted {
					t.Errorf("it took %s and %d calls; at most %s and few more than %d calls were expected", took, l.calls, c.within, pods)
				}
			})
		})
	}
}

// allocateWithin allocates for an owner, with a deadline.
func allocateWithin(t *testing.T, s *service.Service, key string, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := s.Allocate(ctx, request("pool", key))
	return err
}

// TestBusyRequestWritesNothing checks that a refused request writes nothing to the ledger, and that owners with started or
// complete work are not refused.
func TestBusyRequestWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limited{takes: time.Second}
		s := crowd(t, l, &service.Limit{Rate: 1, Burst: 1, Parallel: 1}, service.Options{})
		within := func(key string, d time.Duration) error { return allocateWithin(t, s, key, d) }
		if err := within("first", 5*time.Second); err != nil { // no duration of the cloud is known: it is called
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range 5 {
			group.Go(func() {
				if err := within(fmt.Sprint(i), time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		var busy *network.Busy
		if err := within("late", 3*time.Second); !errors.As(err, &busy) || busy.RetryAfter < time.Second || busy.Of != "fabric" {
			t.Errorf("got error %v", err)
		}
		if _, err := s.Get(t.Context(), network.Owner{Contract: "test", Key: "late"}); !errors.Is(err, network.ErrNotHeld) {
			t.Errorf("got error %v: it was begun", err)
		}
		for i := range 5 {
			group.Go(func() { // the same owners once more, with little time: they wait as long as they can
				if err := within(fmt.Sprint(i), time.Second); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a repeated request of a waiting owner fails: %v", err)
				}
			})
		}
		if err := within("first", time.Millisecond); err != nil {
			t.Errorf("an owner whose work is done: %v", err)
		}
		group.Wait()
		if l.calls != 6 || l.most != 1 {
			t.Errorf("got %d calls, up to %d at a time", l.calls, l.most)
		}
		if err := within("late", 3*time.Second); err != nil {
			t.Errorf("allocation fails after the load has ended: %v", err)
		}
	})
}

// TestRefusedCallersReturn checks that refused callers get the time after which they would be served, of a second to a
// minute.
func TestRefusedCallersReturn(t *testing.T) {
	for _, test := range []struct {
		waiting    int
		left, want time.Duration
	}{
		{waiting: 5, left: 3 * time.Second, want: 2 * time.Second},
		{waiting: 5, left: 4500 * time.Millisecond, want: time.Second},
		{waiting: 70, left: 3 * time.Second, want: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &limited{takes: time.Second}
			s := crowd(t, l, &service.Limit{Rate: 1, Burst: 1, Parallel: 1}, service.Options{})
			var group sync.WaitGroup
			for i := range test.waiting {
				group.Go(func() {
					if err := allocateWithin(t, s, fmt.Sprint(i), 100*time.Second); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			var busy *network.Busy
			if err := allocateWithin(t, s, "late", test.left); !errors.As(err, &busy) {
				t.Errorf("got error %v, want a refusal", err)
			} else if busy.RetryAfter != test.want {
				t.Errorf("behind %d calls, a caller with %s returns after %s, want %s", test.waiting, test.left, busy.RetryAfter, test.want)
			}
			group.Wait()
		})
	}
}

// TestShortRequestsReachFormerlySlowCloud checks that requests with little time reach a cloud that was slow before.
func TestShortRequestsReachFormerlySlowCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limited{takes: 30 * time.Second}
		s := crowd(t, l, &service.Limit{Parallel: 1}, service.Options{})
		if _, err := s.Allocate(t.Context(), request("pool", "a")); err != nil {
			t.Fatal(err)
		}
		l.takes = time.Second
		if err := allocateWithin(t, s, "b", 5*time.Second); err != nil {
			t.Error(err)
		}
	})
}

// TestNoCallsDuringRetryAfter checks that no call is sent during Retry-After, and that refused callers are served
// first afterwards.
func TestNoCallsDuringRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limited{takes: time.Millisecond}
		l.fails = func(call int) error {
			if call == 1 {
				return fmt.Errorf("binding: %w", cloud.NewRetryAfter(20*time.Second, "slow down"))
			}
			return nil
		}
		s := crowd(t, l, &service.Limit{Rate: 5, Burst: 5, Parallel: 1}, service.Options{})
		began := time.Now()
		var group sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d"} {
			group.Go(func() {
				if _, err := s.Allocate(t.Context(), request("pool", key)); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(19 * time.Second)
		if l.calls != 1 {
			t.Errorf("the cloud got %d calls, want one", l.calls)
		}
		var busy *network.Busy
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := s.Allocate(ctx, request("pool", "hasty")); !errors.As(err, &busy) {
			t.Errorf("got error %v", err)
		}
		group.Wait()
		if took := time.Since(began); took < 20*time.Second+500*time.Millisecond {
			t.Errorf("all calls were done after %s: tokens saved during Retry-After were spent at once", took)
		}
		if got := strings.Join(l.order, ", "); got != "bind a, bind a, bind b, bind c, bind d" {
			t.Errorf("got the calls %s", got)
		}
	})
}

// TestReleasesGetOneOfEightCalls checks that releases get one of eight calls among allocations, and all calls without them.
func TestReleasesGetOneOfEightCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limited{takes: 10 * time.Millisecond}
		s := crowd(t, l, &service.Limit{Rate: 10, Burst: 1, Parallel: 2}, service.Options{})
		for i := range 20 {
			if _, err := s.Allocate(t.Context(), request("pool", fmt.Sprint("old", i))); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for i := range 64 {
			group.Go(func() {
				if _, err := s.Allocate(t.Context(), request("pool", fmt.Sprint("new", i))); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 20 {
			if err := s.Release(t.Context(), network.Owner{Contract: "test", Key: fmt.Sprint("old", i)}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() { s.Run(ctx) })
		time.Sleep(20 * time.Second)
		cancel()
		group.Wait()
		unbinds, last := 0, 0
		for i, call := range l.order[20:] {
			if strings.HasPrefix(call, "unbind") {
				unbinds++
			} else {
				last = i
			}
		}
		if unbinds != 20 || last < 64+6 || last > 64+10 {
			t.Errorf("got %d releases; the last allocation was call %d", unbinds, last)
		}
	})
}
