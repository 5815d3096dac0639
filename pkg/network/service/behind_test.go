// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// named is a pool with a cloud that has a name.
func named(name string, cloud *fakeCloud) map[string]service.Pool {
	return map[string]service.Pool{"plain": {Quarantine: rest}, "cloudy": {Cloud: cloud, CloudName: name, Quarantine: rest}}
}

// restart replaces the service by a new one on the same ledger.
func (w *world) restart(pools map[string]service.Pool) {
	w.Service = service.New(w.ledger, pools, service.Options{Clock: w.clock, Report: func(owner network.Owner, err error) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.reports = append(w.reports, owner.Key+": "+err.Error())
	}})
}

func (w *world) reported() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.reports)
}

func (w *world) release(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		if err := w.Release(w.t.Context(), network.Owner{Contract: "test", Key: key}); err != nil {
			w.t.Errorf("releasing %s: %v", key, err)
		}
	}
}

func (w *world) gone(keys ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprint("nothing is held by ", keys), func() bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return w.state(key) != "none" })
	})
}

func newFake() *fakeCloud { return &fakeCloud{has: map[string]bool{}} }

func said(t *testing.T, of string, cloud *fakeCloud, want string) {
	t.Helper()
	if diff := cmp.Diff(want, cloud.said()); diff != "" {
		t.Errorf("what the %s cloud was asked (-want +got):\n%s", of, diff)
	}
}

// TestCallsUseTheCloudOfTheRow checks that all calls for an allocation go to the cloud in its row, even if the pool now has
// another one.
func TestCallsUseTheCloudOfTheRow(t *testing.T) {
	for name, next := range map[string]func(*fakeCloud) map[string]service.Pool{
		"the pool has another cloud now":     func(c *fakeCloud) map[string]service.Pool { return named("new", c) },
		"the pool has the builtin cloud now": func(*fakeCloud) map[string]service.Pool { return map[string]service.Pool{"cloudy": {Quarantine: rest}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old, another := newFake(), newFake()
			w.restart(named("old", old))
			if got := w.allocate(request("cloudy", "a")); got.Cloud != "old" {
				t.Errorf("the allocation has the cloud %q", got.Cloud)
			}
			old.hook = func(call string, _ network.Allocation) error {
				if call == "bind b" || call == "bind c" {
					return errBroken
				}
				return nil
			}
			for _, key := range []string{"b", "c"} {
				if _, err := w.Allocate(t.Context(), request("cloudy", key)); !errors.Is(err, network.ErrUnavailable) {
					t.Errorf("got error %v", err)
				}
			}
			old.hook = nil
			pools := next(another)
			w.Configure(pools, nil)
			w.allocate(request("cloudy", "a"))
			if got := w.allocate(request("cloudy", "b")); got.Cloud != "old" {
				t.Errorf("the unfinished allocation continues in the cloud %q, want old", got.Cloud)
			}
			fresh := w.allocate(request("cloudy", "d"))
			if fresh.Cloud != pools["cloudy"].CloudName || fresh.State != network.Bound {
				t.Errorf("a new allocation has the cloud %q and the state %s", fresh.Cloud, fresh.State)
			}
			if err := w.Recover(t.Context()); err != nil {
				t.Error(err)
			}
			w.run()
			w.gone("c")
			w.release("a", "d")
			w.gone("a", "d")
			w.release("b")
			w.gone("b")
			said(t, "old", old, "bind a, bind b, bind c, bind b, unbind c, unbind a, unbind b")
			if pools["cloudy"].Cloud != nil {
				said(t, "new", another, "bind d, unbind d")
			}
		})
	}
}

// TestRowsWithoutACloud checks that rows without a cloud name use the cloud of the pool, and get its name when they are
// bound.
func TestRowsWithoutACloud(t *testing.T) {
	w := newWorld(t)
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "bind b" {
			return errBroken
		}
		return nil
	}
	if got := w.allocate(request("cloudy", "a")); got.Cloud != "" {
		t.Errorf("the allocation has the cloud %q", got.Cloud)
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "b")); !errors.Is(err, network.ErrUnavailable) {
		t.Errorf("got error %v", err)
	}
	fabric := newFake()
	w.Configure(named("fabric", fabric), nil)
	if got := w.allocate(request("cloudy", "b")); got.Cloud != "fabric" {
		t.Errorf("the allocation has the cloud %q", got.Cloud)
	}
	w.run()
	w.release("a")
	w.gone("a")
	said(t, "pool's", fabric, "bind b, unbind a")
}

// TestReleasesOfUndeclaredCloudWait checks that releases of an undeclared cloud wait with a logged instruction, and that all
// other work continues.
func TestReleasesOfUndeclaredCloudWait(t *testing.T) {
	w := newWorld(t)
	old, another := newFake(), newFake()
	w.restart(named("old", old))
	for _, key := range []string{"a", "b", "c"} {
		w.allocate(request("cloudy", key))
	}
	w.release("a")
	w.restart(named("new", another))
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	const text = "unavailable: it is of the cloud old: this server has no such cloud; " +
		"declare the cloud in a profile again, until its bindings are released"
	const together = ": releases wait for their cloud (1): " + text
	if diff := cmp.Diff([]string{together}, w.reported()); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	w.run()
	w.allocate(request("cloudy", "b"))
	w.release("c", "c")
	w.allocate(request("cloudy", "d"))
	w.release("d")
	w.gone("d")
	// The scan at the start of Run may find the release before it is queued.
	w.eventually("it is reported", func() bool { return len(w.reported()) > 1 })
	if got := w.reported()[1]; got != "c: "+text && got != together {
		t.Errorf("the report is %q, want %q or %q", got, "c: "+text, together)
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "a")); !errors.Is(err, network.ErrUnavailable) || !strings.Contains(err.Error(), text) {
		t.Errorf("want ErrUnavailable for an allocation that waits for its cloud, got %v", err)
	}
	w.eventually("a and c wait", func() bool { return w.Pending() == 2 })
	if got := w.reported(); len(got) != 2 {
		t.Errorf("reports: %q", got)
	}
	w.Configure(named("new", another), map[string]service.LimitedCloud{"old": {Cloud: old}})
	w.gone("a", "c")
	w.release("b")
	w.gone("b")
	if got := old.said(); strings.Count(got, "unbind") != 3 || strings.Count(got, "bind") != 6 {
		t.Errorf("unexpected calls of the old cloud: %s", got)
	}
	said(t, "new", another, "bind d, unbind d")
	w.eventually("nothing waits", func() bool { return w.Pending() == 0 })
}

// TestUndeclaredCloudBlocksNoOther checks that many releases of an undeclared cloud do not block releases of other clouds.
func TestUndeclaredCloudBlocksNoOther(t *testing.T) {
	w := newWorld(t)
	fabric := newFake()
	w.restart(named("fabric", fabric))
	const many = 6000
	var changes []ledger.Change
	add := func(key, cloud string) {
		raw, err := json.Marshal(network.Allocation{
			Owner: network.Owner{Contract: "test", Key: key}, Pool: "cloudy", State: network.Releasing, Since: time.Unix(1e9, 0), Cloud: cloud,
		})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ledger.AllocationRows(raw)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, rows...)
	}
	for i := range many {
		add(fmt.Sprint("a", i), "gone")
	}
	add("z", "fabric")
	if err := w.commits.Commit(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.gone("z")
	if got := w.reported(); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("releases wait for their cloud (%d)", many)) {
		t.Errorf("reports: %q", got)
	}
	w.Configure(named("fabric", fabric), map[string]service.LimitedCloud{"gone": {Cloud: newFake()}})
	w.eventually("all are released", func() bool {
		w.clock.Step(time.Second)
		left := 0
		err := w.ledger.All(t.Context(), func(network.Allocation) error { left++; return nil })
		return err == nil && left == 0
	})
}
