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
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestPage runs the docker commands of docs/usage/docker.md from top to bottom on one machine, with the profiles of the
// page. If this kernel lacks a kind, the refusal must name the fix.
func TestPage(t *testing.T) {
	w := empty(t)
	example, err := os.ReadFile(filepath.Join(root, "example", "network", "docker.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.machine.Folder, "docker.yaml")
	w.write(file, string(example))
	w.provider = w.machine.Provider(absolute(t, "bin", "graft-network-provider"), file)
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	for _, line := range []string{"link add eth0 type veth peer name far0", "link set eth0 up", "link set far0 up"} {
		w.must("ip", strings.Fields(line)...)
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
		if block.Language != "sh" || !strings.HasPrefix(block.Text, "docker network ") &&
			!strings.HasPrefix(block.Text, "docker run ") {
			continue
		}
		lines := strings.Split(strings.TrimSpace(block.Text), "\n")
		if strings.Contains(block.Text, "parent=eth0") {
			w.refused([]string{"denied", "profiles"}, words(lines[0])...)
			rest, _, _ := strings.Cut(string(example), "\ndeny:")
			w.write(file, rest)
			w.until(lines[0])
			lines = lines[1:]
		}
		for _, line := range lines {
			w.typed(line)
		}
		ran += len(lines)
	}
	if ran < 14 {
		t.Errorf("the page has only %d commands", ran)
	}
	if routes := w.in("one", "/bin/ip", "route"); !strings.Contains(routes, "10.0.0.0/8 via 172.31.9.9") {
		t.Errorf("the route of the page: %s", routes)
	}
}

// words are the arguments of docker in a line of the page, with the suite's image.
func words(line string) []string {
	return strings.Fields(strings.ReplaceAll(line, " alpine ", " "+engine.Image+" "))[1:]
}

// typed runs a command of the page.
func (w *world) typed(line string) {
	w.Helper()
	out, err := w.dockerd.Do(w.ctx, words(line)...)
	switch {
	case err != nil && strings.Contains(err.Error(), "modprobe"):
		w.Logf("%s: %v", line, err)
	case err != nil:
		w.Errorf("%s: %v %s", line, err, out)
	}
}

// until runs a command of the page until it is not denied any more, as the server has read its profiles again.
func (w *world) until(line string) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		_, err := w.dockerd.Do(w.ctx, words(line)...)
		if err == nil || strings.Contains(err.Error(), "modprobe") {
			return
		}
		if !strings.Contains(err.Error(), "denied") {
			w.Fatalf("%s: %v", line, err)
		}
	}
	w.Fatalf("%s: it is denied still", line)
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}
