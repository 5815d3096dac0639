// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

var errBroken = errors.New("the cloud is broken")

// fakeCloud records its calls, and fails on command.
type fakeCloud struct {
	mutex sync.Mutex
	calls []string
	// has are the owners that it has bound.
	has map[string]bool
	// gives is the address that the cloud chooses for all owners, unless the pool chooses.
	gives netip.Prefix
	// hook is called at the beginning of each call, outside of the mutex.
	hook func(call string, a network.Allocation) error
}

func (f *fakeCloud) call(what string, a network.Allocation) error {
	call := what + " " + a.Owner.Key
	f.mutex.Lock()
	f.calls = append(f.calls, call)
	hook := f.hook
	f.mutex.Unlock()
	if hook != nil {
		return hook(call, a)
	}
	return nil
}

func (f *fakeCloud) set(key string, has bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.has[key] = has
}

func (f *fakeCloud) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	if err := f.call("bind", a); err != nil {
		return network.Binding{}, err
	}
	f.set(a.Owner.Key, true)
	binding := network.Binding{Reference: fmt.Appendf(nil, "%q", a.Owner.Key)}
	if f.gives.IsValid() {
		binding.Addresses = []netip.Prefix{f.gives}
	}
	return binding, nil
}

func (f *fakeCloud) Unbind(_ context.Context, a network.Allocation) error {
	if err := f.call("unbind", a); err != nil {
		return err
	}
	f.set(a.Owner.Key, false)
	return nil
}

func (f *fakeCloud) bound(key string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.has[key]
}

func (f *fakeCloud) said() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return strings.Join(f.calls, ", ")
}

// world is a service with its environment.
type world struct {
	*service.Service
	t       *testing.T
	ledger  *ledger.Ledger
	cloud   *fakeCloud
	clock   *clocktesting.FakeClock
	commits *counting
	pools   []ledger.Pool
	mutex   sync.Mutex
	reports []string
}

type counting struct {
	ledger.Store
	mutex sync.Mutex
	count int
	// done is called, if set, after a commit was made and before its caller continues.
	done func()
}

func (c *counting) Commit(ctx context.Context, changes ...ledger.Change) error {
	c.mutex.Lock()
	c.count++
	done := c.done
	c.mutex.Unlock()
	err := c.Store.Commit(ctx, changes...)
	if done != nil {
		done()
	}
	return err
}

const rest = 10 * time.Second

func newWorld(t *testing.T) *world {
	t.Helper()
	store := memory.Open(t)
	w := &world{t: t, cloud: &fakeCloud{has: map[string]bool{}}, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), commits: &counting{Store: store}}
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.9"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	subnets := []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}
	w.pools = []ledger.Pool{{Name: "plain", Subnets: subnets}, {Name: "cloudy", Subnets: subnets}}
	if w.ledger, err = ledger.Open(t.Context(), w.commits, w.pools...); err != nil {
		t.Fatal(err)
	}
	w.commits.count = 0
	w.Service = service.New(w.ledger, map[string]service.Pool{"plain": {Quarantine: rest}, "cloudy": {Cloud: w.cloud, Quarantine: rest}}, service.Options{
		Clock: w.clock, Releasers: 2,
		Report: func(owner network.Owner, err error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.reports = append(w.reports, owner.Key+": "+err.Error())
		},
	})
	return w
}

// run runs the background work until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

// eventually waits for a condition that background work fulfils.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("timed out waiting until: %s; calls of the cloud: %s", what, w.cloud.said())
		}
	}
}

func request(pool, key string, addresses ...string) service.Request {
	r := service.Request{Owner: network.Owner{Contract: "test", Key: key}, Pool: pool}
	for _, address := range addresses {
		r.Addresses = append(r.Addresses, netip.MustParseAddr(address))
	}
	return r
}

func (w *world) allocate(r service.Request) network.Allocation {
	w.t.Helper()
	a, err := w.Allocate(w.t.Context(), r)
	if err != nil {
		w.t.Fatalf("allocating for %s: %v", r.Owner, err)
	}
	return a
}

func (w *world) state(key string) network.State {
	a, err := w.ledger.Get(context.WithoutCancel(w.t.Context()), network.Owner{Contract: "test", Key: key})
	if errors.Is(err, network.ErrNotHeld) {
		return "none"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return a.State
}

func (w *world) asked(want string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.cloud.said()); diff != "" {
		w.t.Errorf("what the cloud was asked (-want +got):\n%s", diff)
	}
}
