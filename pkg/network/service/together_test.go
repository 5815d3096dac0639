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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// states returns the states of owners in one line.
func (w *world) states(keys ...string) string {
	var all []string
	for _, key := range keys {
		all = append(all, key+" "+string(w.state(key)))
	}
	return strings.Join(all, ", ")
}

// told sets the errors of the cloud's calls.
func (w *world) told(answers map[string]error) {
	w.cloud.mutex.Lock()
	defer w.cloud.mutex.Unlock()
	w.cloud.hook = func(call string, _ network.Allocation) error { return answers[call] }
}

var errNo = fmt.Errorf("%w: no", network.ErrRefused)

// TestSeveralOwnersAllOrNone checks requests for several owners: all get their allocations, or none.
func TestSeveralOwnersAllOrNone(t *testing.T) {
	type step struct {
		answers map[string]error
		pools   string // of a, b and c: p(lain) or c(loudy)
		err     error
		states  string
	}
	all := func(state string) string { return fmt.Sprintf("a %[1]s, b %[1]s, c %[1]s", state) }
	for name, steps := range map[string][]step{
		"repeats a bound request without a call": {{pools: "ccc", states: all("bound")}, {pools: "ccc", answers: map[string]error{"bind a": errNo}, states: all("bound")}},
		"releases all if the cloud refuses one": {
			{pools: "ccc", answers: map[string]error{"bind b": errNo}, err: network.ErrRefused, states: all("none")},
			{pools: "ccc", states: all("bound")},
		},
		"releases owners without a cloud if the cloud refuses one": {{pools: "pcp", answers: map[string]error{"bind b": errNo}, err: network.ErrRefused, states: all("none")}},
		"binds the rest after a failed call": {
			{pools: "pcc", answers: map[string]error{"bind b": errBroken}, err: network.ErrUnavailable, states: all("intended")},
			{pools: "pcc", states: all("bound")},
		},
		"releases all after a failed and a refused call": {
			{pools: "pcc", answers: map[string]error{"bind b": errBroken}, err: network.ErrUnavailable, states: all("intended")},
			{pools: "pcc", answers: map[string]error{"bind b": errNo}, err: network.ErrRefused, states: all("none")},
		},
		"releases all if one call fails and one is refused": {
			{pools: "ccc", answers: map[string]error{"bind b": errBroken, "bind c": errNo}, err: network.ErrRefused, states: all("none")},
		},
		"retries a failed unbind": {
			{pools: "ccc", answers: map[string]error{"bind b": errNo, "unbind a": errBroken}, err: network.ErrRefused, states: "a releasing, b none, c none"},
			{pools: "ccc", states: all("bound")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.run()
			for i, s := range steps {
				w.told(s.answers)
				var requests []service.Request
				for at, key := range []string{"a", "b", "c"} {
					requests = append(requests, request(map[byte]string{'p': "plain", 'c': "cloudy"}[s.pools[at]], key))
				}
				if _, err := w.AllocateAll(t.Context(), requests...); !errors.Is(err, s.err) || err == nil != (s.err == nil) {
					t.Errorf("step %d: got error %v, want %v", i, err, s.err)
				}
				w.eventually(fmt.Sprintf("step %d: %s", i, s.states), func() bool { return w.states("a", "b", "c") == s.states })
			}
		})
	}
}

// TestOneOwnerAfterFailedGroup checks that an owner which comes alone after a request for several owners has failed does not complete the rest
// of that request.
func TestOneOwnerAfterFailedGroup(t *testing.T) {
	for name, ask := range map[string]func(w *world) error{
		"the request is repeated": func(w *world) error {
			_, err := w.AllocateAll(t.Context(), request("cloudy", "a"), request("cloudy", "b"))
			return err
		},
		"the other owner requests alone": func(w *world) error {
			_, err := w.Allocate(t.Context(), request("cloudy", "b"))
			return err
		},
		"the other owner requests after a restart": func(w *world) error {
			w.restart(map[string]service.Pool{"plain": {Quarantine: rest}, "cloudy": {Cloud: w.cloud, Quarantine: rest}})
			if err := w.Recover(t.Context()); err != nil {
				return err
			}
			_, err := w.Allocate(t.Context(), request("cloudy", "b"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.told(map[string]error{"bind b": errBroken})
			if _, err := w.AllocateAll(t.Context(), request("cloudy", "a"), request("cloudy", "b")); !errors.Is(err, network.ErrUnavailable) {
				t.Errorf("got error %v", err)
			}
			w.told(nil)
			w.allocate(request("cloudy", "a"))
			if err := ask(w); err != nil {
				t.Error(err)
			}
			if got := w.states("a", "b"); got != "a bound, b bound" {
				t.Errorf("unexpected states in the ledger: %s", got)
			}
			if said := w.cloud.said(); strings.Count(" "+said, " bind b") != 2 {
				t.Errorf("unexpected calls of the cloud: %s", said)
			}
		})
	}
}

// TestGroupKeepsEarlierAllocations checks that an owner keeps earlier allocations if
// those of the rest of the group fail.
func TestGroupKeepsEarlierAllocations(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.allocate(request("cloudy", "a"))
	w.told(map[string]error{"bind b": errNo})
	if _, err := w.AllocateAll(t.Context(), request("cloudy", "a"), request("cloudy", "b")); !errors.Is(err, network.ErrRefused) {
		t.Errorf("got error %v", err)
	}
	w.eventually("b is undone", func() bool { return w.state("b") == "none" })
	if got := w.state("a"); got != network.Bound {
		t.Errorf("the state of a is %s, want bound", got)
	}
	w.told(map[string]error{"unbind a": errBroken})
	if err := w.Release(t.Context(), network.Owner{Contract: "test", Key: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AllocateAll(t.Context(), request("cloudy", "c"), request("cloudy", "a")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v", err)
	}
	if got := w.state("c"); got != "none" {
		t.Errorf("the state of c is %s, want none while a is being released", got)
	}
}

func TestInvalidGroups(t *testing.T) {
	w := newWorld(t)
	if all, err := w.AllocateAll(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("nobody: got %v and %v", all, err)
	}
	if _, err := w.AllocateAll(t.Context(), request("plain", "a"), request("plain", "b"), request("plain", "a")); err == nil {
		t.Error("a request with one owner twice succeeds, want an error")
	}
	w.allocate(request("cloudy", "old", "10.0.0.1"))
	r := request("cloudy", "new", "10.0.0.1")
	r.Preempt = true
	if _, err := w.AllocateAll(t.Context(), request("cloudy", "old"), r); !errors.Is(err, network.ErrTaken) || !strings.Contains(err.Error(), "of the same request") {
		t.Errorf("who takes from one that comes along: got error %v", err)
	}
	if got := w.states("old", "new"); got != "old bound, new none" {
		t.Errorf("got %s", got)
	}
}

// TestOverlappingSets sends concurrent requests for overlapping sets of owners in different orders.
func TestOverlappingSets(t *testing.T) {
	w := newWorld(t)
	w.run()
	var group sync.WaitGroup
	for caller := range 16 {
		group.Go(func() {
			for i := range 20 {
				keys := []string{"a", "b", "c", "d"}
				keys[0], keys[caller%4] = keys[caller%4], keys[0]
				var requests []service.Request
				for _, key := range keys[:1+(caller+i)%4] {
					requests = append(requests, request("cloudy", key))
				}
				if _, err := w.AllocateAll(t.Context(), requests...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := w.states("a", "b", "c", "d"); got != "a bound, b bound, c bound, d bound" {
		t.Errorf("got %s", got)
	}
}

// TestReleaseOfDepartedCaller checks that a release is stored although its caller left before it was complete.
func TestReleaseOfDepartedCaller(t *testing.T) {
	w := newWorld(t)
	w.run()
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "bind a" {
			close(begun)
			<-goOn
		}
		return nil
	}
	go func() { _, _ = w.Allocate(t.Context(), request("cloudy", "a")) }()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.Release(ctx, network.Owner{Contract: "test", Key: "a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
	close(goOn)
	w.eventually("it is released", func() bool { return w.state("a") == "none" })
	w.asked("bind a, unbind a")
}

// TestRemovedPool checks that the cloud of a removed pool gets its releases, and that an unknown pool causes no
// call.
func TestRemovedPool(t *testing.T) {
	w := newWorld(t)
	w.run()
	a := w.allocate(request("cloudy", "a"))
	w.Configure(map[string]service.Pool{"plain": {Quarantine: rest}}, nil)
	if _, err := w.Allocate(t.Context(), request("cloudy", "b")); !errors.Is(err, network.ErrUnknownPool) {
		t.Errorf("got error %v, want %v", err, network.ErrUnknownPool)
	}
	if err := w.Release(t.Context(), a.Owner); err != nil {
		t.Error(err)
	}
	w.eventually("it is released", func() bool { return w.state("a") == "none" })
	w.asked("bind a, unbind a")

	w.Service = service.New(w.ledger, map[string]service.Pool{"cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
	w.allocate(request("cloudy", "c"))
	w.Service = service.New(w.ledger, map[string]service.Pool{"plain": {}}, service.Options{Clock: w.clock})
	if err := w.Release(t.Context(), network.Owner{Contract: "test", Key: "c"}); err != nil {
		t.Error(err)
	}
	if got := w.state("c"); got != network.Releasing {
		t.Errorf("the state is %s, want releasing until its cloud is declared again", got)
	}
}

// TestReleaseOnAnotherServerDuringBind releases an allocation on another server during its bind.
func TestReleaseOnAnotherServerDuringBind(t *testing.T) {
	w := newWorld(t)
	other := service.New(w.ledger, map[string]service.Pool{"cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
	w.cloud.hook = func(call string, a network.Allocation) error {
		if call != "bind a" {
			return nil
		}
		if err := other.Release(t.Context(), a.Owner); err != nil {
			t.Error(err)
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "a")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v, want %v", err, network.ErrUnavailable)
	}
	w.run()
	w.eventually("it is released", func() bool { return w.state("a") == "none" })

	w.cloud.hook = func(call string, a network.Allocation) error {
		if call == "bind b" {
			return w.ledger.Delete(context.WithoutCancel(t.Context()), a.Owner, w.clock.Now(), w.clock.Now())
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "b")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v, want %v", err, network.ErrUnavailable)
	}
	w.asked("bind a, unbind a, bind b, unbind b")
	if diff := cmp.Diff(map[string]bool{"a": false, "b": false}, w.cloud.has); diff != "" {
		t.Errorf("what the cloud has (-want +got):\n%s", diff)
	}
}

// TestIntentsOfAbsentOwners finds intents of owners that do not return.
func TestIntentsOfAbsentOwners(t *testing.T) {
	w := newWorld(t)
	w.told(map[string]error{"bind a": errBroken, "bind b": errBroken})
	for _, key := range []string{"a", "b"} {
		if _, err := w.Allocate(t.Context(), request("cloudy", key)); !errors.Is(err, network.ErrUnavailable) {
			t.Errorf("got error %v", err)
		}
	}
	w.cloud.set("b", true) // its answer was lost
	w.told(nil)
	w.run()
	w.eventually("the background works", w.clock.HasWaiters)
	w.eventually("they are rolled back", func() bool {
		w.clock.Step(time.Minute)
		return w.states("a", "b") == "a none, b none" && !w.cloud.bound("b")
	})
}

// TestReleaseSince releases only allocations of the owner that were made at the time.
func TestReleaseSince(t *testing.T) {
	w := newWorld(t)
	a := w.allocate(request("plain", "a"))
	if err := w.ReleaseSince(t.Context(), a.Owner, a.Since.Add(-time.Second)); err != nil || w.state("a") != network.Bound {
		t.Errorf("got error %v, and the ledger says %s", err, w.state("a"))
	}
	if err := w.ReleaseSince(t.Context(), a.Owner, a.Since); err != nil || w.state("a") != "none" {
		t.Errorf("got error %v, and the ledger says %s", err, w.state("a"))
	}
}
