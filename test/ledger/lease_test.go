// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// leased is the pool of TestLeases: 14 addresses.
const leased = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools:
  small: {subnets: [{prefix: 10.66.0.0/28}]}
profiles:
  acme.com/small: {pools: [small]}
`

// node is a server of leases, with an etcd client of its own.
func node(t *testing.T, c *cluster.Cluster, name string) *ipam.Driver {
	t.Helper()
	documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: []byte(leased)})
	p, more := policy.Compile(documents)
	if len(findings)+len(more.Errors()) > 0 {
		t.Fatal(findings, more)
	}
	store := open(t, c, "/leases")
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := ledger.Open(t.Context(), store, p.Pools["small"].Pool)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := l.Follow(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(group.Wait)
	s := service.New(l, map[string]service.Pool{"small": {}}, service.Options{Clock: clock.RealClock{}})
	return ipam.New(ipam.Options{
		Service: s, Policy: func() *policy.Policy { return p }, Store: store, Clock: clock.RealClock{}, Node: name,
		Grace: 10 * time.Millisecond, Report: func(err error) { t.Error(err) },
	})
}

// TestLeases lets three nodes lease a pool of a shared ledger more often than it has addresses, with concurrent sweeps:
// no address has two owners, and nothing is left. In the global space, all nodes use one lease.
func TestLeases(t *testing.T) {
	c := cluster.Start(t, 3, "--heartbeat-interval=300", "--election-timeout=3000")
	nodes := []*ipam.Driver{node(t, c, "a"), node(t, c, "b"), node(t, c, "c")}
	subnet := netip.MustParsePrefix("10.66.0.0/28")
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		for _, space := range []string{ipam.LocalSpace, ipam.GlobalSpace} {
			if err := n.Activate(t.Context()); err != nil {
				t.Fatal(err)
			}
			p, err := n.RequestPool(t.Context(), ipam.PoolRequest{Space: space, Subnet: subnet})
			if err != nil {
				t.Fatal(err)
			}
			if space == ipam.LocalSpace {
				ids[i] = p.ID
			}
		}
	}
	var (
		all    sync.WaitGroup
		mutex  sync.Mutex
		having = map[netip.Addr]string{}
	)
	for i, n := range nodes {
		for worker := range 6 {
			all.Go(func() {
				who := fmt.Sprintf("%d/%d", i, worker)
				for given := 0; given < 8; {
					got, err := n.RequestAddress(t.Context(), ids[i], netip.Addr{}, nil)
					if errors.Is(err, network.ErrExhausted) || errors.Is(err, network.ErrTaken) {
						time.Sleep(5 * time.Millisecond) // others give back
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					given++
					mutex.Lock()
					if other := having[got.Addr()]; other != "" {
						t.Errorf("%s has %s, and %s was given it", other, got, who)
					}
					having[got.Addr()] = who
					mutex.Unlock()
					if err := n.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
					mutex.Lock()
					delete(having, got.Addr())
					mutex.Unlock()
					if err := n.ReleaseAddress(t.Context(), ids[i], got.Addr()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	together(t, nodes, "global/small/10.66.0.0/28")
	stale(t, c, nodes[0])
	store := open(t, c, "/leases")
	defer func() { _ = store.Close() }()
	report, err := ledger.Verify(t.Context(), store, ledger.VerifyOptions{Now: time.Now()})
	if err != nil || len(report.Faults)+report.Held > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// together has a manager and two workers use one address, and give it back at the same time.
func together(t *testing.T, nodes []*ipam.Driver, id string) {
	t.Helper()
	manager := map[string]string{"com.docker.network.ipam.serial": "true"}
	for range 10 {
		given, err := nodes[0].RequestAddress(t.Context(), id, netip.Addr{}, manager)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nodes[1].RequestAddress(t.Context(), id, given.Addr(), nil)
		if err != nil || again != given {
			t.Fatalf("got %s and %v, want %s", again, err, given)
		}
		if _, err := nodes[2].RequestAddress(t.Context(), id, given.Addr(), nil); !errors.Is(err, network.ErrTaken) {
			t.Errorf("got error %v, want %v", err, network.ErrTaken)
		}
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				if err := n.ReleaseAddress(t.Context(), id, given.Addr()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if a, _, err := nodes[2].Find(t.Context(), ipam.GlobalSpace, given.Masked(), given.Addr()); !errors.Is(err, network.ErrNotHeld) {
			t.Errorf("%s is held by %+v after all have given it back, %v", given, a.Holder, err)
		}
	}
	for _, n := range nodes {
		if err := n.ReleasePool(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// stale has another process write the rows of a node.
func stale(t *testing.T, c *cluster.Cluster, a *ipam.Driver) {
	t.Helper()
	store := open(t, c, "/leases")
	defer func() { _ = store.Close() }()
	starts := record.New[map[string]any](store, "a", "lease-start")
	value, ok, err := starts.Get(t.Context(), "last")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := a.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	value["activation"] = 99
	if err := starts.Put(t.Context(), "last", value); !errors.Is(err, record.ErrStale) {
		t.Errorf("got error %v, want %v", err, record.ErrStale)
	}
}
