// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron && bench

package neutron

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// rawBatch is how many ports one request of the comparison creates, as for the cloud.
const rawBatch = 10

// bench is a network with the addresses of Pods, which are used once.
type bench struct {
	networkID string
	pods      int
}

// benchNIC is the NIC of a node with a trunk.
type benchNIC struct{ mac, trunk string }

var _ = Describe("the speed of binds", Ordered, func() {
	b := &bench{}

	BeforeAll(func(ctx SpecContext) {
		made, err := networks.Create(ctx, fixture.owner, networks.CreateOpts{Name: "bench"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		b.networkID = made.ID
		Expect(subnets.Create(ctx, fixture.owner, subnets.CreateOpts{
			NetworkID: made.ID, IPVersion: gophercloud.IPv4, CIDR: "10.1.0.0/16",
			AllocationPools: []subnets.AllocationPool{{Start: "10.1.128.1", End: "10.1.255.254"}},
		}).Err).NotTo(HaveOccurred())
	})

	DescribeTable("without warm ports, next to the same calls of Neutron", func(ctx SpecContext, nodes, pods int) {
		c := b.open(0)
		Expect(c.Describe(ctx, "02:00:00:00:00:99")).To(BeZero()) // it authenticates
		raw := b.raw(ctx, b.nics(ctx, nodes), pods/nodes)
		report(nodes, pods, "the same calls", raw, raw)
		report(nodes, pods, "cold", b.bind(ctx, c, b.nics(ctx, nodes), pods), raw)
	},
		Entry("on one trunk", 1, 40),
		Entry("on one trunk again", 1, 40),
		Entry("on 20 trunks", 20, 400),
	)

	DescribeTable("with warm ports", func(ctx SpecContext, nodes, pods int) {
		nics := b.nics(ctx, nodes)
		c := b.prime(ctx, nics, pods/nodes)
		b.untilAttached(ctx, nics, pods/nodes)
		warm := b.bind(ctx, c, nics, pods)
		report(nodes, pods, "warm", warm, 0)
		b.untilAttached(ctx, nics, 2*pods/nodes) // the next row is measured without the creation of warm ports
	},
		Entry("on one trunk", 1, 40),
		Entry("on 20 trunks", 20, 400),
	)
})

// report prints a row with the speed next to that of the same calls without the cloud, if they were measured.
func report(nodes, pods int, name string, took, raw time.Duration) {
	ratio := "-"
	if raw > 0 {
		ratio = fmt.Sprintf("%.2f", raw.Seconds()/took.Seconds())
	}
	const row = "\n| %d | %d | %s | %.1f | %.1f | %s |\n"
	_, _ = fmt.Fprintf(os.Stdout, row, nodes, pods, name, took.Seconds(), float64(pods)/took.Seconds(), ratio)
}

// open returns a cloud with a timeout for all binds at once.
func (b *bench) open(warm int) *openstack.Cloud {
	GinkgoHelper()
	d := definition(func(d *openstack.Definition) {
		d.NetworkID, d.Trunk.LastVLAN, d.Trunk.Warm = b.networkID, 4000,
			warm
	})
	made, err := openstack.New(d, openstack.Options{Clock: clock.RealClock{}, Timeout: 10 * time.Minute, Idle: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// nics creates the NICs of new nodes.
func (b *bench) nics(ctx SpecContext, count int) []benchNIC {
	GinkgoHelper()
	all := make([]benchNIC, count)
	for i := range all {
		parent, err := ports.Create(ctx, fixture.owner, ports.CreateOpts{NetworkID: b.networkID, Name: "node"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		trunk, err := trunks.Create(ctx, fixture.owner, trunks.CreateOpts{PortID: parent.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		all[i] = benchNIC{parent.MACAddress, trunk.ID}
	}
	return all
}

// addresses returns unused addresses.
func (b *bench) addresses(count int) []netip.Addr {
	all := make([]netip.Addr, count)
	for i := range all {
		all[i] = netip.AddrFrom4([4]byte{10, 1, byte(1 + b.pods/250), byte(1 + b.pods%250)})
		b.pods++
	}
	return all
}

// bind binds Pods on all nodes at once, and returns how long it takes.
func (b *bench) bind(ctx SpecContext, c *openstack.Cloud, nics []benchNIC, pods int) time.Duration {
	GinkgoHelper()
	all := make([]network.Allocation, pods)
	for i, address := range b.addresses(pods) {
		all[i] = allocation(nics[i%len(nics)].mac, b.pods+i)
		all[i].Addresses = []netip.Addr{address}
	}
	began := time.Now()
	bindAll(ctx, c, all)
	took := time.Since(began)
	seen := map[string]bool{}
	for _, a := range all {
		key := fmt.Sprint(a.Trunk.MAC, " ", a.VLANID())
		Expect(seen).NotTo(HaveKey(key))
		seen[key] = true
	}
	return took
}

// prime returns a cloud that creates warm ports for so many Pods on each node. Binds that are refused count, too.
func (b *bench) prime(ctx SpecContext, nics []benchNIC, perNode int) *openstack.Cloud {
	GinkgoHelper()
	c := b.open(perNode)
	var group sync.WaitGroup
	for i := range perNode * len(nics) {
		group.Go(func() {
			defer GinkgoRecover()
			a := allocation(nics[i%len(nics)].mac, i)
			a.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.1")} // of no subnet
			_, err := c.Bind(ctx, a)
			Expect(err).To(MatchError(network.ErrRefused))
		})
	}
	group.Wait()
	return c
}

// untilAttached waits until each trunk has so many sub-ports.
func (b *bench) untilAttached(ctx SpecContext, nics []benchNIC, count int) {
	GinkgoHelper()
	for _, nic := range nics {
		Eventually(func() int { return len(vlans(ctx, nic.trunk)) }).
			WithContext(ctx).WithTimeout(10 * time.Minute).WithPolling(time.Second).Should(Equal(count))
	}
}

// raw creates ports in bulk and attaches them, on all trunks at once, and returns how long it takes.
func (b *bench) raw(ctx SpecContext, nics []benchNIC, perNode int) time.Duration {
	GinkgoHelper()
	var group sync.WaitGroup
	began := time.Now()
	for _, nic := range nics {
		all := b.addresses(perNode)
		group.Go(func() {
			defer GinkgoRecover()
			for at := 0; at < perNode; at += rawBatch {
				b.rawBind(ctx, nic.trunk, all[at:min(perNode, at+rawBatch)], at)
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// rawBind creates and attaches the ports of one batch.
func (b *bench) rawBind(ctx SpecContext, trunk string, addresses []netip.Addr, attached int) {
	GinkgoHelper()
	bodies := make([]map[string]any, len(addresses))
	for i, address := range addresses {
		bodies[i] = map[string]any{
			"network_id": b.networkID, "name": "raw", "fixed_ips": []any{map[string]any{"ip_address": address.String()}},
		}
	}
	var answer struct{ Ports []ports.Port }
	//nolint:bodyclose // gophercloud closes the body when it has decoded it
	_, err := fixture.owner.Post(ctx, fixture.owner.ServiceURL("ports"), map[string]any{"ports": bodies}, &answer, nil)
	Expect(err).NotTo(HaveOccurred())
	subports := make([]trunks.Subport, len(answer.Ports))
	for i, p := range answer.Ports {
		subports[i] = trunks.Subport{PortID: p.ID, SegmentationType: "vlan", SegmentationID: 100 + attached + i}
	}
	Expect(trunks.AddSubports(ctx, fixture.owner, trunk,
		trunks.AddSubportsOpts{Subports: subports}).Err).NotTo(HaveOccurred())
}
