// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	root    = "../../.."
	service = "graft-network-provider.service"
	socket  = "graft-docker.socket"
	// exposure is the upper limit of what `systemd-analyze security` computes for the service, of 100.
	exposure = "25"
)

var _ = Describe("the units of hack/systemd", func() {
	It("are accepted by systemd-analyze, with an exposure of at most "+exposure, func(ctx context.Context) {
		folder := GinkgoT().TempDir()
		program, err := filepath.Abs(filepath.Join(root, "bin", "graft-network-provider"))
		Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{service, socket} {
			text := strings.ReplaceAll(read("hack", "systemd", name), "/usr/local/bin/graft-network-provider", program)
			Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
		}
		output, err := exec.CommandContext(ctx, "systemd-analyze", "verify", "--man=no", filepath.Join(folder, service),
			filepath.Join(folder, socket)).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "systemd-analyze verify: %s", output)
		Expect(string(output)).NotTo(ContainSubstring("graft"), "it also reports faults of units of the machine")
		output, err = exec.CommandContext(ctx, "systemd-analyze", "security", "--no-pager", "--offline=true",
			"--threshold="+exposure, filepath.Join(folder, service)).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "systemd-analyze security: %s", output)
	}, NodeTimeout(patience))

	It("use the socket of the configuration, where Docker finds it", func(ctx context.Context) {
		Expect(read("hack", "systemd", socket)).To(ContainSubstring(
			"\nListenStream=/run/docker/plugins/graft.sock\nFileDescriptorName=graft-docker\nService=" + service + "\n"))
		Expect(read("hack", "systemd", service)).To(ContainSubstring("\nRequires=" + socket + "\n"))
		Expect(read("hack", "systemd", "network-provider.yaml")).To(ContainSubstring(
			"\n- address: systemd://graft-docker\n  contracts: [docker]\n"))
		output, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "graft"), "lint",
			filepath.Join(root, "hack", "systemd", "network-provider.yaml")).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "graft lint: %s", output)
	}, NodeTimeout(patience))

	It("are installed by the commands of docs/usage/network-provider.md", func(ctx context.Context) {
		_, block, _ := strings.Cut(read("docs", "usage", "network-provider.md"), "```sh\ninstall ")
		block, _, found := strings.Cut("install "+block, "```")
		Expect(found).To(BeTrue(), "the page has a block of commands that begins with install")
		folder := GinkgoT().TempDir()
		for _, name := range []string{"usr/local/bin", "etc/systemd/system"} {
			Expect(os.MkdirAll(filepath.Join(folder, name), 0o755)).To(Succeed())
		}
		block = strings.NewReplacer(" /", " "+folder+"/", "systemctl enable --now",
			"systemctl --root="+folder+" enable").Replace(block)
		command := exec.CommandContext(ctx, "sh", "-e", "-c", block)
		command.Dir = root
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "the commands of the page: %s", output)
		for _, name := range []string{
			"usr/local/bin/graft-network-provider", "etc/graft/network-provider.yaml", "etc/graft/network/docker.yaml",
			"etc/systemd/system/sockets.target.wants/" + socket, "etc/systemd/system/multi-user.target.wants/" + service,
		} {
			_, err := os.Lstat(filepath.Join(folder, name))
			Expect(err).NotTo(HaveOccurred(), "an installed file")
		}
	}, NodeTimeout(patience))
})

// read returns the text of a file of the project.
func read(path ...string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, filepath.Join(path...)))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
