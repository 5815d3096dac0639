// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

// Package swarm_test proves scope global: Debian's dockerd on two machines (package engine) with a cable between them
// and a plugin on each, as a Swarm.
package swarm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// patience bounds every wait; Swarm takes its time to find that a node is gone.
const patience = 2 * time.Minute

// node is a machine of the Swarm.
type node struct {
	*testing.T
	machine *engine.Machine
	dockerd *engine.Dockerd
	address string
	ctx     context.Context
}

// boot makes two machines with a cable between them, on which a dockerd runs, with an image.
func boot(t *testing.T) (one, two *node) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var nodes []*node
	for i := range 2 {
		machine, err := engine.Boot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := &node{T: t, machine: machine, dockerd: machine.Dockerd(false), address: fmt.Sprintf("192.0.2.%d", i+1), ctx: ctx}
		t.Cleanup(n.halt)
		nodes = append(nodes, n)
	}
	one, two = nodes[0], nodes[1]
	if err := engine.Connect(ctx, one.machine, two.machine, "wan"); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		n.run("hostname", fmt.Sprintf("node-%d", i+1))
		n.run("ip", "address", "add", n.address+"/24", "dev", "wan")
		if err := n.dockerd.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := n.dockerd.Import(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return one, two
}

func (n *node) halt() {
	if n.Failed() {
		n.Logf("the log of dockerd on %s ends with:\n%s", n.address, n.dockerd.Tail())
	}
	if err := n.machine.Halt(); err != nil {
		n.Error(err)
	}
}

// plug installs the managed plugin, with the configuration that goes with it and a profile from testdata. A ledger is
// another one than that of the node alone.
func (n *node) plug(folder, ledger string) {
	n.Helper()
	for name, from := range map[string]string{
		"network-provider.yaml": filepath.Join(root, "hack", "plugin", "network-provider.yaml"),
		"network/profile.yaml":  "testdata/profile.yaml",
	} {
		raw, err := os.ReadFile(from)
		if err != nil {
			n.Fatal(err)
		}
		// What Swarm forgets to give back, such as addresses of tasks that end while their network is removed, is to be found
		// soon.
		raw = bytes.Replace(raw, []byte("{scope: global}"), []byte("{scope: global, sweep: {period: 1s, grace: 15s}}"), 1)
		if ledger != "" {
			raw = bytes.Replace(raw, []byte("ledger: {path: /var/lib/graft/ledger}"), []byte(ledger), 1)
		}
		to := filepath.Join(n.machine.Folder, "etc", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			n.Fatal(err)
		}
		if err := os.WriteFile(to, raw, 0o644); err != nil {
			n.Fatal(err)
		}
	}
	if err := n.dockerd.Plug(n.ctx, folder); err != nil {
		n.Fatal(err)
	}
}

var root = filepath.Join("..", "..", "..")

// plugin is the folder of which managed plugins are made, built once.
func plugin(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "plugin")
	c := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "plugin", "plugin.sh"), folder)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("making the plugin's folder: %v\n%s", err, out)
	}
	return folder
}

// docker must do what it is told.
func (n *node) docker(arguments ...string) string {
	n.Helper()
	out, err := n.try(arguments...)
	if err != nil {
		n.Fatalf("docker %s on %s: %v", strings.Join(arguments, " "), n.address, err)
	}
	return out
}

func (n *node) try(arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(n.ctx, patience)
	defer cancel()
	return n.dockerd.Do(ctx, arguments...)
}

// run runs a command on the machine.
func (n *node) run(name string, arguments ...string) string {
	n.Helper()
	out, err := n.machine.Run(n.ctx, name, arguments...)
	if err != nil {
		n.Fatalf("%s %s on %s: %v", name, strings.Join(arguments, " "), n.address, err)
	}
	return out
}

// join makes the first node a manager and the second one a worker, and waits until both are ready.
func join(one, two *node) {
	one.Helper()
	one.docker("swarm", "init", "--advertise-addr="+one.address)
	one.admit(two)
}

// admit lets another node join as a worker.
func (n *node) admit(other *node) {
	n.Helper()
	token := n.docker("swarm", "join-token", "--quiet", "worker")
	other.docker("swarm", "join", "--token="+token, "--advertise-addr="+other.address, n.address+":2377")
	n.eventually("the node is ready", func() error {
		if ready := strings.Count(n.docker("node", "ls", "--format={{.Status}}"), "Ready"); ready < 2 {
			return fmt.Errorf("%d nodes are ready", ready)
		}
		return nil
	})
}

// eventually waits until something is so.
func (n *node) eventually(what string, is func() error) {
	n.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	n.Fatalf("waiting until %s: %v", what, err)
}

// reaches waits until a container here reaches another one, by its address or its name.
func (n *node) reaches(container, other string) {
	n.Helper()
	n.eventually(container+" reaches "+other, func() error {
		_, err := n.try("exec", container, "ping", "-c", "1", "-W", "2", other)
		return err
	})
}

// links are those of ours on the machine.
func (n *node) links() []string {
	n.Helper()
	var names []string
	for line := range strings.Lines(n.run("ip", "-brief", "link")) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@")
		if strings.HasPrefix(name, "g") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// peers are the machines to which the only tunnel sends what it knows no better place for.
func (n *node) peers() []string {
	n.Helper()
	var peers []string
	for _, name := range n.links() {
		if !strings.HasPrefix(name, "gx") {
			continue
		}
		for line := range strings.Lines(n.run("bridge", "fdb", "show", "dev", name)) {
			if words := strings.Fields(line); words[0] == "00:00:00:00:00:00" && len(words) > 2 {
				peers = append(peers, words[2])
			}
		}
	}
	slices.Sort(peers)
	return peers
}

// empty waits until nothing of ours is left.
func (n *node) empty() {
	n.Helper()
	n.eventually("no link is left on "+n.address, func() error {
		if links := n.links(); len(links) > 0 {
			return fmt.Errorf("there are %v", links)
		}
		return nil
	})
}

// holdsNothing waits until no address is held in a ledger.
func (n *node) holdsNothing(ledger string) {
	n.Helper()
	n.eventually("nothing is held any more", func() error {
		out, err := n.machine.Run(n.ctx, absolute(n.T, root, "bin", "graft"), "ledger", "inspect", ledger)
		if err == nil && out != "No allocations." {
			err = errors.New(out)
		}
		return err
	})
}

// etcd runs one on the node until the test ends, and returns its URL.
func (n *node) etcd() string {
	n.Helper()
	program := absolute(n.T, root, ".cache", "tools", "bin", "etcd")
	if _, err := os.Stat(program); err != nil {
		n.Fatalf("%v; hack/tools/build.sh etcd builds it", err)
	}
	clients, peers := "http://"+n.address+":2379", "http://"+n.address+":2380"
	go func() { // until the machine is halted
		_, _ = n.machine.Run(n.ctx, program, "--data-dir="+filepath.Join(n.machine.Folder, "etcd"),
			"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
			"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
			"--log-level=error")
	}()
	n.eventually("etcd answers", func() error {
		_, err := n.machine.Run(n.ctx, absolute(n.T, root, "bin", "graft"), "ledger", "inspect", "--etcd="+clients)
		return err
	})
	return clients
}
