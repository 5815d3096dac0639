// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

var _ = Describe("macvlan", func() {
	It("connects containers on a link of the machine, and refuses a MAC address twice", func() {
		m := begin(linksOnly, "")
		addLink("up0", "")
		m.initial = links("")
		m.network(engine.Network{Name: "net", Four: four, Options: map[string]string{"kind": "macvlan", "parent": "up0"}})
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10", MAC: "02:42:00:00:00:0a"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11"})
		Expect(one.onlyInterface()).To(Equal(
			view{"eth0", "02:42:00:00:00:0a", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}))
		one.expectReach(other, "172.31.9.11/24")
		_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", MAC: "02:42:00:00:00:0a"})
		expectRefused("a MAC address of another endpoint", err, "02:42:00:00:00:0a")
		m.deleteContainers("net", "one", "other")
		m.deleteNetworks("net")
		m.expectClean()
	})
})

var _ = Describe("vxlan", func() {
	It("connects containers on two machines, by a peer option and by a node that the Swarm reports", func() {
		const far = "/run/far"
		Expect(namespace.New(far)).To(Succeed())
		DeferCleanup(namespace.Remove, far)
		connectNamespace(far)
		a := beginIn("graft", "", linksOnly, "docker: {connectivity: global}\n")
		b := beginIn("faraway", far, linksOnly, "docker: {connectivity: global}\n")
		options := map[string]string{"kind": "vxlan", "vni": "4711", "local": "192.0.2.1", "peers": "192.0.2.2"}
		a.network(engine.Network{Name: "net", Four: four, Options: options})
		options = map[string]string{"kind": "vxlan", "vni": "4711", "local": "192.0.2.2"}
		b.network(engine.Network{Name: "net", Four: four, Options: options})
		Expect(b.Discover(engine.Notice{Driver: "faraway", Address: "192.0.2.1"})).To(Succeed())
		_, one := a.container(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10"})
		_, other := b.container(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11"})
		got := one.onlyInterface()
		Expect(got).To(Equal(view{"eth0", got.MAC, 1450, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}))
		one.expectReach(other, "172.31.9.11/24")
		other.expectReach(one, "172.31.9.10/24")

		By("keeping the reported nodes during a restart of the server")
		b.restartServer()
		one.expectReach(other, "172.31.9.11/24")
		Expect(b.Discover(engine.Notice{Driver: "faraway", Address: "192.0.2.1", Gone: true})).To(Succeed())
		other.expectNoReach(one, "172.31.9.10/24")
		a.deleteContainers("net", "one")
		b.deleteContainers("net", "other")
		a.deleteNetworks("net")
		b.deleteNetworks("net")
		a.expectClean()
		b.expectClean()
	})
})

// addLink creates a link and its peer, named with the suffix p, until the end of the spec. An empty address is none.
func addLink(name, address string) {
	GinkgoHelper()
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}
	Expect(netlink.LinkAdd(link)).To(Succeed())
	DeferCleanup(func() { Expect(netlink.LinkDel(link)).To(Succeed()) })
	for _, name := range []string{name, name + "p"} {
		Expect(netlink.LinkSetUp(findLink(name))).To(Succeed())
	}
	if address != "" {
		addAddress(name, address)
	}
}

// findLink returns a link of this namespace.
func findLink(name string) netlink.Link {
	GinkgoHelper()
	link, err := netlink.LinkByName(name)
	Expect(err).NotTo(HaveOccurred(), "finding the link %s", name)
	return link
}

// addAddress adds an address to a link of this namespace.
func addAddress(name, address string) {
	GinkgoHelper()
	parsed, err := netlink.ParseAddr(address)
	Expect(err).NotTo(HaveOccurred())
	Expect(netlink.AddrAdd(findLink(name), parsed)).To(Succeed(), "adding %s to %s", address, name)
}

// connectNamespace connects this namespace, with 192.0.2.1, and another one, with 192.0.2.2, until the end of the spec.
func connectNamespace(far string) {
	GinkgoHelper()
	addLink("wire0", "192.0.2.1/24")
	space, err := namespace.Open(far)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = space.Close() }()
	Expect(netlink.LinkSetNsFd(findLink("wire0p"), int(space))).To(Succeed())
	Expect(namespace.In(far, func() error {
		there, err := netlink.LinkByName("wire0p")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(there,
			&netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, 2), Mask: net.CIDRMask(24, 32)}}); err != nil {
			return err
		}
		return netlink.LinkSetUp(there)
	})).To(Succeed())
}
