// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package libnetwork

import (
	"maps"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// moduleNetwork is a network of a kind that many kernels have as a module only. test/system/uml runs these specs with a
// kernel that has all modules.
type moduleNetwork struct {
	options, endpoint map[string]string
	// vlan is the VLAN of the router; 0 means the link itself.
	vlan   int
	routes []string
	// sharedMAC means that containers have the MAC address of the link.
	sharedMAC bool
	// single means that the network can have one container only.
	single bool
	// noRouter means that containers do not reach the router.
	noRouter bool
}

var _ = Describe("a kernel with all modules", func() {
	routes := []string{"default via 172.31.9.1"}
	DescribeTable("connects containers with each other and with a router outside, by", func(n moduleNetwork) {
		m := begin(linksOnly, "")
		addLink("up0", "")
		addRouter("up0p", n.vlan, "172.31.9.1/24")
		m.initial = links("")
		options := maps.Clone(n.options)
		options["parent"] = "up0"
		m.network(engine.Network{Name: "net", Four: four, Options: options})
		created, one := m.container(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10", Options: n.endpoint})
		want := view{"eth0", created.MAC, 1500, []string{"172.31.9.10/24"}, n.routes}
		if n.sharedMAC {
			want.MAC = findLink("up0").Attrs().HardwareAddr.String()
		}
		Expect(one.onlyInterface()).To(BeComparableTo(want, cmpopts.EquateEmpty()))
		if !n.noRouter {
			one.expectReach(host, "172.31.9.1/24")
		}
		names := []string{"one"}
		if !n.single {
			_, other := m.container(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11", Options: n.endpoint})
			one.expectReach(other, "172.31.9.11/24")
			other.expectReach(one, "172.31.9.10/24")
			names = append(names, "other")
		}
		if n.sharedMAC && !n.single {
			_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", MAC: "02:42:00:00:00:0a",
				Options: n.endpoint})
			expectRefused("another MAC address", err, "MAC address")
		}
		m.restartServer()
		m.deleteContainers("net", names...)
		m.deleteNetworks("net")
		m.expectClean()
	},
		Entry("ipvlan", moduleNetwork{options: map[string]string{"kind": "ipvlan"}, sharedMAC: true, routes: routes}),
		Entry("ipvlan of mode l3", moduleNetwork{options: map[string]string{"kind": "ipvlan", "mode": "l3"}, sharedMAC: true,
			noRouter: true, routes: []string{"default"}}),
		Entry("ipvlan of mode l3s",
			moduleNetwork{options: map[string]string{"kind": "ipvlan", "mode": "l3s"}, sharedMAC: true,
				noRouter: true, routes: []string{"default"}}),
		Entry("ipvlan on a VLAN", moduleNetwork{options: map[string]string{"kind": "ipvlan", "vlan": "42"}, vlan: 42,
			sharedMAC: true, routes: routes}),
		Entry("macvlan on a VLAN",
			moduleNetwork{options: map[string]string{"kind": "macvlan", "vlan": "42"}, vlan: 42, routes: routes}),
		Entry("a bridge on a VLAN",
			moduleNetwork{options: map[string]string{"kind": "bridge", "vlan": "42", "gateway": "outside"},
				vlan: 42, routes: routes}),
		Entry("a VLAN", moduleNetwork{options: map[string]string{"kind": "vlan"}, vlan: 43,
			endpoint: map[string]string{"vlan": "43"},
			single:   true, routes: routes}),
	)
})

// addRouter adds an address to a link, or to a VLAN of the link.
func addRouter(name string, vlan int, address string) {
	GinkgoHelper()
	if vlan != 0 {
		router := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "router", ParentIndex: findLink(name).Attrs().Index},
			VlanId: vlan}
		Expect(netlink.LinkAdd(router)).To(Succeed())
		Expect(netlink.LinkSetUp(router)).To(Succeed())
		name = "router"
	}
	addAddress(name, address)
}
