// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// heavy are packages, with all below them, that would make graft slow to start: each registers hundreds of types before
// main begins. Commands that need them run graft-controlplane.
var heavy = []string{
	"sigs.k8s.io/controller-runtime",
	"k8s.io/client-go/kubernetes",
	"k8s.io/client-go/informers",
	"k8s.io/kubectl",
	"helm.sh/helm",
	"istio.io",
	"github.com/gardener/gardener/pkg/component",
	"github.com/gardener/gardener/pkg/client",
	"github.com/gardener/gardener/extensions",
	"github.com/gardener/etcd-druid",
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample",
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook",
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed",
}

// light are packages below heavy ones that only have data.
var light = []string{
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static",
}

var _ = Describe("graft", func() {
	It("links no package that is slow to initialize", func(ctx SpecContext) {
		list := exec.CommandContext(ctx, "go", "list", "-deps", "./cmd/graft")
		list.Dir = root
		output, err := list.Output()
		Expect(err).NotTo(HaveOccurred())
		packages := strings.Fields(string(output))
		Expect(len(packages)).To(BeNumerically(">", 100), "packages of graft")
		for _, name := range packages {
			for _, prefix := range heavy {
				Expect(within(name, prefix) && !withinAny(name, light)).To(BeFalse(),
					"graft links %s; `go list -deps` and `go mod why` show through which package", name)
			}
		}
	})
})

func within(name, prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+"/") }

func withinAny(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if within(name, prefix) {
			return true
		}
	}
	return false
}
