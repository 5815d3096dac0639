// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package swarm_test

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestSwarm tests networks of a Swarm one after the other, because the start of a Swarm takes longer than all of them.
func TestSwarm(t *testing.T) {
	folder := plugin(t)
	one, two := boot(t)
	one.plug(folder, "")
	two.plug(folder, "")
	join(one, two)
	follow(t, one, two, []step{
		{"attached", attached}, {"service", service}, {"worker leaves", leave}, {"worker killed", killed},
		{"manager restarted", restart},
	})
	for _, n := range []*node{one, two} {
		n.holdsNothing("--server=unix://" + filepath.Join(n.machine.Folder, "state", "ledger.sock"))
	}
}

// TestSharedLedger uses one ledger in etcd for all nodes: the manager's choice and the request of a node's task are the
// same row, and the next manager releases the choices of the previous one, which its own ledger would keep.
func TestSharedLedger(t *testing.T) {
	folder := plugin(t)
	one, two := boot(t)
	url := one.etcd()
	for i, n := range []*node{one, two} {
		n.plug(folder, fmt.Sprintf("ledger: {etcd: {endpoints: [%q]}}\nnode: node-%d", url, i+1))
	}
	join(one, two)
	follow(t, one, two, []step{{"service", service}, {"worker leaves", leave}, {"manager changes", lead}, {"manager restarted", restart}})
	one.holdsNothing("--etcd=" + url)
}

// step is a part of a Swarm's life.
type step struct {
	name string
	is   func(t *testing.T, one, two *node)
}

// follow runs steps one after the other, until one of them fails.
func follow(t *testing.T, one, two *node, steps []step) {
	t.Helper()
	for _, s := range steps {
		if !t.Run(s.name, func(t *testing.T) { s.is(t, one.of(t), two.of(t)) }) {
			return
		}
	}
}

// of is the node with another test to fail.
func (n *node) of(t *testing.T) *node {
	other := *n
	other.T = t
	return &other
}

// attached runs containers by hand on both nodes, in a network with Docker's own IPAM whose tunnel has the number that
// the manager has given it.
func attached(t *testing.T, one, two *node) {
	one.docker("network", "create", "--driver="+engine.Managed, "--attachable", "--opt=profile=acme.com/plain", "plain")
	for i, n := range []*node{one, two} {
		n.docker("run", "--detach", "--name="+fmt.Sprintf("c%d", i+1), "--network=plain", engine.Image, "sleep", "100000")
	}
	one.reaches("c1", "c2") // by name: gossip carries it
	two.reaches("c2", "c1")
	talk(one, "c1", two, "c2")
	one.eventually("the other node is the peer", func() error { return same(one.peers(), []string{two.address}) })
	if mtu := one.docker("exec", "c1", "cat", "/sys/class/net/eth0/mtu"); mtu != "1450" {
		t.Errorf("the MTU is %s, and leaves no room for the tunnel's headers or too much", mtu)
	}
	for i, n := range []*node{one, two} {
		n.docker("rm", "--force", fmt.Sprintf("c%d", i+1))
		n.empty()
	}
	one.docker("network", "rm", "plain")
}

// talk sends more than a packet over TCP from one container to another.
func talk(from *node, client string, to *node, server string) {
	from.Helper()
	// a server whose input ends says so to its client
	to.docker("exec", "--detach", server, "sh", "-c", "sleep 100 | nc -l -p 7 >/got")
	from.eventually("a connection is made", func() error {
		_, err := from.try("exec", client, "sh", "-c",
			"i=0; while [ $i -lt 2000 ]; do echo graft; i=$((i+1)); done | nc -w 5 "+server+" 7")
		return err
	})
	from.eventually("all has arrived", func() error {
		got, err := to.try("exec", server, "cat", "/got")
		if lines := strings.Count(got+"\n", "graft\n"); lines != 2000 {
			return errors.Join(fmt.Errorf("%d lines have", lines), err)
		}
		return nil
	})
}

// service is a task on each node, whose addresses are those of a pool.
func service(t *testing.T, one, two *node) {
	one.docker("network", "create", "--driver="+engine.Managed, "--ipam-driver="+engine.Managed,
		"--opt=profile=acme.com/overlay",
		"--ipam-opt=profile=acme.com/overlay", "pooled")
	one.docker("service", "create", "--detach", "--name=web", "--mode=global", "--endpoint-mode=dnsrr", "--network=pooled",
		"--no-resolve-image", "--quiet",
		engine.Image, "sleep", "100000")
	tasks := running(one, two)
	for _, task := range tasks {
		if address := task.address(); !pool.Contains(address.Addr()) || address.Bits() != pool.Bits() ||
			task.mac() != derived(address.Addr()) {
			t.Errorf("a task has %s and %s, which are not of the pool", address, task.mac())
		}
	}
	across(tasks)
}

// pool is the subnet of testdata/profile.yaml.
var pool = netip.MustParsePrefix("10.80.0.0/24")

// derived is the MAC address that goes with an address of the pool.
func derived(address netip.Addr) string {
	b := address.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

// task is a container of the service.
type task struct {
	*node
	container string
}

// address is the one of the task.
func (t task) address() netip.Prefix {
	t.Helper()
	address, err := netip.ParsePrefix(strings.Fields(t.docker("exec", t.container, "ip", "-o", "-4", "address", "show", "dev", "eth0"))[3])
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (t task) mac() string {
	return t.docker("exec", t.container, "cat", "/sys/class/net/eth0/address")
}

// running waits until there is a task on each node, which has an address.
func running(nodes ...*node) []task {
	var tasks []task
	for _, n := range nodes {
		n.Helper()
		var id string
		n.eventually("a task runs on "+n.address, func() error {
			ids := strings.Fields(n.docker("ps", "--quiet", "--filter=label=com.docker.swarm.service.name=web"))
			if len(ids) != 1 {
				return fmt.Errorf("there are %d", len(ids))
			}
			id = ids[0]
			_, err := n.try("exec", id, "ip", "address", "show", "dev", "eth0")
			return err
		})
		tasks = append(tasks, task{n, id})
	}
	return tasks
}

// across checks that each task reaches the addresses of all.
func across(tasks []task) {
	for _, from := range tasks {
		from.Helper()
		for _, to := range tasks {
			from.reaches(from.container, to.address().Addr().String())
		}
	}
}

// leave has a node leave and come back, as another one to Swarm, which keeps the addresses of tasks on a node that is
// down for a day if it is not removed.
func leave(_ *testing.T, one, two *node) {
	id := two.docker("info", "--format={{.Swarm.NodeID}}")
	two.docker("swarm", "leave")
	one.eventually("the peer is gone", func() error { return same(one.peers(), nil) })
	two.empty()
	// dockerd gives up its membership after "swarm leave" has returned, and a node that joins before has no peers for
	// good.
	two.eventually("the port of Swarm's members is free", func() error {
		if listener := two.run("ss", "--no-header", "--listening", "--numeric", "--tcp", "sport = :7946"); listener != "" {
			return errors.New(listener)
		}
		return nil
	})
	one.eventually("the node can be removed", func() error {
		_, err := one.try("node", "rm", id)
		return err
	})
	one.admit(two)
	one.eventually("the peer is back", func() error { return same(one.peers(), []string{two.address}) })
	across(running(one, two))
}

func same(got, want []string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("-want +got\n%s", diff)
	}
	return nil
}

// killed ends a worker's dockerd in the middle: the manager's tunnel has no such peer any more, and has it again when
// the worker is back, whose tasks then are new ones.
func killed(t *testing.T, one, two *node) {
	if err := two.dockerd.Kill(); err != nil {
		t.Fatal(err)
	}
	one.eventually("the peer is gone", func() error { return same(one.peers(), nil) })
	if err := two.dockerd.Start(two.ctx); err != nil {
		t.Fatal(err)
	}
	one.eventually("the peer is back", func() error { return same(one.peers(), []string{two.address}) })
	two.eventually("the manager is a peer", func() error { return same(two.peers(), []string{one.address}) })
	across(running(one, two))
}

// lead makes the other node the manager, which asks for all that the first one had chosen, chooses addresses for new
// tasks, and gives the office back.
func lead(t *testing.T, one, two *node) {
	change(one, two)
	kept := running(one, two)
	across(kept)
	two.docker("service", "update", "--force", "--detach", "--quiet", "web")
	two.eventually("all tasks are new ones", func() error {
		for _, task := range kept {
			if ids := task.docker("ps", "--quiet", "--filter=label=com.docker.swarm.service.name=web"); ids == "" ||
				strings.Contains(ids, task.container) {
				return fmt.Errorf("on %s there is %s", task.node.address, task.container)
			}
		}
		return nil
	})
	fresh := running(one, two)
	if fresh[0].address() == fresh[1].address() {
		t.Errorf("two tasks have %s", fresh[0].address())
	}
	across(fresh)
	change(two, one)
	across(running(one, two))
}

// change makes another node the manager.
func change(from, to *node) {
	from.Helper()
	name := func(n *node) string { return n.docker("info", "--format={{.Swarm.NodeID}}") }
	from.docker("node", "promote", name(to))
	to.eventually("it is a manager, too", func() error {
		_, err := to.try("node", "ls")
		return err
	})
	to.eventually("the manager steps back", func() error {
		_, err := to.try("node", "demote", name(from))
		return err
	})
	to.eventually("it leads", func() error {
		out, err := to.try("node", "ls", "--format={{.Self}} {{.ManagerStatus}}")
		if err == nil && !strings.Contains(out, "true Leader") {
			err = errors.New(out)
		}
		return err
	})
}

// restart ends the manager and starts it again: it asks for all again that it had, and gets it. Its gossip may not find
// the worker for a minute: the tunnel has its peer because that is remembered.
func restart(t *testing.T, one, two *node) {
	if err := one.dockerd.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := one.dockerd.Start(one.ctx); err != nil {
		t.Fatal(err)
	}
	across(running(one, two))
	one.docker("service", "rm", "web")
	one.empty()
	two.empty()
	one.eventually("the network can be removed", func() error {
		_, err := one.try("network", "rm", "pooled")
		return err
	})
}
