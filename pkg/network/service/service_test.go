// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

func TestAllocationWithoutCloudIsOneCommit(t *testing.T) {
	w := newWorld(t)
	first := w.allocate(request("plain", "a"))
	if first.State != network.Bound || w.commits.count != 1 {
		t.Errorf("got state %s after %d commits", first.State, w.commits.count)
	}
	again := w.allocate(request("plain", "a"))
	if first.Addresses[0] != again.Addresses[0] || w.commits.count != 1 {
		t.Errorf("got %s and %s, after %d commits", first.Addresses, again.Addresses, w.commits.count)
	}
	if err := w.Release(t.Context(), first.Owner); err != nil || w.state("a") != "none" {
		t.Errorf("after the release: error %v, state %s", err, w.state("a"))
	}
	if _, err := w.Allocate(t.Context(), request("plain", "b", first.Addresses[0].String())); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want that it rests", err)
	}
	if _, err := w.Allocate(t.Context(), request("plian", "b")); !errors.Is(err, network.ErrUnknownPool) {
		t.Errorf("got error %v, want %v", err, network.ErrUnknownPool)
	}
}

func TestIntentIsStoredBeforeBind(t *testing.T) {
	w := newWorld(t)
	w.cloud.hook = func(call string, a network.Allocation) error {
		if got := w.state("a"); got != network.Intended {
			t.Errorf("%s: want intended in the ledger, got %s", call, got)
		}
		return nil
	}
	a := w.allocate(request("cloudy", "a"))
	w.allocate(request("cloudy", "a"))
	if a.State != network.Bound || string(a.Binding.Reference) != `"a"` {
		t.Errorf("got %+v", a)
	}
	w.asked("bind a")
}

func TestRequestsOfOneOwnerShareOneCall(t *testing.T) {
	w := newWorld(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.cloud.hook = func(string, network.Allocation) error {
		close(begun)
		<-goOn
		return nil
	}
	var group sync.WaitGroup
	got := make([]network.Allocation, 8)
	for i := range got {
		group.Go(func() { got[i], _ = w.Allocate(t.Context(), request("cloudy", "a")) })
	}
	<-begun
	close(goOn)
	group.Wait()
	for _, a := range got {
		if !slices.Equal(a.Addresses, got[0].Addresses) || len(a.Addresses) != 1 {
			t.Errorf("got %v and %v", a.Addresses, got[0].Addresses)
		}
	}
	w.asked("bind a")
}

func TestDepartedCallerDoesNotStopWork(t *testing.T) {
	w := newWorld(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.cloud.hook = func(string, network.Allocation) error {
		close(begun)
		<-goOn
		return nil
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-begun; leave() }()
	if _, err := w.Allocate(ctx, request("cloudy", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	close(goOn)
	w.eventually("it is bound", func() bool { return w.state("a") == network.Bound })
	w.allocate(request("cloudy", "a"))
	w.asked("bind a")
}

func TestRefusedBindIsUndone(t *testing.T) {
	w := newWorld(t)
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "bind a" {
			return fmt.Errorf("%w: out of the subnet", network.ErrRefused)
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "a")); !errors.Is(err, network.ErrRefused) {
		t.Errorf("got error %v, want %v", err, network.ErrRefused)
	}
	if got := w.state("a"); got != network.Releasing {
		t.Errorf("unexpected state in the ledger: %s", got)
	}
	w.run()
	w.eventually("it is undone", func() bool { return w.state("a") == "none" })
	w.asked("bind a, unbind a")
}

// TestUnsentCallLeavesNoTrace checks that a call that was never sent leaves no trace, unless an earlier one may have
// been sent.
func TestUnsentCallLeavesNoTrace(t *testing.T) {
	w := newWorld(t)
	fails := errBroken
	w.cloud.hook = func(call string, _ network.Allocation) error {
		switch call {
		case "bind new":
			return network.ErrNotSent
		case "bind old":
			return fails
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "new", "10.0.0.1")); !errors.Is(err, network.ErrNotSent) || errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	_, _ = w.Allocate(t.Context(), request("cloudy", "old", "10.0.0.2"))
	fails = network.ErrNotSent
	_, _ = w.Allocate(t.Context(), request("cloudy", "old", "10.0.0.2"))
	if _, err := w.AllocateAll(t.Context(), request("cloudy", "with", "10.0.0.3"), request("cloudy", "new", "10.0.0.4")); !errors.Is(err, network.ErrNotSent) {
		t.Errorf("got %v", err)
	}
	want := map[string]network.State{"new": "none", "old": network.Intended, "with": network.Releasing}
	got := map[string]network.State{}
	for key := range want {
		got[key] = w.state(key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is held (-want +got):\n%s", diff)
	}
	for _, address := range []string{"10.0.0.1", "10.0.0.4"} { // neither held nor in quarantine
		w.allocate(request("cloudy", "next-"+address, address))
	}
}

func TestFailedBindIsRetried(t *testing.T) {
	w := newWorld(t)
	broken := true
	w.cloud.hook = func(string, network.Allocation) error {
		if broken {
			return errBroken
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "a")); !errors.Is(err, network.ErrUnavailable) || !errors.Is(err, errBroken) {
		t.Errorf("got error %v, want %v", err, network.ErrUnavailable)
	}
	chosen, err := w.Get(t.Context(), network.Owner{Contract: "test", Key: "a"})
	if err != nil || chosen.State != network.Intended {
		t.Fatalf("got %+v and %v", chosen, err)
	}
	broken = false
	if a := w.allocate(request("cloudy", "a")); a.State != network.Bound || !slices.Equal(a.Addresses, chosen.Addresses) {
		t.Errorf("got %+v, where %v was chosen", a, chosen.Addresses)
	}
	w.asked("bind a, bind a")
}

func TestReleaseIsStoredAndThenDone(t *testing.T) {
	w := newWorld(t)
	a := w.allocate(request("cloudy", "a"))
	failures := 2
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "unbind a" && failures > 0 {
			failures--
			return errBroken
		}
		return nil
	}
	if err := w.Release(t.Context(), a.Owner); err != nil {
		t.Fatal(err)
	}
	if got := w.state("a"); got != network.Releasing {
		t.Errorf("unexpected state in the ledger: %s", got)
	}
	w.asked("bind a")
	w.run()
	w.eventually("it is released after two attempts", func() bool {
		// The queue sets its timer some time after an attempt, so that one step of the clock could come too early.
		w.clock.Step(100 * time.Millisecond)
		return w.state("a") == "none"
	})
	w.mutex.Lock()
	if len(w.reports) != 2 {
		t.Errorf("%d failed attempts are reported, want 2: %v", len(w.reports), w.reports)
	}
	w.mutex.Unlock()
	if _, err := w.Allocate(t.Context(), request("cloudy", "b", a.Addresses[0].String())); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want that it rests", err)
	}
	w.eventually("it has rested", func() bool {
		w.clock.Step(rest)
		_, err := w.Allocate(t.Context(), request("cloudy", "b", a.Addresses[0].String()))
		return err == nil
	})
	if err := w.Release(t.Context(), a.Owner); err != nil {
		t.Errorf("the second release: %v", err)
	}
}

func TestOwnerReturnsDuringRelease(t *testing.T) {
	w := newWorld(t)
	first := w.allocate(request("cloudy", "a"))
	if err := w.Release(t.Context(), first.Owner); err != nil {
		t.Fatal(err)
	}
	again := w.allocate(request("cloudy", "a"))
	if again.State != network.Bound || slices.Equal(again.Addresses, first.Addresses) {
		t.Errorf("got %+v, while %v rests", again, first.Addresses)
	}
	w.asked("bind a, unbind a, bind a")
	// The waiting release must not remove the new allocation of the owner.
	w.run()
	time.Sleep(20 * time.Millisecond)
	if got := w.state("a"); got != network.Bound {
		t.Errorf("unexpected state in the ledger: %s", got)
	}
}

func TestServiceEnds(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.allocate(request("plain", "a"))
	cancel()
	<-done
	if _, err := w.Allocate(t.Context(), request("plain", "b")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v, want %v", err, network.ErrUnavailable)
	}
}

// TestRecover checks that unanswered work is rolled back, whether or not the cloud has it, and that releases are
// finished.
func TestRecover(t *testing.T) {
	w := newWorld(t)
	for key, state := range map[string]network.State{"bound there": network.Intended, "unknown there": network.Intended, "released": network.Releasing} {
		in := ledger.Intent{Owner: network.Owner{Contract: "test", Key: key}, Pool: "cloudy", State: state, Now: w.clock.Now()}
		if _, _, err := w.ledger.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	w.cloud.has["bound there"], w.cloud.has["released"] = true, true
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.states("bound there", "unknown there", "released"); got != "bound there releasing, unknown there releasing, released releasing" {
		t.Errorf("got %s", got)
	}
	w.asked("")
	w.run()
	w.eventually("all is released", func() bool {
		return w.states("bound there", "unknown there", "released") == "bound there none, unknown there none, released none"
	})
	if diff := cmp.Diff(map[string]bool{"bound there": false, "unknown there": false, "released": false}, w.cloud.has); diff != "" {
		t.Errorf("what the cloud has (-want +got):\n%s", diff)
	}
}

func TestPanicIsAnError(t *testing.T) {
	w := newWorld(t)
	w.cloud.hook = func(string, network.Allocation) error { panic("boom") }
	if _, err := w.Allocate(t.Context(), request("cloudy", "a")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v, want %v", err, network.ErrUnavailable)
	}
	w.cloud.hook = nil
	w.allocate(request("cloudy", "a"))
}
