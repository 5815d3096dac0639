// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

var _ = Describe("docs/usage/docker.md", func() {
	// A kernel that lacks a kind of link must name the fix.
	scenario("has docker commands that work from top to bottom, with the profiles of the page", func(w *world) {
		example, err := os.ReadFile(filepath.Join(root, "example", "network", "docker.yaml"))
		w.Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(w.machine.Folder, "docker.yaml")
		w.write(file, string(example))
		w.provider = w.machine.Provider(provider, file)
		w.begin()
		for _, line := range []string{"link add eth0 type veth peer name far0", "link set eth0 up", "link set far0 up"} {
			w.machineRuns("ip", strings.Fields(line)...)
		}
		w.links = w.allLinks()
		ran := 0
		for _, block := range w.page() {
			if block.Language != "sh" || !strings.HasPrefix(block.Text, "docker network ") &&
				!strings.HasPrefix(block.Text, "docker run ") {
				continue
			}
			lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(block.Text), "\\\n", ""), "\n")
			if strings.Contains(block.Text, "parent=eth0") {
				w.refused([]string{"denied", "profiles"}, words(lines[0])...)
				rest, _, _ := strings.Cut(string(example), "\ndeny:")
				w.write(file, rest)
				// The server reads its profiles again.
				w.Eventually(w.typed).WithArguments(lines[0]).Should(Succeed(), "the first command without the rule")
				lines = lines[1:]
			}
			for _, line := range lines {
				w.Expect(w.typed(line)).To(Succeed(), "a command of the page: %s", line)
			}
			ran += len(lines)
		}
		w.Expect(ran).To(BeNumerically(">=", 14), "commands of the page")
		w.Expect(w.in("one", "/bin/ip", "address")).To(ContainSubstring("172.31.9.77/24"), "the address of the page")
	})
})

// page returns the blocks of docs/usage/docker.md.
func (w *world) page() []commands.Block {
	page, err := os.ReadFile(filepath.Join(root, "docs", "usage", "docker.md"))
	w.Expect(err).NotTo(HaveOccurred())
	blocks, err := commands.Blocks(string(page))
	w.Expect(err).NotTo(HaveOccurred(), "reading the page")
	return blocks
}

// words are the arguments of docker in a line of the page, with the suite's image.
func words(line string) []string {
	return strings.Fields(strings.ReplaceAll(line, " alpine ", " "+engine.Image+" "))[1:]
}

// typed runs a command of the page. A kernel that lacks a kind of link is no error.
func (w *world) typed(line string) error {
	_, err := w.dockerd.Do(w.ctx, words(line)...)
	if err == nil || strings.Contains(err.Error(), "modprobe") {
		return nil
	}
	return err
}
