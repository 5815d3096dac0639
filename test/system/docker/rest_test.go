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

// The quarantine of the pool is longer than the scenarios.
var _ = Describe("a container with a named address of a pool with a quarantine", func() {
	scenario("restarts with its address", func(w *world) {
		w.begin()
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/resting", "--ipam-driver=graft",
			"--ipam-opt=profile=acme.com/resting", "--subnet=10.66.0.0/24", "net")
		const wanted = "10.66.0.19"
		named := "--network=name=net,ip=" + wanted

		// restarted by hand
		w.docker("run", "--detach", "--stop-timeout=0", "--name=one", named, engine.Image, "/bin/sleep", "1d")
		for range 2 {
			w.docker("restart", "-t", "0", "one")
			fields := strings.Fields(w.in("one", "/bin/ip", "-4", "-oneline", "address", "show", "eth0"))
			w.Expect(fields[3]).To(Equal(wanted+"/24"), "the address after a restart")
		}
		w.docker("rm", "--force", "one")

		// restarted by its policy
		w.docker("run", "--detach", "--stop-timeout=0", "--restart=always", "--name=one", named, engine.Image,
			"/bin/sleep", "1")
		w.Eventually(func() (count int) {
			w.decode(w.docker("inspect", "--format={{.RestartCount}}", "one"), &count)
			return count
		}).Should(BeNumerically(">=", 2), "restarts")
		w.none()
	})
})
