// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// TestSweepRemovesStaleEndpoints is which endpoints a sweep removes, and when.
func TestSweepRemovesStaleEndpoints(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		joined  bool
		change  func(w *world)
		stale   bool
	}{
		{name: "removes an endpoint that never joined", stale: true},
		{name: "keeps an endpoint that joined a bridge", joined: true},
		{name: "joined a macvlan", options: []string{"profile=acme.com/plain"}, joined: true},
		{name: "removes an endpoint that joined and left", joined: true, change: func(w *world) { w.must(w.Leave(w.t.Context(), "net", "ep")); w.kernel.move("ep", false) }, stale: true},
		{name: "returned to the host without a call", joined: true, change: func(w *world) { w.kernel.move("ep", false) }, stale: true},
		{name: "the veth pair is missing", joined: true, change: func(w *world) { w.kernel.lose("ep") }, stale: true},
		{
			name: "the sandbox of a macvlan is missing", options: []string{"profile=acme.com/plain"}, joined: true,
			change: func(w *world) { w.kernel.lose("ep"); w.dead["/ep"] = true }, stale: true,
		},
		{name: "a macvlan in an unreadable sandbox", options: []string{"profile=acme.com/plain"}, joined: true, change: func(w *world) { w.kernel.lose("ep") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			ctx := t.Context()
			w.create(bare("net", c.options...))
			w.attach(endpoint("net", "ep"))
			if c.joined {
				w.must(join("net", "ep")(w))
			}
			if c.change != nil {
				c.change(w)
			}
			for range 2 {
				w.must(w.Reconcile(ctx))
				if _, _, err := w.Endpoint(ctx, "net", "ep"); err != nil {
					t.Fatal("the endpoint was removed before the grace period ended:", err)
				}
				w.clock.Step(9 * time.Minute)
			}
			w.must(w.Reconcile(ctx))
			_, _, err := w.Endpoint(ctx, "net", "ep")
			if gone := errors.Is(err, driver.ErrUnknownEndpoint); gone != c.stale {
				t.Fatalf("the endpoint was removed: %v", gone)
			}
			if c.stale {
				w.same("removed", []string{"net/ep"}, w.swept.Endpoints)
				w.same("rows", []string{"network/net"}, w.rows())
			}
			w.must(w.DeleteNetwork(ctx, "net"))
			w.empty()
		})
	}
}

// TestGracePeriodRestarts checks that the grace period starts again after an endpoint was present.
func TestGracePeriodRestarts(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net"))
	w.attach(endpoint("net", "ep"))
	w.must(join("net", "ep")(w))
	for range 5 {
		w.kernel.move("ep", false)
		w.must(w.Reconcile(t.Context()))
		w.clock.Step(9 * time.Minute)
		w.kernel.move("ep", true)
		w.must(w.Reconcile(t.Context()))
	}
	w.same("removed", nil, w.swept.Endpoints)
}

// TestLinksWithoutRowAreRemoved checks that marked links without a row are removed after the grace period and other links stay. Without
// any network, marked links belong to another ledger.
func TestLinksWithoutRowAreRemoved(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net"))
	w.attach(endpoint("net", "ep"))
	w.must(join("net", "ep")(w))
	w.kernel.strays = []link.Marked{
		{Name: "ghlost", Mark: link.Mark{Network: "net", Endpoint: "lost"}}, {Name: "gblost", Mark: link.Mark{Network: "lost"}},
		{Name: "gl7", Mark: link.Mark{Parent: "up0", VLAN: 7}}, {Name: "gvother", Mark: link.Mark{Network: "other", Endpoint: "ep"}},
	}
	w.restart()
	w.must(w.Reconcile(t.Context()))
	w.same("removed at once", nil, w.swept.Links)
	w.same("reports", []string{
		"the link ghlost has Graft's mark, but the ledger has no network for it: is it the right ledger?",
		"the link gblost has Graft's mark, but the ledger has no network for it: is it the right ledger?",
		"the link gl7 has Graft's mark, but the ledger has no network for it: is it the right ledger?",
		"the link gvother has Graft's mark, but the ledger has no network for it: is it the right ledger?",
	}, w.reports)
	w.clock.Step(10 * time.Minute)
	w.must(w.Reconcile(t.Context()))
	w.same("links", []string{"net", "net/ep"}, w.kernel.has())
	w.same("removed", []string{"ghlost", "gblost", "gl7", "gvother"}, w.swept.Links)
	w.same("rows", []string{"endpoint/net/ep", "network/net"}, w.rows())
	if e, _, err := w.Endpoint(t.Context(), "net", "ep"); err != nil || e.Sandbox == "" {
		t.Errorf("got %v and %v, want a joined endpoint", e, err)
	}
}

// TestWrongLedger checks that a server with a different ledger removes no link in use.
func TestWrongLedger(t *testing.T) {
	w := newWorld(t)
	w.kernel.strays = []link.Marked{{Name: "ghlost", Mark: link.Mark{Network: "net", Endpoint: "lost"}}, {Name: "gblost", Mark: link.Mark{Network: "lost"}}}
	w.restart()
	for range 3 {
		w.clock.Step(time.Hour)
		w.must(w.Reconcile(t.Context()))
	}
	w.same("removed", nil, w.swept.Links)
	w.same("reports", []string{
		"the link ghlost has Graft's mark, but the ledger has no network for it: is it the right ledger?",
		"the link gblost has Graft's mark, but the ledger has no network for it: is it the right ledger?",
	}, w.reports)
}

// TestSweepCompletesFailedDeletion checks that a failed deletion is completed by a sweep.
func TestSweepCompletesFailedDeletion(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(bare("net"))
	w.attach(endpoint("net", "one"))
	w.attach(endpoint("net", "two"))
	broken := errors.New("the kernel is broken")
	w.kernel.fail = func(call string) error {
		if call == "unport two" {
			return broken
		}
		return nil
	}
	w.fails(w.DeleteEndpoint(ctx, "net", "two"), broken, "removing the links of endpoint two")
	w.fails(w.DeleteNetwork(ctx, "net"), broken, "removing the links of endpoint two")
	_, err := w.Network(ctx, "net")
	w.fails(err, driver.ErrUnknownNetwork, "net")
	w.same("rows", []string{"endpoint/net/two", "network/net"}, w.rows())
	w.fails(w.Reconcile(ctx), broken, "two")
	w.kernel.fail = nil
	w.must(w.Reconcile(ctx))
	w.empty()
	w.create(bare("net"))
}

// TestReboot checks that networks are restored before the first request, and that networks unknown to Docker are
// removed.
func TestReboot(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(plain("net", "172.30.0.0/24", "172.30.0.1"))
	w.create(bare("other", "profile=acme.com/plain"))
	w.attach(endpoint("net", "one", "172.30.0.2/24"))
	w.attach(endpoint("other", "two"))
	w.must(join("other", "two")(w))
	w.reboot()
	w.same("links", []string{"net", "other"}, w.kernel.has())
	w.same("rows", []string{"network/net", "network/other"}, w.rows())
	w.must(w.DeleteEndpoint(ctx, "net", "one"))
	w.attach(endpoint("net", "three", "172.30.0.2/24"))
	w.must(join("net", "three")(w))
}

// TestParentMissing checks that a start succeeds although a link cannot be created.
func TestParentMissing(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net", "parent=eth7"))
	w.kernel.fail = func(call string) error {
		if call == "ensure net" {
			return errors.New("there is no eth7")
		}
		return nil
	}
	w.reboot()
	w.same("reports", []string{"making the links of network net: there is no eth7"}, w.reports)
	_, err := w.CreateEndpoint(t.Context(), endpoint("net", "ep"))
	w.fails(err, err, "there is no eth7")
	w.kernel.fail = nil
	w.attach(endpoint("net", "ep"))
}

// TestRun checks that sweeps run.
func TestRun(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net"))
	w.kernel.strays = []link.Marked{{Name: "gblost", Mark: link.Mark{Network: "lost"}}}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { w.Run(ctx) })
	for deadline := time.Now().Add(10 * time.Second); len(w.kernel.has()) > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the sweep did not run in time")
		}
		w.clock.Step(time.Minute)
	}
	cancel()
	ended.Wait()
}

// TestEndpointsDuringSweeps creates and removes many endpoints during sweeps: each keeps its own addresses.
func TestEndpointsDuringSweeps(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(bare("other", "profile=acme.com/plain"))
	w.create(plain("net", "172.30.0.0/16", "172.30.0.1"))
	const workers, rounds = 16, 12
	var group sync.WaitGroup
	failed := make(chan error, workers*rounds+rounds)
	var mutex sync.Mutex
	has := map[string]string{}
	for i := range workers {
		group.Go(func() {
			for round := range rounds {
				of, id := "other", fmt.Sprintf("ep-%d-%d", i, round)
				e := endpoint(of, id)
				if i%2 == 0 {
					of = "net"
					e = endpoint(of, id, fmt.Sprintf("172.30.%d.%d/16", i+1, round+1))
				}
				failed <- life(ctx, w, e, func(text string, take bool) error {
					mutex.Lock()
					defer mutex.Unlock()
					if other := has[text]; take && other != "" {
						return fmt.Errorf("%s has %s, and %s too", other, text, id)
					}
					has[text] = id
					if !take {
						delete(has, text)
					}
					return nil
				})
			}
		})
	}
	group.Go(func() {
		for range rounds {
			failed <- w.Reconcile(ctx)
		}
	})
	group.Wait()
	close(failed)
	for err := range failed {
		w.must(err)
	}
	w.same("rows", []string{"network/net", "network/other"}, w.rows())
	w.same("links", []string{"net", "other"}, w.kernel.has())
}

// life is the life of an endpoint, which records its resources while it has them.
func life(ctx context.Context, w *world, e driver.Endpoint, note func(string, bool) error) error {
	made, err := w.CreateEndpoint(ctx, e)
	if err != nil {
		return err
	}
	things := []string{made.Network + made.MAC.String()}
	for _, address := range made.Addresses {
		things = append(things, address.String())
	}
	for _, thing := range things {
		err = errors.Join(err, note(thing, true))
	}
	_, _, joined := w.Join(ctx, e.Network, e.ID, "/"+e.ID)
	w.kernel.move(e.ID, true)
	left := w.Leave(ctx, e.Network, e.ID)
	w.kernel.move(e.ID, false)
	for _, thing := range things {
		err = errors.Join(err, note(thing, false))
	}
	return errors.Join(err, joined, left, w.DeleteEndpoint(ctx, e.Network, e.ID))
}

// TestDeletionWaitsForOperations checks that the deletion of a network waits for its running operations.
func TestDeletionWaitsForOperations(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.create(bare("net"))
	entered, goOn := make(chan struct{}), make(chan struct{})
	w.kernel.fail = func(call string) error {
		if strings.HasPrefix(call, "port") {
			close(entered)
			<-goOn
		}
		return nil
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := w.CreateEndpoint(ctx, endpoint("net", "ep")); err != nil {
			t.Error(err)
		}
	})
	<-entered
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	w.fails(w.DeleteNetwork(short, "net"), context.DeadlineExceeded, "another operation is in progress")
	group.Go(func() {
		if err := w.DeleteNetwork(ctx, "net"); err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	group.Wait()
	w.empty()
}
