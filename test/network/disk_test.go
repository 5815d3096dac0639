// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const diskConfiguration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: worker-1
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "unix://%[1]s/s", contracts: [dranet]}]
metrics: {address: "0"}
logging: {level: info, format: text}
`

var _ = Describe("a network provider on a full disk", func() {
	It("exits with a message and without a panic, and keeps every allocation that it has answered", func() {
		p := newProgram()
		p.Write("profile.yaml",
			strings.ReplaceAll(fmt.Sprintf(profile, 250), "quarantine: 0s", "quarantine: 0s, nodes: [worker-1]"))
		p.Write("config.yaml", fmt.Sprintf(diskConfiguration, p.Folder))
		p.FileBlocks = 512
		p.Start()
		p.Ready()
		answered := map[string]string{}
		for _, claim := range claims("claim", 250) {
			address, _ := p.allocate(claim)
			if address == "" {
				break
			}
			answered[claim] = address
		}
		Expect(p.WaitExit()).To(Equal(1), "exit status; the program printed:\n%s", p.Log)
		Expect(answered).NotTo(BeEmpty(), "allocations before the disk was full")
		Expect(p.Log.String()).To(ContainSubstring("Ending because the ledger cannot be written"))
		Expect(p.Log.String()).NotTo(ContainSubstring("goroutine"), "a panic")

		p.FileBlocks = 0
		p.Start()
		p.Ready()
		for claim, had := range answered {
			address, _ := p.allocate(claim)
			Expect(address).To(Equal(had), "the address of %s after the restart", claim)
		}
		Expect(p.Stop()).To(BeZero(), "exit status; the program printed:\n%s", p.Log)
	})
})
