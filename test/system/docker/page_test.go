// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestPage runs what docs/usage/docker.md shows of docker on one machine, with the profiles of the example that it names. Networks go after each block.
// Of what this kernel lacks, the refusal must say what is to be done.
func TestPage(t *testing.T) {
	w := empty(t)
	example, err := os.ReadFile(filepath.Join(root, "example", "network", "docker.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	profiles, _, _ := strings.Cut(string(example), "\ndeny:") // the rule is for other users
	file := filepath.Join(w.machine.Folder, "docker.yaml")
	if err := os.WriteFile(file, []byte(profiles), 0o600); err != nil {
		t.Fatal(err)
	}
	w.provider = w.machine.Provider(absolute(t, "bin", "graft-network-provider"), file)
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	for _, line := range []string{"ip link add eth0 type veth peer name far0", "ip link set eth0 up", "ip link set far0 up"} {
		if _, err := w.machine.Run(w.ctx, "ip", strings.Fields(line)[1:]...); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	w.links = w.allLinks()
	page, err := os.ReadFile(filepath.Join(root, "docs", "usage", "docker.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := commands.Blocks(string(page))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range blocks {
		if block.Language == "sh" && strings.HasPrefix(block.Text, "docker network ") {
			ran += w.typed(block.Text)
		}
	}
	if ran < 12 {
		t.Errorf("the page has only %d commands", ran)
	}
}

// typed runs the commands of a block, and says how many there are.
func (w *world) typed(block string) int {
	w.Helper()
	connecting := strings.HasPrefix(block, "docker network connect ")
	if connecting { // to a network of an earlier block
		w.docker("network", "create", "-d", "graft", "--subnet", "172.31.9.0/24", "plain")
		w.docker("run", "--detach", "--stop-timeout=0", "--name=one", "--network=none", engine.Image, "/bin/sleep", "1d")
		w.docker("network", "disconnect", "none", "one")
	}
	lines := strings.Split(strings.TrimSpace(block), "\n")
	var networks []string
	for _, line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, " alpine ", " "+engine.Image+" "))[1:]
		out, err := w.dockerd.Do(w.ctx, words...)
		switch {
		case err == nil && words[1] == "create":
			networks = append(networks, words[len(words)-1])
		case err != nil && strings.Contains(err.Error(), "modprobe"):
			w.Logf("%s: %v", line, err)
		case err != nil:
			w.Errorf("%s: %v %s", line, err, out)
		}
	}
	if connecting {
		if routes := w.in("one", "/bin/ip", "route"); !strings.Contains(routes, "10.0.0.0/8 via 172.31.9.9") {
			w.Errorf("the route of the page: %s", routes)
		}
		w.docker("rm", "--force", "one")
		networks = append(networks, "plain")
	}
	for _, name := range networks {
		w.docker("network", "rm", name)
	}
	w.bare()
	return len(lines)
}
