// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

var _ = Describe("the driver", func() {
	Context("for networks that cannot exist", Ordered, ContinueOnFailure, func() {
		var m *machine
		BeforeAll(func() { m = begin(pooled, "") })

		DescribeTable("explains", func(n engine.Network, texts ...string) {
			n.Name, n.Driver = "net", "graft"
			_, err := m.NewNetwork(n)
			expectRefused("the network", err, append(texts, "remote: ")...)
			m.expectClean()
		},
			Entry("an unknown option", engine.Network{Options: map[string]string{"parrent": "eth0"}}, "parrent", "parent"),
			Entry("an unknown kind", engine.Network{Options: map[string]string{"kind": "bond"}}, "bond", "macvlan"),
			Entry("a parent that does not exist",
				engine.Network{Options: map[string]string{"kind": "macvlan", "parent": "nothing0"}}, "nothing0"),
			Entry("macvlan without a parent", engine.Network{Options: map[string]string{"kind": "macvlan"}}, "parent"),
			Entry("an MTU that is not a number", engine.Network{Options: map[string]string{"mtu": "big"}}, "mtu", "68"),
			Entry("vxlan without a VNI", engine.Network{Options: map[string]string{"kind": "vxlan"}}, "vni"),
			Entry("an unknown profile", engine.Network{Options: map[string]string{"profile": "acme.com/none"}}, "acme.com/none"),
			Entry("an option that contradicts the profile",
				engine.Network{Options: map[string]string{"profile": "acme.com/flat", "kind": "macvlan", "parent": "lo"}},
				"acme.com/flat", "kind"),
			Entry("a rule that denies the profile",
				engine.Network{IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/closed"},
					Options: map[string]string{"profile": "acme.com/closed"}}, "acme.com/closed is not available here"),
			Entry("a profile with pools for addresses from Docker",
				engine.Network{Options: map[string]string{"profile": "acme.com/overlay"},
					Four: []engine.Pool{{Subnet: "172.31.9.0/24"}}}, "--ipam-driver graft"),
			Entry("a subnet of Docker that overlaps a pool",
				engine.Network{Four: []engine.Pool{{Subnet: "10.64.0.128/25"}}}, "overlay", "--ipam-driver graft"),
			Entry("a subnet that no pool has",
				engine.Network{IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/overlay"},
					Options: map[string]string{"profile": "acme.com/overlay"},
					Four:    []engine.Pool{{Subnet: "10.99.0.0/24"}}}, "10.99.0.0/24"),
			Entry("the IPAM driver graft without a profile or pool", engine.Network{IPAM: "graft"}, "profile"),
		)
	})

	It("refuses published ports", func() {
		m := begin(linksOnly, "")
		m.network(engine.Network{Name: "net", Four: four})
		m.sandbox("one", 8080)
		_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one", Published: []uint16{8080}})
		if err == nil { // one of the controllers sends the ports with the second request
			err = m.Join(engine.Attachment{Network: "net", Endpoint: "one", Sandbox: "one"})
			m.deleteEndpoints("net", "one")
		}
		expectRefused("an endpoint with published ports", err, "ports")
		m.deleteSandbox("one")
		m.deleteNetworks("net")
		m.expectClean()
	})
})
