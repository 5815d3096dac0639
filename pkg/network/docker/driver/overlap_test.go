// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// pools is a policy with pools, each a name and a subnet.
func (w *world) pools(pools ...string) *policy.Policy {
	w.t.Helper()
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\npools:\n"
	for _, pool := range pools {
		name, subnet, _ := strings.Cut(pool, " ")
		text += "  " + name + ": {exclusive: true, subnets: [{prefix: " + subnet + "}]}\n"
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "acme.yaml", Data: []byte(text)})
	w.must(findings.Errors().Err())
	compiled, findings := policy.Compile(documents)
	w.must(findings.Errors().Err())
	return compiled
}

// TestOverlap checks that a pool that overlaps the subnet of a network with another IPAM driver is reported once, and
// that the network gets no endpoints until the overlap is removed.
func TestOverlap(t *testing.T) {
	w := newWorld(t)
	w.create(plain("net", "172.30.9.0/24", "172.30.9.1"))
	w.create(spaced("leased", "graft-local", "10.81.0.0/29", ""))
	w.create(bare("bare"))
	const first = "the pool new is not used while its 172.30.9.128/25 overlaps 172.30.9.0/24 of Docker's network net"
	w.reports = nil
	w.policy = w.pools("beside 172.30.8.0/24", "spare 10.81.0.0/29")
	w.must(w.Reconcile(t.Context()))
	if len(w.reports) != 0 {
		t.Errorf("reported without an overlap: %q", w.reports)
	}
	w.policy = w.pools("new 172.30.9.128/25")
	for range 2 {
		w.must(w.Reconcile(t.Context()))
	}
	if len(w.reports) != 1 || !strings.Contains(w.reports[0], first) {
		t.Errorf("reported after a change of the profiles: %q", w.reports)
	}
	_, err := w.CreateEndpoint(t.Context(), endpoint("net", "one", "172.30.9.2/24"))
	w.fails(err, link.ErrImpossible, "172.30.9.0/24 overlaps 172.30.9.128/25 of the pool new, which is used by other networks, too")
	w.policy = w.pools("beside 172.30.8.0/24")
	w.attach(endpoint("net", "one", "172.30.9.2/24"))
}

// TestProfileWithNewPools checks that a network without an IPAM driver gets no endpoints while its profile has pools.
func TestProfileWithNewPools(t *testing.T) {
	w := newWorld(t)
	w.create(bare("net", "profile=acme.com/plain"))
	profile := w.policy.Profile("acme.com/plain")
	profile.Pools = append(profile.Pools, w.policy.Pool("overlay"))
	_, err := w.CreateEndpoint(t.Context(), driver.Endpoint{Network: "net", ID: "one"})
	w.fails(err, link.ErrImpossible, "the profile acme.com/plain has pools, but the network has no subnet: use --ipam-driver graft")
	profile.Pools = nil
	w.attach(driver.Endpoint{Network: "net", ID: "one"})
}

// TestOverlappingPoolAllocatesNothing checks that a pool that overlaps a network's subnet allocates nothing until the
// network or the overlap is removed. Other pools are not affected, and existing allocations stay.
func TestOverlappingPoolAllocatesNothing(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"the network is removed": func(w *world) { w.must(w.DeleteNetwork(t.Context(), "net")) },
		"the pool gets another subnet": func(w *world) {
			w.policy = w.pools("new 172.30.8.0/24", "beside 172.30.7.0/24")
			_, err := w.ledger.Configure(t.Context(), nil, w.policy.Pools["new"].Pool, w.policy.Pools["beside"].Pool)
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			give := func(pool, key string) (network.Allocation, error) {
				owner := network.Owner{Contract: "dranet", Key: key}
				return w.service.Allocate(t.Context(), service.Request{Owner: owner, Pool: pool})
			}
			overlapping := w.pools("new 172.30.9.128/25", "beside 172.30.7.0/24")
			w.policy = overlapping
			w.start()
			before, err := give("new", "before")
			w.must(err)
			w.policy = w.pools("beside 172.30.7.0/24")
			w.create(plain("net", "172.30.9.0/24", "172.30.9.1"))
			w.policy = overlapping // while the server was stopped
			w.must(w.Recover(t.Context()))
			_, err = give("new", "after")
			w.fails(err, network.ErrUnavailable, "the pool new is not used while its 172.30.9.128/25 overlaps 172.30.9.0/24 of Docker's network net")
			again, err := give("new", "before")
			w.must(err)
			if again.Addresses[0] != before.Addresses[0] {
				t.Errorf("the owner of %s has now %s", before.Addresses[0], again.Addresses[0])
			}
			_, err = give("beside", "other")
			w.must(err)
			w.must(w.service.Release(t.Context(), before.Owner))
			end(w)
			for range 2 {
				_, err = give("new", "after")
				w.must(err)
			}
		})
	}
}
