// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

func TestPreempt(t *testing.T) {
	w := newWorld(t)
	old := w.allocate(request("cloudy", "old", "10.0.0.5"))
	fresh := request("cloudy", "new", "10.0.0.5")
	if _, err := w.Allocate(t.Context(), fresh); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	fresh.Preempt = true
	w.allocate(fresh)
	if got := w.state("old"); got != "none" {
		t.Errorf("the old owner's state is %s, want none", got)
	}
	w.asked("bind old, unbind old, bind new")

	// One that rests.
	if err := w.Release(t.Context(), fresh.Owner); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.eventually("it rests", func() bool { return w.state("new") == "none" })
	third := request("cloudy", "third", "10.0.0.5")
	third.Preempt = true
	w.allocate(third)

	// The address of another contract.
	foreign := request("cloudy", "x", "10.0.0.5")
	foreign.Owner.Contract, foreign.Preempt = "other", true
	if _, err := w.Allocate(t.Context(), foreign); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	// A late release of the first owner takes nothing.
	if err := w.Release(t.Context(), old.Owner); err != nil || w.state("third") != network.Bound {
		t.Errorf("got error %v, and the ledger says %s", err, w.state("third"))
	}

	// The quarantine of another contract's address ends for its last owner only.
	if err := w.Release(t.Context(), third.Owner); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.eventually("it rests", func() bool { return w.state("third") == "none" })
	if a, err := w.Allocate(t.Context(), foreign); !errors.Is(err, network.ErrTaken) || !strings.Contains(err.Error(), "in quarantine until") {
		t.Errorf("got %+v and error %v, want %v, which rests", a, err, network.ErrTaken)
	}
}

// TestPreemptDuringRelease preempts an address while its release is being stored.
func TestPreemptDuringRelease(t *testing.T) {
	w := newWorld(t)
	old := w.allocate(request("cloudy", "old", "10.0.0.5"))
	if err := w.Release(t.Context(), old.Owner); err != nil {
		t.Fatal(err)
	}
	fresh := request("cloudy", "new", "10.0.0.5")
	fresh.Preempt = true
	w.allocate(fresh)
	w.asked("bind old, unbind old, bind new")
}

// TestPreemptAtEndOfQuarantine preempts an address when its quarantine has ended in the store, but not yet in memory.
func TestPreemptAtEndOfQuarantine(t *testing.T) {
	w := newWorld(t)
	old := w.allocate(request("plain", "old", "10.0.0.5"))
	if err := w.Release(t.Context(), old.Owner); err != nil {
		t.Fatal(err)
	}
	committed, woken := make(chan struct{}), make(chan struct{})
	w.commits.done = sync.OnceFunc(func() { close(committed); time.Sleep(10 * time.Millisecond) })
	go func() {
		defer close(woken)
		if n, err := w.ledger.Expire(t.Context(), w.clock.Now().Add(2*rest)); n != 1 || err != nil {
			t.Errorf("%d have woken, and the error is %v", n, err)
		}
	}()
	<-committed
	fresh := request("plain", "new", "10.0.0.5")
	fresh.Preempt = true
	w.allocate(fresh)
	<-woken
}

// TestConcurrentPreemptions exchanges two addresses concurrently.
func TestConcurrentPreemptions(t *testing.T) {
	w := newWorld(t)
	w.Configure(map[string]service.Pool{"cloudy": {Cloud: w.cloud}}, nil)
	w.allocate(request("cloudy", "a", "10.0.0.1"))
	w.allocate(request("cloudy", "b", "10.0.0.2"))
	var group sync.WaitGroup
	for key, address := range map[string]string{"c": "10.0.0.1", "d": "10.0.0.2"} {
		r := request("cloudy", key, address)
		r.Preempt = true
		group.Go(func() {
			if _, err := w.Allocate(t.Context(), r); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	group.Wait()
	if w.state("a") != "none" || w.state("b") != "none" || w.state("c") != network.Bound || w.state("d") != network.Bound {
		t.Errorf("got a %s, b %s, c %s, d %s", w.state("a"), w.state("b"), w.state("c"), w.state("d"))
	}
}

// TestPartlyFailedPreemptionLeavesQuarantine preempts two addresses, the second of them under another contract.
func TestPartlyFailedPreemptionLeavesQuarantine(t *testing.T) {
	w := newWorld(t)
	w.allocate(request("plain", "old", "10.0.0.5"))
	foreign := request("plain", "foreign", "10.0.0.6")
	foreign.Owner.Contract = "another"
	w.allocate(foreign)
	one, free, two := request("plain", "new", "10.0.0.5"), request("plain", "new/1", "10.0.0.7"), request("plain", "new/2", "10.0.0.6")
	one.Preempt, free.Preempt, two.Preempt = true, true, true
	if _, err := w.AllocateAll(t.Context(), one, free, two); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	w.allocate(request("plain", "nobody's", "10.0.0.7"))
	if _, err := w.Allocate(t.Context(), request("plain", "other", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want that it rests", err)
	}
}

// TestUnsentPreemptionLeavesQuarantine preempts an address without a call to the cloud.
func TestUnsentPreemptionLeavesQuarantine(t *testing.T) {
	w := newWorld(t)
	w.allocate(request("cloudy", "old", "10.0.0.5"))
	w.told(map[string]error{"bind new": fmt.Errorf("%w: no", network.ErrNotSent)})
	fresh := request("cloudy", "new", "10.0.0.5")
	fresh.Preempt = true
	if _, err := w.Allocate(t.Context(), fresh); !errors.Is(err, network.ErrNotSent) {
		t.Errorf("got error %v", err)
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "other", "10.0.0.5")); !errors.Is(err, network.ErrTaken) || w.state("new") != "none" {
		t.Errorf("got error %v, want that it rests, and %s", err, w.state("new"))
	}
}

// TestFailedPreemptionLeavesQuarantine preempts an address together with one that is in use.
func TestFailedPreemptionLeavesQuarantine(t *testing.T) {
	w := newWorld(t)
	w.allocate(request("plain", "old", "10.0.0.5"))
	w.allocate(request("plain", "stays", "10.0.0.6"))
	fresh, beside := request("plain", "new", "10.0.0.5"), request("plain", "new/2", "10.0.0.6")
	fresh.Preempt = true
	if _, err := w.AllocateAll(t.Context(), fresh, beside); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if got := w.state("old"); got != "none" {
		t.Errorf("the old owner's state is %s, want none", got)
	}
	if _, err := w.Allocate(t.Context(), request("plain", "other", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want that it rests", err)
	}
	w.allocate(fresh)
}
