//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

const (
	root = "../../.."
	// guestVariable is set in the guest.
	guestVariable = "GRAFT_CLOCK_GUEST"
	// definition is the guest's file with the CustomResourceDefinition of Clusters.
	definition = "clusters.yaml"
	extension  = "gardener-extension-provider-graft"
)

func TestMain(m *testing.M) {
	uml.Guest()
	if os.Getenv(guestVariable) != "" {
		os.Exit(guest())
	}
	os.Exit(m.Run())
}

func TestClock(t *testing.T) { suite.Run(t, "clock", "admission", "slow") }

var _ = Describe("admissions", func() {
	// guest runs inside the machine.
	It("succeed again, and never without the provider's changes, after the clock jumps forty days forward or back",
		func(ctx context.Context) {
			self, err := os.Executable()
			Expect(err).NotTo(HaveOccurred())
			tools := filepath.Join(root, ".cache", "tools", "bin")
			var out bytes.Buffer
			Expect(uml.Run(ctx, uml.Job{
				Command: []string{"guest"}, Env: []string{guestVariable + "=1", "GOGC=300"}, Memory: 3072,
				Files: map[string]string{
					"guest": self, "etcd": filepath.Join(tools, "etcd"), "kube-apiserver": filepath.Join(tools, "kube-apiserver"),
					extension:  filepath.Join(root, "bin", extension),
					definition: filepath.Join(gardener(ctx), "example", "seed-crds", "10-crd-extensions.gardener.cloud_clusters.yaml"),
				},
			}, &out)).To(Succeed(), "the guest: %s", &out)
			Expect(out.String()).To(ContainSubstring("the clock has jumped back: answered after"), "the last step has run")
			AddReportEntry("the guest", out.String())
		}, SpecTimeout(50*time.Minute))
})

// gardener returns the folder of Gardener's module.
func gardener(ctx context.Context) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gardener/gardener")
	command.Dir = root
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(output))
}

// guest runs the jumps and returns the exit status.
func guest() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := jumps(ctx); err != nil {
		fmt.Println("FAILED:", err)
		return 1
	}
	return 0
}
