// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

var _ = Describe("a driver of scope global", func() {
	It("answers managers and workers of a cluster, also if they repeat themselves", func() {
		m := begin(pooled, "docker: {scope: global}\n")
		addLink("wire0", "192.0.2.1/24")
		m.initial = links("")
		const id = "0123456789abcdef0123456789abcdef"
		options := map[string]string{"kind": "vxlan", "vni": "4711", "local": "192.0.2.1"}
		Expect(m.Allocate("graft", id, options)).Error().NotTo(HaveOccurred(), "allocating a network")
		for _, gone := range []bool{false, false, true, true} {
			Expect(m.Discover(engine.Notice{Driver: "graft", Address: "192.0.2.7", Gone: gone})).To(Succeed(),
				"discovering a node")
		}
		Expect(m.Discover(engine.Notice{Driver: "graft", Address: "192.0.2.1", Self: true})).To(Succeed(),
			"discovering this node")
		m.network(engine.Network{Name: "net", Four: four, Options: options})
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other"})
		one.expectReach(other, other.onlyInterface().Addresses[0])
		m.deleteContainers("net", "one", "other")
		m.deleteNetworks("net")
		Expect(m.Free("graft", id)).To(Succeed(), "freeing the network")
		m.expectClean()
	})
})
