// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The other shells are packages of Debian: test/system/shells.
var _ = Describe("the tabulator in bash", func() {
	cases, err := Completions("testdata/completions.yaml")
	It("has cases", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(cases).NotTo(BeEmpty())
	})
	for _, test := range cases {
		It("completes "+test.Line, func(ctx SpecContext) {
			screen, err := Bash().Complete(ctx, copied, bin, test)
			Expect(err).NotTo(HaveOccurred())
			GinkgoWriter.Println(screen)
		})
	}
})
