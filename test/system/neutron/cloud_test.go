// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// bind binds and returns the allocation as the ledger has it then.
func bind(ctx SpecContext, c *openstack.Cloud, a network.Allocation) network.Allocation {
	GinkgoHelper()
	var err error
	a.Binding, err = c.Bind(ctx, a)
	Expect(err).NotTo(HaveOccurred())
	a.State = network.Bound
	return a
}

func unbind(ctx SpecContext, c *openstack.Cloud, all ...network.Allocation) {
	GinkgoHelper()
	for _, a := range all {
		a.State = network.Releasing
		Expect(c.Unbind(ctx, a)).To(Succeed())
	}
}

// portOf returns the ID in the reference of a binding.
func portOf(a network.Allocation) string {
	GinkgoHelper()
	var reference struct{ Port string }
	Expect(json.Unmarshal(a.Binding.Reference, &reference)).To(Succeed())
	return reference.Port
}

// listed returns the ports of a cloud with an empty ledger.
func listed(ctx SpecContext, d *openstack.Definition) []cloud.Orphan {
	GinkgoHelper()
	now := testingclock.NewFakePassiveClock(time.Now())
	c, err := openstack.New(d, openstack.Options{Clock: now})
	Expect(err).NotTo(HaveOccurred())
	empty := func(context.Context, func(network.Allocation) error) error { return nil }
	Expect(c.Orphans(ctx, empty, false)).To(BeEmpty(), "ports that were not seen before")
	now.SetTime(now.Now().Add(openstack.Settle(openstack.DefaultTimeout)))
	found, err := c.Orphans(ctx, empty, false)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// foreign creates a port that does not belong to the cloud.
func foreign(ctx SpecContext, address string) *ports.Port {
	GinkgoHelper()
	options := ports.CreateOpts{NetworkID: fixture.networkID, Name: "foreign", FixedIPs: []ports.IP{{IPAddress: address}}}
	made, err := ports.Create(ctx, fixture.owner, options).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(ports.Delete(ctx, fixture.owner, made.ID).ExtractErr()).To(Succeed(), "the port of another owner was deleted")
	})
	return made
}

var _ = Describe("a bind", func() {
	It("creates a port and attaches it to the trunk of the node's NIC", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition(func(d *openstack.Definition) {
			d.AllowedAddressPairs = []netip.Prefix{netip.MustParsePrefix("10.96.0.0/11")}
		}))
		a := allocation(mac, 10)
		a.Addresses = append(a.Addresses, netip.MustParseAddr("fd00:10::10"))
		a = bind(ctx, c, a)

		port, err := ports.Get(ctx, fixture.owner, portOf(a)).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(port.FixedIPs).To(ConsistOf(
			ports.IP{SubnetID: fixture.subnet4, IPAddress: "10.0.0.10"}, ports.IP{SubnetID: fixture.subnet6,
				IPAddress: "fd00:10::10"}))
		Expect(port.AllowedAddressPairs).To(ConsistOf(ports.AddressPair{IPAddress: "10.96.0.0/11",
			MACAddress: port.MACAddress}))
		Expect(port.Description).To(Equal("graft " + a.Owner.String()))
		Expect(a.Binding.MAC.String()).To(Equal(port.MACAddress))
		Expect(vlans(ctx, trunk)).To(Equal(map[string]int{port.ID: int(a.Binding.VLAN)}))
		Expect(a.Binding.VLAN).To(And(BeNumerically(">=", 100), BeNumerically("<=", 199)))

		Expect(listed(ctx, definition())).To(ConsistOf(cloud.Orphan{ID: port.ID, Owner: a.Owner, Addresses: a.Addresses}))

		unbind(ctx, c, a, a)
		Expect(vlans(ctx, trunk)).To(BeEmpty())
	})

	It("uses the pool's MAC address and VLAN, and another VLAN if that one is in use", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		other := foreign(ctx, "10.0.0.99")
		Expect(trunks.AddSubports(ctx, fixture.owner, trunk, trunks.AddSubportsOpts{Subports: []trunks.Subport{
			{PortID: other.ID, SegmentationType: "vlan", SegmentationID: 3001},
		}}).Err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(trunks.RemoveSubports(ctx, fixture.owner, trunk, trunks.RemoveSubportsOpts{
				Subports: []trunks.RemoveSubport{{PortID: other.ID}},
			}).Err).NotTo(HaveOccurred(), "the sub-port of another owner was removed")
		})
		c := open(definition())
		first, second := allocation(mac, 11), allocation(mac, 12)
		first.VLAN, second.VLAN = 3000, 3001
		first.MAC = network.HardwareAddr{2, 0, 0, 0, 0, 11}
		first, second = bind(ctx, c, first), bind(ctx, c, second)
		Expect(first.VLANID()).To(BeEquivalentTo(3000))
		Expect(first.HardwareAddr().String()).To(Equal("02:00:00:00:00:0b"))
		Expect(second.VLANID()).To(BeNumerically("<", 200))
		unbind(ctx, c, first, second)
	})

	It("returns the same binding again, with and without the stored one", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition())
		a := allocation(mac, 13)
		bound := bind(ctx, c, a)
		Expect(bind(ctx, c, a).Binding).To(Equal(bound.Binding))
		Expect(bind(ctx, open(definition()), bound).Binding).To(Equal(bound.Binding))
		Expect(graftPorts(ctx)).To(HaveLen(1))
		unbind(ctx, c, a) // without the binding, as after a crash
	})

	It("creates a trunk only if it may", func(ctx SpecContext) {
		mac := nicWithoutTrunk(ctx)
		a := allocation(mac, 14)
		_, err := open(definition()).Bind(ctx, a)
		Expect(err).To(MatchError(network.ErrRefused))
		Expect(err).To(MatchError(ContainSubstring("has no trunk; create one, or write trunk.create: true")))
		Expect(graftPorts(ctx)).To(BeEmpty())

		c := open(definition(func(d *openstack.Definition) { d.Trunk.Create = true }))
		a = bind(ctx, c, a)
		Expect(a.Binding.VLAN).NotTo(BeZero())
		unbind(ctx, c, a)
	})

	It("chooses addresses from subnets, without a trunk", func(ctx SpecContext) {
		c := open(definition(func(d *openstack.Definition) {
			d.SubnetIDs, d.Trunk = []string{fixture.subnet4, fixture.subnet6}, nil
		}))
		a := allocation("", 15)
		a.Addresses = nil
		a = bind(ctx, c, a)
		Expect(a.Binding.Addresses).To(HaveLen(2))
		for _, prefix := range a.Binding.Addresses {
			Expect(prefix.Masked()).To(BeElementOf(netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00:10::/64")))
		}
		Expect(a.Binding.Gateways).To(ContainElement(netip.MustParseAddr("10.0.0.1")))
		Expect(a.Binding.Routes).To(ConsistOf(network.Route{
			Destination: netip.MustParsePrefix("10.20.0.0/16"), Gateway: netip.MustParseAddr("10.0.0.254"),
		}))
		Expect(a.Binding.VLAN).To(BeZero())
		Expect(a.Binding.MTU).To(BeEquivalentTo(1500))
		unbind(ctx, c, a)
	})

	type change = func(*openstack.Definition, *network.Allocation)
	DescribeTable("is refused for good", func(ctx SpecContext, change change, want string) {
		mac := fixture.mac
		a, d := allocation(mac, 16), definition()
		change(d, &a)
		_, err := open(d).Bind(ctx, a)
		Expect(err).To(MatchError(network.ErrRefused))
		Expect(err).To(MatchError(ContainSubstring(want)))
		Expect(graftPorts(ctx)).To(BeEmpty())
	},
		Entry("outside of the subnets", func(_ *openstack.Definition, a *network.Allocation) {
			a.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}, "InvalidIpForNetwork"),
		Entry("in a network that does not exist", func(d *openstack.Definition, _ *network.Allocation) {
			d.NetworkID = "00000000-0000-4000-8000-000000000000"
		}, "NetworkNotFound"),
		Entry("on a NIC that does not exist", func(_ *openstack.Definition, a *network.Allocation) {
			a.Trunk.MAC = "fa:16:3e:00:00:00"
		}, "no port of the project has the MAC address fa:16:3e:00:00:00"),
		Entry("without a NIC", func(_ *openstack.Definition, a *network.Allocation) { a.Trunk.MAC = "" },
			"has no NIC of the node"),
		Entry("with a security group that does not exist", func(d *openstack.Definition, _ *network.Allocation) {
			d.SecurityGroupIDs = []string{"00000000-0000-4000-8000-000000000000"}
		}, "SecurityGroupNotFound"),
	)

	It("leaves an address that something else uses", func(ctx SpecContext) {
		mac := fixture.mac
		foreign(ctx, "10.0.0.17")
		c, a := open(definition()), allocation(mac, 17)
		_, err := c.Bind(ctx, a)
		Expect(err).To(MatchError(network.ErrInUse))
		unbind(ctx, c, a)
	})

	It("is refused when all VLANs are in use, and leaves no port", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition(func(d *openstack.Definition) { d.Trunk.LastVLAN = d.Trunk.FirstVLAN }))
		first := bind(ctx, c, allocation(mac, 18))
		_, err := c.Bind(ctx, allocation(mac, 19))
		Expect(err).To(MatchError(network.ErrRefused))
		Expect(err).To(MatchError(ContainSubstring("all VLANs of the trunk")))
		Expect(graftPorts(ctx)).To(HaveLen(1))
		unbind(ctx, c, first)
		again := bind(ctx, c, allocation(mac, 19)) // a VLAN that was released lately is better than none
		unbind(ctx, c, again)
	})
})

var _ = Describe("changes in Neutron", func() {
	It("is completed: a port without a trunk", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition())
		a := bind(ctx, c, allocation(mac, 20))
		Expect(trunks.RemoveSubports(ctx, fixture.owner, trunk, trunks.RemoveSubportsOpts{
			Subports: []trunks.RemoveSubport{{PortID: portOf(a)}},
		}).Err).NotTo(HaveOccurred())
		again := bind(ctx, c, allocation(mac, 20))
		Expect(portOf(again)).To(Equal(portOf(a)), "the port of the second bind")
		Expect(vlans(ctx, trunk)).To(Equal(map[string]int{portOf(a): int(again.Binding.VLAN)}))
		unbind(ctx, c, a)
	})

	It("is released: a port that was detached, one that was deleted, one that was renamed", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition())
		detached, deleted, renamed := bind(ctx, c, allocation(mac, 21)), bind(ctx, c, allocation(mac, 22)), bind(ctx, c,
			allocation(mac, 23))
		for _, a := range []network.Allocation{detached, deleted} {
			Expect(trunks.RemoveSubports(ctx, fixture.owner, trunk, trunks.RemoveSubportsOpts{
				Subports: []trunks.RemoveSubport{{PortID: portOf(a)}},
			}).Err).NotTo(HaveOccurred())
		}
		Expect(ports.Delete(ctx, fixture.owner, portOf(deleted)).ExtractErr()).To(Succeed())
		name := "renamed"
		Expect(ports.Update(ctx, fixture.owner, portOf(renamed), ports.UpdateOpts{Name: &name}).Err).NotTo(HaveOccurred())
		unbind(ctx, c, detached, deleted, renamed)
		Expect(ports.Get(ctx, fixture.owner, portOf(renamed)).Err).To(HaveOccurred())
	})

	It("is released: a port that was attached to another trunk", func(ctx SpecContext) {
		c := open(definition(func(d *openstack.Definition) { d.Trunk.Create = true }))
		moved, other := bind(ctx, c, allocation(fixture.mac, 26)), bind(ctx, c, allocation(nicWithoutTrunk(ctx), 27))
		options := trunks.RemoveSubportsOpts{Subports: []trunks.RemoveSubport{{PortID: portOf(moved)}}}
		Expect(trunks.RemoveSubports(ctx, fixture.owner, fixture.trunk, options).Err).NotTo(HaveOccurred())
		pages, err := trunks.List(fixture.owner, trunks.ListOpts{}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		all, err := trunks.ExtractTrunks(pages)
		Expect(err).NotTo(HaveOccurred())
		at := slices.IndexFunc(all, func(t trunks.Trunk) bool {
			return slices.ContainsFunc(t.Subports, func(s trunks.Subport) bool { return s.PortID == portOf(other) })
		})
		Expect(at).NotTo(Equal(-1), "the trunk of the other node")
		Expect(trunks.AddSubports(ctx, fixture.owner, all[at].ID, trunks.AddSubportsOpts{Subports: []trunks.Subport{
			{PortID: portOf(moved), SegmentationType: "vlan", SegmentationID: 3002},
		}}).Err).NotTo(HaveOccurred())
		unbind(ctx, c, moved)
		Expect(ports.Get(ctx, fixture.owner, portOf(moved)).Err).To(HaveOccurred())
		unbind(ctx, c, other)
	})

	It("is not listed, and left alone, when it is not ours any more", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition())
		a := bind(ctx, c, allocation(mac, 24))
		id, other := portOf(a), "of somebody else"
		Expect(ports.Update(ctx, fixture.owner, id,
			ports.UpdateOpts{Name: &other, Description: &other}).Err).NotTo(HaveOccurred())
		Expect(listed(ctx, definition())).NotTo(ContainElement(HaveField("ID", id)), "ports of this installation")
		unbind(ctx, c, a)
		Expect(ports.Get(ctx, fixture.owner, id).Err).NotTo(HaveOccurred())
		Expect(vlans(ctx, fixture.trunk)).To(HaveKey(id))
		Expect(trunks.RemoveSubports(ctx, fixture.owner, fixture.trunk, trunks.RemoveSubportsOpts{
			Subports: []trunks.RemoveSubport{{PortID: id}},
		}).Err).NotTo(HaveOccurred())
		Expect(ports.Delete(ctx, fixture.owner, id).ExtractErr()).To(Succeed())
	})

	It("is kept apart from another installation in the project", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition())
		other := func(d *openstack.Definition) { d.NamePrefix = "graft-2" }
		a := bind(ctx, c, allocation(mac, 25))
		unbind(ctx, open(definition(other)), a)
		Expect(listed(ctx, definition())).To(HaveLen(1))
		Expect(listed(ctx, definition(other))).To(BeEmpty())
		unbind(ctx, c, a)
	})
})

// allocations returns several intents on one NIC.
func allocations(mac string, first, count int) []network.Allocation {
	all := make([]network.Allocation, count)
	for i := range all {
		all[i] = allocation(mac, first+i)
	}
	return all
}

// distinct fails if two bindings have the same VLAN, MAC address or port.
func distinct(all []network.Allocation) {
	GinkgoHelper()
	seen := map[string]string{}
	for _, a := range all {
		for _, mark := range []string{fmt.Sprint("VLAN ", a.VLANID()), "MAC " + a.HardwareAddr().String(),
			"port " + portOf(a)} {
			Expect(seen).NotTo(HaveKey(mark), "%s and %s", a.Owner, seen[mark])
			seen[mark] = a.Owner.Key
		}
	}
}
