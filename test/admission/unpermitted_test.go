// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The caches of a program without a permission are never filled.
var _ = Describe("a program that may not read an object that it caches", func() {
	for _, resource := range []string{"namespaces", "clusters"} {
		It("stops when it is asked to: "+resource, func(ctx SpecContext) {
			p := launch(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
				Without: resource})
			p.log.waitFor("forbidden")
			Expect(p.Signal(syscall.SIGTERM)).To(Succeed())
			asked := time.Now()
			select {
			case <-p.Exited():
				GinkgoWriter.Printf("it ended after %s with %s", time.Since(asked).Round(time.Millisecond), p.State())
			case <-time.After(patience):
				Fail(fmt.Sprintf("the program did not end:\n%s", p.log.Tail(25)))
			}
		})
	}
})
