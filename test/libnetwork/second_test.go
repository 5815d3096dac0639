// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

var _ = Describe("a second server with a ledger of its own", func() {
	for _, c := range []struct{ title, driver string }{{"the same socket", "graft"}, {"another socket", "other"}} {
		It("exits without changes to the links of the first one, on "+c.title, func() {
			m := begin(linksOnly, "")
			m.network(engine.Network{Name: "net", Four: four})
			_, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
			created, two := m.container(engine.Endpoint{Network: "net", Name: "two"})
			before := links("")

			folder, err := os.MkdirTemp("/run", "g")
			Expect(err).NotTo(HaveOccurred())
			second := &server{driver: c.driver, folder: folder, log: &log{}}
			second.write("profile.yaml", linksOnly)
			second.write("config.yaml",
				configurationOf(folder, `[{address: "unix:///run/docker/plugins/`+c.driver+`.sock", contracts: [docker]}]`))
			second.launch()
			Eventually(second.ended).Should(BeClosed(), "the second server exits")
			Expect(second.process.ProcessState.ExitCode()).NotTo(BeZero(), "the exit status of the second server")
			Expect(second.log.String()).To(ContainSubstring("another process manages Docker's links"))

			Expect(links("")).To(Equal(before), "the links after the second server")
			one.expectReach(two, created.Four)
			m.deleteContainers("net", "one", "two")
			m.deleteNetworks("net")
			m.expectClean()
		})
	}
})
