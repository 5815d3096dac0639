// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

// Package docker_test lets Debian's dockerd run containers on Graft's networks, and kills both in the middle. Each test
// has a machine of its own (package engine), which must be as empty at the end as it was at the start: no link, no
// allocation.
package docker_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// leaksFor is longer than the time between a leak and its end in testdata/config.yaml.
const leaksFor = 12 * time.Second

// reachable is how long a container that has just begun may take until another one reaches it.
const reachable = time.Minute

var root = filepath.Join("..", "..", "..")

// world is one machine with both programs.
type world struct {
	*testing.T
	machine  *engine.Machine
	dockerd  *engine.Dockerd
	provider *engine.Process
	ctx      context.Context
	// links are those that the machine has when nothing runs on it.
	links []string
}

// empty is a machine without programs. Machines run concurrently, because most of the time is spent waiting for missing
// plugins.
func empty(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	machine, err := engine.Options{Unprivileged: os.Geteuid() != 0}.Boot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, machine: machine, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			for _, process := range []*engine.Process{&w.dockerd.Process, w.provider} {
				t.Logf("the log of %s ends with:\n%s", process.Name, process.Tail())
			}
		}
		if err := machine.Halt(); err != nil {
			t.Error(err)
		}
	})
	w.dockerd = machine.Dockerd(false)
	data := absolute(t, "test", "system", "docker", "testdata")
	w.provider = machine.Provider(absolute(t, "bin", "graft-network-provider"), filepath.Join(data, "acme.yaml"),
		"--config="+filepath.Join(data, "config.yaml"))
	w.links = w.allLinks()
	return w
}

// full is a machine with both programs and an image. Leftovers of the test are removed at its end; nothing may remain
// then.
func full(t *testing.T) *world {
	t.Helper()
	w := empty(t)
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	return w
}

func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{root}, parts...)...))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) start(p *engine.Process, arguments ...string) {
	w.Helper()
	if err := p.Start(w.ctx, arguments...); err != nil {
		w.Fatal(err)
	}
}

func (w *world) kill(p *engine.Process) {
	w.Helper()
	if err := p.Kill(); err != nil {
		w.Fatal(err)
	}
}

// docker runs a docker command that must succeed.
func (w *world) docker(arguments ...string) string {
	w.Helper()
	out, err := w.dockerd.Do(w.ctx, arguments...)
	if err != nil {
		w.Fatalf("docker %s: %v", strings.Join(arguments, " "), err)
	}
	return out
}

// refused must not do it, and say why, with all words.
func (w *world) refused(words []string, arguments ...string) {
	w.Helper()
	out, err := w.dockerd.Do(w.ctx, arguments...)
	if err == nil {
		w.Errorf("docker %s: it was done, and said %s", strings.Join(arguments, " "), out)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("docker %s: the error should have %q: %v", strings.Join(arguments, " "), word, err)
		}
	}
}

// run runs a container that does nothing for long.
func (w *world) run(name, network string, options ...string) {
	w.Helper()
	arguments := append([]string{"run", "--detach", "--stop-timeout=0", "--name=" + name, "--network=" + network},
		options...)
	w.docker(append(arguments, engine.Image, "/bin/sleep", "1d")...)
}

// in runs a program in a container, and returns its output.
func (w *world) in(container string, arguments ...string) string {
	w.Helper()
	return w.docker(append([]string{"exec", container}, arguments...)...)
}

// reach lets a container reach an address with ping soon. Duplicate address detection of a new IPv6 address takes a
// moment; until then ping fails at once.
func (w *world) reach(container, address string) {
	w.Helper()
	var err error
	for deadline := time.Now().Add(reachable); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if _, err = w.dockerd.Do(w.ctx, "exec", container, "/bin/ping", "-c1", "-W2", address); err == nil {
			return
		}
	}
	w.Errorf("%s does not reach %s within %s: %v", container, address, reachable, err)
}

// lost reports that a container does not reach an address.
func (w *world) lost(container, address string) {
	w.Helper()
	w.refused(nil, "exec", container, "/bin/ping", "-c1", "-W1", address)
}

// attached is docker's information about a container in a network.
type attached struct {
	IPAddress, GlobalIPv6Address, MacAddress, Gateway, IPv6Gateway string
	IPPrefixLen                                                    int
}

func (w *world) attached(container, network string) attached {
	w.Helper()
	var all map[string]attached
	w.decode(w.docker("inspect", "--format={{json .NetworkSettings.Networks}}", container), &all)
	return all[network]
}

func (w *world) decode(text string, into any) {
	w.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.Fatalf("%v in %s", err, text)
	}
}

// allLinks are the names of the links on the machine.
func (w *world) allLinks() []string {
	w.Helper()
	text, err := w.machine.Run(w.ctx, "ip", "-json", "link", "show")
	if err != nil {
		w.Fatal(err)
	}
	var found []struct{ Ifname string }
	w.decode(text, &found)
	var names []string
	for _, link := range found {
		names = append(names, link.Ifname)
	}
	slices.Sort(names)
	return names
}

// held is one allocation, as graft shows it.
type held struct {
	Owner     struct{ Contract, Key string }
	Pool      string
	Addresses []string
}

// ledger returns the owners.
func (w *world) ledger(arguments ...string) (all []held) {
	w.Helper()
	command := exec.CommandContext(w.ctx, absolute(w.T, "bin", "graft"),
		append([]string{"ledger", "inspect", w.machine.Ledger(), "-o", "json"}, arguments...)...)
	out, err := command.Output()
	if err != nil {
		w.Fatalf("looking into the ledger: %v", err)
	}
	w.decode(string(out), &all)
	return all
}

// none removes all containers and networks, and looks whether anything is left.
func (w *world) none() {
	w.Helper()
	w.clear()
	w.bare()
}

// clear removes all containers and networks.
func (w *world) clear() {
	w.Helper()
	if ids := w.docker("ps", "--all", "--quiet"); ids != "" {
		w.docker(append([]string{"rm", "--force"}, strings.Fields(ids)...)...)
	}
	if ids := w.docker("network", "ls", "--quiet", "--filter=type=custom"); ids != "" {
		w.docker(append([]string{"network", "rm"}, strings.Fields(ids)...)...)
	}
}

// bare checks that the machine soon has only its own links, and that the ledger has no owners.
func (w *world) bare() {
	w.Helper()
	var links []string
	var left []held
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if links, left = w.allLinks(), w.ledger(); slices.Equal(links, w.links) && len(left) == 0 {
			return
		}
	}
	if diff := cmp.Diff(w.links, links); diff != "" {
		w.Errorf("links (-own +there):\n%s", diff)
	}
	if len(left) > 0 {
		w.Errorf("still held: %v", left)
	}
}
