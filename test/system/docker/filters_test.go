// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("a machine with filtered bridges and a dockerd that drops forwarded packets", func() {
	scenario("connects containers to each other and the outside by the rules of docs/usage/docker.md", func(w *world) {
		w.outside()
		w.machineRuns("ip", "addr", "add", "10.65.0.2/24", "dev", "up0")
		w.machineRuns("sh", "-c",
			"echo 0 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables")
		w.dockerd = w.machine.FilteringDockerd()
		w.begin()
		w.links = w.allLinks() // with docker0
		w.Expect(w.machineRuns("iptables", "-S", "FORWARD")).To(HavePrefix("-P FORWARD DROP"), "dockerd's own rules")

		// Rules for IPv4: those for containers of one network, and those for the way out. This dockerd makes no chains for
		// IPv6.
		var inside, way [][]string
		for _, block := range w.page() {
			for line := range strings.Lines(block.Text) {
				switch {
				case !strings.HasPrefix(line, "iptables "):
				case strings.Contains(line, "--physdev-is-bridged"):
					inside = append(inside, strings.Fields(line))
				default:
					way = append(way, strings.Fields(line))
				}
			}
		}
		w.Expect(inside).To(HaveLen(1), "rules of the page for containers of one network")
		w.Expect(way).To(HaveLen(3), "rules of the page for the way out")

		// the page's subnet, of no pool here
		w.docker("network", "create", "-d", "graft", "--subnet=10.72.0.0/16", "--gateway=10.72.0.1", "blue")
		w.run("one", "blue")
		w.run("two", "blue", "--ip=10.72.0.77")
		w.lost("one", "10.72.0.77")
		w.machineRuns(inside[0][0], inside[0][1:]...)
		w.both("one", "two", "blue")
		w.lost("one", "10.65.0.1")
		for _, rule := range way {
			w.machineRuns(rule[0], rule[1:]...)
		}
		w.reach("one", "10.65.0.1")

		// dockerd keeps the rules when it starts again
		w.docker("rm", "--force", "one", "two")
		w.kill(&w.dockerd.Process)
		w.start(&w.dockerd.Process)
		w.run("one", "blue")
		w.run("two", "blue", "--ip=10.72.0.77")
		w.both("one", "two", "blue")
		w.reach("one", "10.65.0.1")
	})
})
