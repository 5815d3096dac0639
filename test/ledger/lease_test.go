// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// leased has a pool of 14 addresses.
const leased = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools:
  small: {subnets: [{prefix: 10.66.0.0/28}]}
profiles:
  acme.com/small: {pools: [small]}
`

// node returns a server of leases with its own etcd client, until the end of the spec.
func node(name string) *ipam.Driver {
	GinkgoHelper()
	documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: []byte(leased)})
	Expect(findings).To(BeEmpty(), "findings of the profile")
	p, more := policy.Compile(documents)
	Expect(more.Errors()).To(BeEmpty(), "errors of the profile")
	store := open(GinkgoTB(), members, "/leases")
	ctx, cancel := context.WithCancel(context.Background())
	l, err := ledger.Open(ctx, store, p.Pools["small"].Pool)
	Expect(err).NotTo(HaveOccurred(), "opening the ledger")
	var group sync.WaitGroup
	group.Go(func() {
		defer GinkgoRecover()
		Expect(l.Follow(ctx)).To(Succeed(), "following the ledger")
	})
	DeferCleanup(func() {
		cancel()
		group.Wait()
		Expect(store.Close()).To(Succeed())
	})
	s := service.New(l, map[string]service.Pool{"small": {}}, service.Options{Clock: clock.RealClock{}})
	return ipam.New(ipam.Options{
		Service: s, Policy: func() *policy.Policy { return p }, Store: store, Clock: clock.RealClock{}, Node: name,
		Grace: 10 * time.Millisecond,
		Knows: func(context.Context, string, string, netip.Prefix, netip.Addr) (there, has bool, err error) {
			return false, false, nil
		},
		Freed: func(network.Allocation) {},
		Report: func(err error) {
			defer GinkgoRecover()
			Expect(err).NotTo(HaveOccurred(), "a problem that node %s reports", name)
		},
	})
}

// Three nodes lease one pool of a shared ledger more often than it has addresses, while each sweeps. In the global
// space they share one lease.
var _ = Describe("three nodes that lease addresses of one pool", func() {
	It("give no address to two callers, count each activation, and leave nothing", func(ctx SpecContext) {
		nodes := []*ipam.Driver{node("a"), node("b"), node("c")}
		ids := make([]string, len(nodes))
		for i, n := range nodes {
			for _, space := range []string{ipam.LocalSpace, ipam.GlobalSpace} {
				Expect(n.Activate(ctx)).To(Succeed(), "activating node %d", i)
				subnet := netip.MustParsePrefix("10.66.0.0/28")
				p, err := n.RequestPool(ctx, ipam.PoolRequest{Space: space, Subnet: subnet})
				Expect(err).NotTo(HaveOccurred(), "leasing the pool in the space %s", space)
				if space == ipam.LocalSpace {
					ids[i] = p.ID
				}
			}
		}
		h := &holders{of: map[netip.Addr]string{}}
		var all sync.WaitGroup
		for i, n := range nodes {
			for worker := range 6 {
				all.Go(func() {
					defer GinkgoRecover()
					h.lease(ctx, n, ids[i], fmt.Sprintf("%d/%d", i, worker))
				})
			}
		}
		all.Wait()
		together(ctx, nodes, "global/small/10.66.0.0/28")
		shared(ctx, nodes[0])
		store := open(GinkgoTB(), members, "/leases")
		DeferCleanup(store.Close)
		report, err := ledger.Verify(ctx, store, 0)
		Expect(err).NotTo(HaveOccurred(), "verifying the ledger")
		Expect(report.Faults).To(BeEmpty(), "faulty rows")
		Expect(report.Held).To(BeZero(), "rows that are left")
	})
})

// holders records which caller has an address.
type holders struct {
	mutex sync.Mutex
	of    map[netip.Addr]string
}

// lease requests and releases eight addresses for a caller.
func (h *holders) lease(ctx context.Context, n *ipam.Driver, pool, caller string) {
	for given := 0; given < 8; {
		got, err := n.RequestAddress(ctx, pool, netip.Addr{}, nil)
		if errors.Is(err, network.ErrExhausted) || errors.Is(err, network.ErrTaken) {
			time.Sleep(5 * time.Millisecond) // until other callers release
			continue
		}
		Expect(err).NotTo(HaveOccurred(), "requesting an address")
		given++
		h.mutex.Lock()
		other := h.of[got.Addr()]
		h.of[got.Addr()] = caller
		h.mutex.Unlock()
		Expect(other).To(BeEmpty(), "another caller with %s", got)
		Expect(n.Sweep(ctx)).To(Succeed(), "sweeping")
		h.mutex.Lock()
		delete(h.of, got.Addr())
		h.mutex.Unlock()
		Expect(n.ReleaseAddress(ctx, pool, got.Addr())).To(Succeed(), "releasing %s", got)
	}
}

// together lets a manager and two workers use one address, and release it concurrently.
func together(ctx context.Context, nodes []*ipam.Driver, id string) {
	GinkgoHelper()
	manager := map[string]string{"com.docker.network.ipam.serial": "true"}
	for range 10 {
		given, err := nodes[0].RequestAddress(ctx, id, netip.Addr{}, manager)
		Expect(err).NotTo(HaveOccurred(), "requesting an address by the manager")
		Expect(nodes[1].RequestAddress(ctx, id, given.Addr(), nil)).To(Equal(given), "the address for the first worker")
		_, err = nodes[2].RequestAddress(ctx, id, given.Addr(), nil)
		Expect(err).To(MatchError(network.ErrTaken), "requesting the address by the second worker")
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				defer GinkgoRecover()
				Expect(n.ReleaseAddress(ctx, id, given.Addr())).To(Succeed(), "releasing %s", given)
			})
		}
		all.Wait()
		_, _, err = nodes[2].Find(ctx, ipam.GlobalSpace, given.Masked(), given.Addr())
		Expect(err).To(MatchError(network.ErrNotHeld), "finding %s after all have released it", given)
	}
	for _, n := range nodes {
		Expect(n.ReleasePool(ctx, id)).To(Succeed(), "releasing the pool")
	}
}

// shared lets another process change the row of a node.
func shared(ctx context.Context, a *ipam.Driver) {
	GinkgoHelper()
	store := open(GinkgoTB(), members, "/leases")
	DeferCleanup(store.Close)
	starts := record.New[map[string]any](store, "a", "lease-start")
	const far = 99
	Expect(starts.Update(ctx, "last", func(row *map[string]any) (*map[string]any, error) {
		Expect(row).NotTo(BeNil(), "the node has a row")
		(*row)["activation"] = far
		return row, nil
	})).To(Succeed(), "writing the row by another process")
	Expect(a.Activate(ctx)).To(Succeed(), "activating the node again")
	value, _, err := starts.Get(ctx, "last")
	Expect(err).NotTo(HaveOccurred(), "reading the row of the node")
	Expect(value).To(HaveKeyWithValue("activation", BeNumerically("==", far+1)))
}
