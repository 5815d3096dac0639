// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

var _ = Describe("docker network create", Ordered, func() {
	var w *world

	BeforeAll(func() {
		w = newWorld(NewGomega(Fail))
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				AddReportEntry("logs", w.logs())
			}
			Expect(w.machine.Halt()).To(Succeed(), "halting the machine")
		})
		w.begin()
		w.outside()
	})

	It("makes a network with the MTU and the routes of its profile, which leaves nothing when it is removed", func() {
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/plain", "--subnet=172.31.9.0/24",
			"--gateway=172.31.9.1", "plain")
		var options map[string]string
		w.decode(w.docker("network", "inspect", "--format={{json .Options}}", "plain"), &options)
		Expect(options).To(Equal(map[string]string{"profile": "acme.com/plain"}), "options of the network")
		w.run("one", "plain")
		Expect(w.link("one", "net0").MTU).To(Equal(1400), "the MTU, which the profile sets")
		Expect(w.in("one", "/bin/ip", "route")).To(
			And(ContainSubstring("192.0.2.0/24 via 172.31.9.1"), ContainSubstring("default via 172.31.9.1")), "routes")
		w.docker("rm", "--force", "one")
		w.removeNetwork("plain")
		w.bare()
		w.refused([]string{"plain"}, "network", "inspect", "plain")
	})

	DescribeTable("refuses, with the reason,", func(arguments string, reason ...string) {
		w.refused(reason, append(strings.Fields("network create -d graft "+arguments), "wrong")...)
		w.bare()
	},
		Entry("an unknown option", "-o colour=red --subnet=172.31.1.0/24", "colour", "profile", "kind", "parent"),
		Entry("an unknown profile", "-o profile=acme.com/overlya --subnet=172.31.1.0/24", "acme.com/overlya"),
		Entry("an unknown kind", "-o kind=birdge --subnet=172.31.1.0/24", "birdge", "bridge"),
		Entry("a kind of other kernels", "-o kind=ipvlan -o parent=up0 --subnet=172.31.1.0/24", "ipvlan", "kernel"),
		Entry("a missing parent", "-o kind=macvlan -o parent=nic7 --subnet=172.31.1.0/24", "nic7"),
		Entry("macvlan without a parent", "-o kind=macvlan --subnet=172.31.1.0/24", "parent"),
		Entry("an option against its profile", "-o profile=acme.com/plain -o kind=macvlan --subnet=172.31.1.0/24",
			"kind", "acme.com/plain"),
		Entry("a subnet of a pool", "-o kind=bridge --subnet=10.64.0.0/25", "overlay", "--ipam-driver"),
		Entry("a pool without its IPAM", "-o profile=acme.com/overlay --subnet=172.31.1.0/24", "--ipam-driver"),
		Entry("IPAM without a profile", "--ipam-driver=graft", "profile"),
		Entry("IPAM with another profile", "--ipam-driver=graft --ipam-opt=profile=acme.com/nothing", "acme.com/nothing"),
		Entry("an unknown option of IPAM", "--ipam-driver=graft --ipam-opt=prfile=acme.com/overlay", "prfile", "profile"),
		Entry("a subnet of no pool", "--ipam-driver=graft --ipam-opt=profile=acme.com/overlay --subnet=172.31.1.0/24",
			"172.31.1.0/24"),
	)

	AfterAll(func() { w.none() })
})

var _ = Describe("containers", func() {
	scenario("have the addresses of their options, also after restarts, and communicate", func(w *world) {
		w.begin()
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/plain", "--ipv6", "--subnet=172.31.9.0/24",
			"--gateway=172.31.9.1", "--subnet=fd00:9::/64", "--gateway=fd00:9::1", "--aux-address=printer=172.31.9.2", "plain")
		w.run("one", "plain")
		w.run("two", "plain", "--ip=172.31.9.77", "--ip6=fd00:9::77", "--mac-address=02:42:ac:11:00:77")
		first, second := w.attached("one", "plain"), w.attached("two", "plain")
		w.Expect(first.IPAddress).To(Equal("172.31.9.3"), "the first address without the gateway and the printer")
		w.Expect(second).To(Equal(attached{
			IPAddress: "172.31.9.77", GlobalIPv6Address: "fd00:9::77", MacAddress: "02:42:ac:11:00:77",
			Gateway: "172.31.9.1", IPv6Gateway: "fd00:9::1", IPPrefixLen: 24,
		}), "the container with named addresses")
		w.Expect(w.link("two", "net0").Address).To(Equal(second.MacAddress), "the MAC address in the kernel")
		w.Expect(w.link("one", "net0").Address).To(Equal(first.MacAddress), "the MAC address in the kernel")
		w.both("one", "two", "plain")

		// TCP
		w.docker("exec", "--detach", "two", "/bin/sh", "-c", "echo hello | nc -l -p 8080")
		w.Expect(w.in("one", "/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do "+
			"nc -w 2 172.31.9.77 8080 </dev/null && exit; i=$((i+1)); sleep 0.2; done")).To(Equal("hello"), "the answer of two")

		// stopped and started
		w.docker("restart", "--time=0", "two")
		w.docker("stop", "--time=0", "two")
		w.docker("start", "two")
		w.Expect(w.attached("two", "plain")).To(Equal(second), "the container after restarts")
		w.both("one", "two", "plain")

		// connected and disconnected while it runs
		w.docker("network", "create", "-d", "graft", "--subnet=172.31.10.0/24", "-o", "mtu=1300", "other")
		w.run("three", "other")
		w.docker("network", "connect", "--ip=172.31.10.9", "other", "one")
		w.both("one", "three", "other")
		w.docker("network", "disconnect", "other", "one")
		w.lost("three", "172.31.10.9")
		w.docker("network", "connect", "other", "one")
		w.both("one", "three", "other")
		w.both("one", "two", "plain")
		w.Expect(w.link("three", "eth0").MTU).To(Equal(1300), "the MTU, which the network sets")

		w.refused([]string{"publish"}, "run", "--rm", "--network=plain", "--publish=8080:80", engine.Image, "/bin/true")
	})

	scenario("are in networks of other kinds, and in such without a way out", func(w *world) {
		w.begin()
		w.outside()

		// macvlan by a profile, with its pool
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/rack", "--ipam-driver=graft",
			"--ipam-opt=profile=acme.com/rack", "--subnet=10.65.0.0/24", "rack")
		w.run("one", "rack")
		w.run("two", "rack", "--ip=10.65.0.20")
		w.both("one", "two", "rack")
		w.reach("one", "10.65.0.1")
		w.docker("rm", "--force", "one", "two")
		w.removeNetwork("rack")

		// macvlan by options, private: neighbours are not reached
		w.docker("network", "create", "-d", "graft", "-o", "kind=macvlan", "-o", "parent=up0", "-o", "mode=private",
			"--subnet=172.31.14.0/24", "private")
		w.run("one", "private")
		w.run("two", "private")
		w.lost("one", w.attached("two", "private").IPAddress)
		w.docker("rm", "--force", "one", "two")

		// internal and isolated networks
		w.docker("network", "create", "-d", "graft", "--internal", "--subnet=172.31.11.0/24", "inside")
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/alone", "--subnet=172.31.12.0/24", "alone")
		for _, network := range []string{"inside", "alone"} {
			w.run("one", network)
			w.run("two", network)
			w.both("one", "two", network)
			w.Expect(w.in("one", "/bin/ip", "route")).NotTo(ContainSubstring("default"), "routes in %s", network)
			links := strings.Split(w.in("one", "/bin/ip", "-o", "link"), "\n")
			w.Expect(links).To(HaveLen(2), "the loopback and the interface of %s", network)
			w.docker("rm", "--force", "one", "two")
		}
		w.Expect(w.docker("network", "ls", "--format={{.Name}}")).NotTo(ContainSubstring("docker_gwbridge"),
			"networks, none of which docker added")
	})
})

// outside gives the machine an interface up0, which leads to a router in a separate namespace.
func (w *world) outside() {
	for _, line := range []string{
		"ip netns add far", "ip link add up0 type veth peer name far0 netns far", "ip link set up0 up",
		"ip -n far addr add 10.65.0.1/24 dev far0", "ip -n far link set far0 up", "ip -n far link set lo up",
	} {
		parts := strings.Fields(line)
		w.machineRuns(parts[0], parts[1:]...)
	}
	w.links = w.allLinks()
}
