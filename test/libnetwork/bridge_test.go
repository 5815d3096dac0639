// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"strings"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// linksOnly is a profile without pools.
const linksOnly = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: docker}
profiles:
` + linkProfiles

// linkProfiles are the profiles of linksOnly, which pooled has as well.
const linkProfiles = `  acme.com/flat: {link: {kind: bridge, prefix: net}, config: {interface: {mtu: 1420}}}
  acme.com/apart: {link: {isolated: true}}
`

// Subnets of networks in this suite.
var (
	four = []engine.Pool{{Subnet: "172.31.9.0/24", Gateway: "172.31.9.1"}}
	six  = []engine.Pool{{Subnet: "fd00:9::/64", Gateway: "fd00:9::1"}}
)

// bridge is a network with two endpoints.
type bridge struct {
	network    engine.Network
	one, other engine.Endpoint
	// want is what the container of the first endpoint sees. An empty MAC address matches any.
	want view
	// chosen is the name of the interface, if the user has chosen it and the controller supports that.
	chosen string
}

var _ = Describe("a bridge", func() {
	Context("with two containers, which reach each other and the gateway,", Ordered, ContinueOnFailure, func() {
		var m *machine
		BeforeAll(func() { m = begin(linksOnly, "") })

		DescribeTable("gives a container", func(b bridge) {
			b.network.Name, b.one.Network, b.other.Network, b.one.Name, b.other.Name = "net", "net", "net", "one", "other"
			m.network(b.network)
			_, one := m.container(b.one)
			_, other := m.container(b.other)
			if b.chosen != "" && controller != "docker28" {
				b.want.Name = b.chosen
			}
			got := one.onlyInterface()
			if b.want.MAC == "" {
				b.want.MAC = got.MAC
			}
			Expect(got).To(BeComparableTo(b.want, cmpopts.EquateEmpty()), "the interface of the container")
			for _, address := range other.onlyInterface().Addresses {
				one.expectReach(other, address)
			}
			for _, route := range got.Routes {
				_, gateway, _ := strings.Cut(route, " via ")
				one.expectReach(host, gateway+"/0")
			}
			m.deleteContainers("net", "one", "other")
			m.deleteNetworks("net")
			m.expectClean()
		},
			Entry("the IPv4 and MAC addresses that its user chose", bridge{
				network: engine.Network{Four: four},
				one:     engine.Endpoint{Four: "172.31.9.10", MAC: "02:42:00:00:00:0a"},
				want:    view{"eth0", "02:42:00:00:00:0a", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
			}),
			Entry("an address of the subnet that Docker chose", bridge{
				network: engine.Network{Options: map[string]string{"mtu": "1400"}},
				want:    view{"eth0", "", 1400, []string{"172.17.0.2/16"}, []string{"default via 172.17.0.1"}},
			}),
			Entry("addresses of IPv4 and IPv6", bridge{
				network: engine.Network{Four: four, Six: six, WithSix: true},
				one:     engine.Endpoint{Four: "172.31.9.10", Six: "fd00:9::a"},
				want: view{"eth0", "", 1500, []string{"172.31.9.10/24", "fd00:9::a/64"},
					[]string{"default via 172.31.9.1", "default6 via fd00:9::1"}},
			}),
			Entry("an address of IPv6 only", bridge{
				network: engine.Network{Six: six, WithSix: true, NoFour: true},
				one:     engine.Endpoint{Six: "fd00:9::a"},
				want:    view{"eth0", "", 1500, []string{"fd00:9::a/64"}, []string{"default6 via fd00:9::1"}},
			}),
			Entry("the interface name that its user chose", bridge{
				network: engine.Network{Four: four},
				one: engine.Endpoint{Four: "172.31.9.10",
					Options: map[string]string{"com.docker.network.endpoint.ifname": "net7"}},
				want:   view{"eth0", "", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
				chosen: "net7",
			}),
			Entry("the interface prefix and MTU of a profile", bridge{
				network: engine.Network{Four: four, Options: map[string]string{"profile": "acme.com/flat"}},
				one:     engine.Endpoint{Four: "172.31.9.10"},
				want:    view{"net0", "", 1420, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
			}),
			Entry("no default route in an internal network", bridge{
				network: engine.Network{Four: four, Internal: true},
				one:     engine.Endpoint{Four: "172.31.9.10"},
				want:    view{"eth0", "", 1500, []string{"172.31.9.10/24"}, nil},
			}),
			Entry("no default route in an isolated network", bridge{
				network: engine.Network{Four: four, Options: map[string]string{"profile": "acme.com/apart"}},
				one:     engine.Endpoint{Four: "172.31.9.10"},
				want:    view{"eth0", "", 1500, []string{"172.31.9.10/24"}, nil},
			}),
			Entry("an address of the second of two subnets", bridge{
				network: engine.Network{Four: append(four, engine.Pool{Subnet: "172.31.10.0/24", Gateway: "172.31.10.254"})},
				one:     engine.Endpoint{Four: "172.31.10.10"},
				other:   engine.Endpoint{Four: "172.31.10.11"},
				want:    view{"eth0", "", 1500, []string{"172.31.10.10/24"}, []string{"default via 172.31.10.254"}},
			}),
		)
	})

	It("never allocates auxiliary addresses", func() {
		m := begin(linksOnly, "")
		m.network(engine.Network{Name: "net", Four: []engine.Pool{{
			Subnet: "172.31.9.0/24", Range: "172.31.9.0/29", Gateway: "172.31.9.1",
			Auxiliary: map[string]string{"router": "172.31.9.3"},
		}}})
		var allocated []string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			allocated = append(allocated, m.endpoint(engine.Endpoint{Network: "net", Name: name}).Four)
		}
		Expect(allocated).To(Equal([]string{"172.31.9.2/24", "172.31.9.4/24", "172.31.9.5/24", "172.31.9.6/24",
			"172.31.9.7/24"}))
		_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "f", Four: "172.31.9.3"})
		expectRefused("an endpoint with the router's address", err)
		m.deleteEndpoints("net", "a", "b", "c", "d", "e")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("connects a container to two networks, which it leaves and joins again", func() {
		m := begin(linksOnly, "")
		m.network(engine.Network{Name: "one", Four: four})
		m.network(engine.Network{Name: "two", Four: []engine.Pool{{Subnet: "172.31.10.0/24", Gateway: "172.31.10.1"}}})
		_, c := m.container(engine.Endpoint{Network: "one", Name: "c"})
		m.endpoint(engine.Endpoint{Network: "two", Name: "c"})
		m.join("two", "c", "c")
		both := c.interfaces()
		Expect(both).To(HaveExactElements(HaveField("Name", "eth0"), HaveField("Name", "eth1")), "interfaces in two networks")
		Expect(append(both[0].Routes, both[1].Routes...)).To(HaveLen(1), "routes in two networks")
		m.leave("one", "c")
		left := c.onlyInterface()
		Expect(left.Name).To(Equal("eth1"))
		Expect(left.Routes).To(Equal([]string{"default via 172.31.10.1"}), "routes after leaving")
		m.join("one", "c", "c")
		Expect(c.interfaces()).To(HaveLen(2), "interfaces after joining again")
		m.leave("one", "c")
		m.deleteEndpoints("one", "c")
		m.deleteContainers("two", "c")
		m.deleteNetworks("one", "two")
		m.expectClean()
	})

	It("has a link of the machine as a port, with a router outside", func() {
		m := begin(linksOnly, "")
		addLink("up0", "")
		m.initial = links("")
		m.network(engine.Network{Name: "net", Four: four, Options: map[string]string{"parent": "up0", "gateway": "outside"}})
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10"})
		got := one.onlyInterface()
		Expect(got).To(Equal(view{"eth0", got.MAC, 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}}))
		addAddress("up0p", "172.31.9.1/24")
		one.expectReach(host, "172.31.9.1/24")
		m.deleteContainers("net", "one")
		m.deleteNetworks("net")
		Expect(findLink("up0").Attrs().MasterIndex).To(BeZero(), "the bridge of the link")
		m.expectClean()
	})
})
