// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// world is a set of leases with its environment.
type world struct {
	*ipam.Driver
	t       testing.TB
	node    string
	store   ledger.Store
	policy  *policy.Policy
	ledger  *ledger.Ledger
	service *service.Service
	clock   *clocktesting.FakeClock
	cloud   *fakeCloud

	mutex   sync.Mutex
	freed   []string
	reports []string
	// networks are the existing networks, each called net: their subnets, and the used addresses.
	networks map[netip.Prefix][]netip.Addr
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, memory.Open(t), "n1")
}

func newWorldOn(t testing.TB, store ledger.Store, node string) *world {
	t.Helper()
	w := &world{
		t: t, node: node, store: store, policy: load(t), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)),
		cloud: &fakeCloud{has: map[netip.Addr]bool{}, fails: map[netip.Addr]error{}}, networks: map[netip.Prefix][]netip.Addr{},
	}
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	return w
}

func load(t testing.TB) *policy.Policy {
	t.Helper()
	raw, err := os.ReadFile("testdata/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: raw})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	p, findings := policy.Compile(documents)
	if len(findings.Errors()) > 0 {
		t.Fatal(findings)
	}
	return p
}

// pools returns the pools of the policy, for the ledger and for the service.
func (w *world) pools() (kept []ledger.Pool, served map[string]service.Pool) {
	served = map[string]service.Pool{}
	for _, name := range slices.Sorted(maps.Keys(w.policy.Pools)) {
		kept = append(kept, w.policy.Pools[name].Pool)
		of := service.Pool{}
		if name == "cloudy" {
			of.Cloud = w.cloud
		}
		served[name] = of
	}
	return kept, served
}

// begin restarts this program with the same store.
func (w *world) begin() error {
	w.clock.Step(time.Millisecond)
	kept, served := w.pools()
	ctx := context.Background()
	var err error
	if w.ledger, err = ledger.Open(ctx, w.store, kept...); err != nil {
		return err
	}
	w.service = service.New(w.ledger, served, service.Options{Clock: w.clock})
	w.Driver = ipam.New(ipam.Options{
		Service: w.service, Policy: func() *policy.Policy { return w.policy }, Store: w.store, Clock: w.clock, Node: w.node,
		Knows: func(_ context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool, err error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			holders, has := w.networks[subnet]
			has = has && space == ipam.LocalSpace
			return has && network == "net", has && slices.Contains(holders, address), nil
		},
		Freed: func(a network.Allocation) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.freed = append(w.freed, a.Addresses[0].String())
		},
		Report: func(err error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.reports = append(w.reports, err.Error())
		},
	})
	return w.service.Recover(ctx)
}

// retire takes a pool out of the policy.
func (w *world) retire(name string) {
	w.t.Helper()
	p := *w.policy
	p.Pools = maps.Clone(p.Pools)
	delete(p.Pools, name)
	w.policy = &p
	kept, served := w.pools()
	if _, err := w.ledger.Configure(context.Background(), nil, kept...); err != nil {
		w.t.Fatal(err)
	}
	w.service.Configure(served, nil)
}

// held returns all allocated addresses, each with its holder.
func (w *world) held() []string {
	var all []string
	err := w.ledger.All(context.Background(), func(a network.Allocation) error {
		if a.State == network.Releasing {
			return nil
		}
		for _, address := range a.Addresses {
			all = append(all, strings.TrimSpace(address.String()+" "+a.Holder.String()))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// even checks that the rows of the store fit together.
func (w *world) even() {
	w.t.Helper()
	report, err := ledger.Verify(context.Background(), w.store, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range report.Faults {
		w.t.Errorf("%s: %s", f.Key, f.Problem)
	}
}

// foreign allocates an address for another contract.
func (w *world) foreign(pool, address string) error {
	_, err := w.service.Allocate(context.Background(), service.Request{
		Owner: network.Owner{Contract: "dranet", Key: "uid/" + address}, Pool: pool, Addresses: []netip.Addr{netip.MustParseAddr(address)},
		Families: []int{}, Holder: network.Holder{Kind: "foreign"},
	})
	return err
}

// fakeCloud is a cloud with addresses and configured failures.
type fakeCloud struct {
	mutex sync.Mutex
	has   map[netip.Addr]bool
	fails map[netip.Addr]error
}

func (f *fakeCloud) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.fails[a.Addresses[0]]; err != nil {
		return network.Binding{}, err
	}
	f.has[a.Addresses[0]] = true
	return network.Binding{Reference: fmt.Appendf(nil, "%q", a.Addresses[0])}, nil
}

func (f *fakeCloud) Unbind(_ context.Context, a network.Allocation) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.has, a.Addresses[0])
	return nil
}

func (f *fakeCloud) fail(address netip.Addr, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.fails[address] = err
}

func (f *fakeCloud) bound() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var all []string
	for address := range f.has {
		all = append(all, address.String())
	}
	slices.Sort(all)
	return all
}

var errBroken = errors.New("broken")
