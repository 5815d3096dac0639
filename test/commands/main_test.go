// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

var (
	// root is the folder of the repository, bin that of its programs, and copied that of a copy of the repository.
	root        = filepath.Join("..", "..")
	bin, copied string
)

func TestCommands(t *testing.T) { suite.Run(t, "commands", "slow") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	bin, err = env.Programs(root)
	Expect(err).NotTo(HaveOccurred())
	copied = GinkgoT().TempDir()
	Expect(Checkout(ctx, root, copied)).To(Succeed())
})

// checkout returns the folder of the copy of the repository, without changes of earlier specs.
func checkout(ctx SpecContext) string {
	GinkgoHelper()
	Expect(Reset(ctx, root, copied)).To(Succeed())
	return copied
}
