// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package swarm_test

import (
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

var _ = Describe("nodes of a Swarm with the driver behind a socket", func() {
	It("are peers of each other's local tunnels with one number, and have no networks of the Swarm", func() {
		one, two := boot()
		configuration, err := filepath.Abs(filepath.Join("testdata", "socket.yaml"))
		Expect(err).NotTo(HaveOccurred())
		profile, err := filepath.Abs(filepath.Join("testdata", "profile.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, n := range []*node{one, two} {
			provider := n.machine.Provider(filepath.Join(root, "bin", "graft-network-provider"), profile,
				"--config="+configuration)
			Expect(provider.Start(forever)).To(Succeed(), "starting the network provider")
			// The first network activates the driver: it is not told of nodes that joined before.
			n.docker("network", "create", "--driver=graft", "--opt=kind=vxlan", "--opt=vni=4712", "--subnet=10.81.0.0/24",
				"wide")
		}
		join(one, two)

		By("running a container on each node")
		for i, n := range []*node{one, two} {
			n.docker("run", "--detach", "--name="+fmt.Sprintf("c%d", i+1), "--network=wide",
				fmt.Sprintf("--ip=10.81.0.1%d", i), engine.Image, "sleep", "100000")
		}
		one.reaches("c1", "10.81.0.11")
		two.reaches("c2", "10.81.0.10")
		one.hasPeers(two.address)
		two.hasPeers(one.address)

		By("refusing a network of the Swarm")
		Expect(one.try("network", "create", "--driver=graft", "--scope=swarm", "--opt=kind=vxlan", "refused")).Error().To(
			MatchError(ContainSubstring("legacy plugin graft of type NetworkDriver is not supported in swarm mode")))

		By("leaving the Swarm")
		two.docker("swarm", "leave")
		one.hasPeers()
		for i, n := range []*node{one, two} {
			n.docker("rm", "--force", fmt.Sprintf("c%d", i+1))
			n.docker("network", "rm", "wide")
			n.empty()
		}
	})
})
