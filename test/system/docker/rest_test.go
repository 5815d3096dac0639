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
	for _, test := range []struct{ text, option, wanted, create string }{
		{"which the network holds", "ip", "10.66.0.19",
			"--ipam-driver=graft --ipam-opt=profile=acme.com/resting --subnet=10.66.0.0/24"},
		{"which the container holds", "driver-opt=address", "10.66.0.18", "--ipam-driver=null"},
	} {
		scenario("restarts with its address, "+test.text+", and others do not get it", func(w *world) {
			w.begin()
			create := []string{"network", "create", "-d", "graft", "-o", "profile=acme.com/resting"}
			w.docker(append(append(create, strings.Fields(test.create)...), "net")...)
			named := "--network=name=net," + test.option + "=" + test.wanted

			// restarted by hand
			w.docker("run", "--detach", "--stop-timeout=0", "--name=one", named, engine.Image, "/bin/sleep", "1d")
			for range 2 {
				w.docker("restart", "-t", "0", "one")
				fields := strings.Fields(w.in("one", "/bin/ip", "-4", "-oneline", "address", "show", "eth0"))
				w.Expect(fields[3]).To(Equal(test.wanted+"/24"), "the address after a restart")
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

			// another container before the end of the quarantine
			w.docker(append(create, "--ipam-driver=null", "other")...)
			w.refused([]string{test.wanted, "in quarantine until"}, "run", "--rm",
				"--network=name=other,driver-opt=address="+test.wanted, engine.Image, "/bin/true")
		})
	}
})
