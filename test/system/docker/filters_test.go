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
)

// TestFilters runs a dockerd that drops forwarded packets, on a machine with filtered bridges: without a rule, two
// containers of one network do not reach each other or the outside. The rules of the page allow both.
func TestFilters(t *testing.T) {
	w := empty(t)
	w.outside()
	w.must("ip", "addr", "add", "10.65.0.2/24", "dev", "up0")
	w.must("sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables")
	w.dockerd = w.machine.FilteringDockerd()
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	w.links = w.allLinks() // with docker0
	if policy := w.must("iptables", "-S", "FORWARD"); !strings.HasPrefix(policy, "-P FORWARD DROP") {
		t.Fatalf("want the policy FORWARD DROP of dockerd, got %s", policy)
	}
	inside, way := pageRules(t)

	// the page's subnet, of no pool here
	w.docker("network", "create", "-d", "graft", "--subnet=10.72.0.0/16", "--gateway=10.72.0.1", "blue")
	w.run("one", "blue")
	w.run("two", "blue", "--ip=10.72.0.77")
	w.lost("one", "10.72.0.77")
	for _, rule := range inside {
		w.must(rule[0], rule[1:]...)
	}
	w.both("one", "two", "blue")

	w.lost("one", "10.65.0.1")
	for _, rule := range way {
		w.must(rule[0], rule[1:]...)
	}
	w.reach("one", "10.65.0.1")

	t.Log("dockerd keeps the rules when it starts again")
	w.docker("rm", "--force", "one", "two")
	w.kill(&w.dockerd.Process)
	w.start(&w.dockerd.Process)
	w.run("one", "blue")
	w.run("two", "blue", "--ip=10.72.0.77")
	w.both("one", "two", "blue")
	w.reach("one", "10.65.0.1")
}

// pageRules are the rules for IPv4 that docs/usage/docker.md shows: those for containers of one network, and those for
// the way out. This dockerd makes no chains for IPv6.
func pageRules(t *testing.T) (inside, way [][]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "usage", "docker.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := commands.Blocks(string(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		for line := range strings.Lines(block.Text) {
			switch {
			case !strings.HasPrefix(line, "iptables "):
			case strings.Contains(line, "--physdev-is-bridged"):
				inside = append(inside, strings.Fields(line))
			default:
				way = append(way, strings.Fields(line))
			}
		}
	}
	if len(inside) != 1 || len(way) != 3 {
		t.Fatalf("the page has %d rules for one network, and %d for the way out", len(inside), len(way))
	}
	return inside, way
}

// must runs a command on the machine, and returns its output.
func (w *world) must(name string, arguments ...string) string {
	w.Helper()
	out, err := w.machine.Run(w.ctx, name, arguments...)
	if err != nil {
		w.Fatalf("%s %s: %v", name, strings.Join(arguments, " "), err)
	}
	return out
}
