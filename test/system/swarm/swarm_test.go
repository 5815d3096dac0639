// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package swarm_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// The specs of a Swarm follow each other, because the start of a Swarm takes longer than all of them.
var _ = Describe("networks of a Swarm", Ordered, func() {
	var one, two *node

	BeforeAll(func() {
		one, two = boot()
		one.plug("")
		two.plug("")
		join(one, two)
	})

	It("connect containers on two nodes through a tunnel whose number the manager chose", func() {
		one.docker("network", "create", "--driver="+engine.Managed, "--attachable", "--opt=profile=acme.com/plain", "plain")
		for i, n := range []*node{one, two} {
			n.docker("run", "--detach", "--name="+fmt.Sprintf("c%d", i+1), "--network=plain", engine.Image, "sleep", "100000")
		}
		one.reaches("c1", "c2") // by name: gossip carries it
		two.reaches("c2", "c1")
		talk(one, "c1", two, "c2")
		one.hasPeers(two.address)
		Expect(one.docker("exec", "c1", "cat", "/sys/class/net/eth0/mtu")).To(Equal("1450"),
			"the MTU, which leaves room for the tunnel's headers")
		for i, n := range []*node{one, two} {
			n.docker("rm", "--force", fmt.Sprintf("c%d", i+1))
			n.empty()
		}
		one.docker("network", "rm", "plain")
	})

	It("give the tasks of a service addresses from a pool", func() { serve(one, two) })

	It("lose and regain a worker that leaves", func() { leave(one, two) })

	It("lose and regain a worker whose dockerd is killed", func() {
		Expect(two.dockerd.Kill()).To(Succeed())
		one.hasPeers()
		Expect(two.dockerd.Start(forever)).To(Succeed())
		one.hasPeers(two.address)
		two.hasPeers(one.address)
		across(running(one, two))
	})

	It("keep the addresses of tasks while the manager restarts", func() { restart(one, two) })

	It("hold no address in the end", func() {
		for _, n := range []*node{one, two} {
			n.holdsNothing("--server=unix://" + filepath.Join(n.machine.Folder, "state", "ledger.sock"))
		}
	})
})

// The manager's choice and the request of a node's task are the same row. The next manager releases the choices of the
// previous one, which a ledger of each node would keep.
var _ = Describe("networks of a Swarm with one ledger in etcd", Ordered, func() {
	var one, two *node
	var url string

	BeforeAll(func() {
		one, two = boot()
		url = one.etcd()
		for i, n := range []*node{one, two} {
			n.plug(fmt.Sprintf("ledger: {etcd: {endpoints: [%q]}}\nnode: node-%d", url, i+1))
		}
		join(one, two)
	})

	It("give the tasks of a service addresses from a pool", func() { serve(one, two) })

	It("lose and regain a worker that leaves", func() { leave(one, two) })

	// The other node requests all that the first one chose, chooses addresses for new tasks, and is a worker again.
	It("keep the addresses of tasks while another node becomes the manager, which gives new tasks other ones", func() {
		promote(one, two)
		kept := running(one, two)
		across(kept)
		two.docker("service", "update", "--force", "--detach", "--quiet", "web")
		for _, task := range kept {
			Eventually(task.ids).ShouldNot(Or(BeEmpty(), ContainElement(task.container)), "tasks on %s", task.node.address)
		}
		fresh := running(one, two)
		Expect(fresh[0].prefix()).NotTo(Equal(fresh[1].prefix()), "the addresses of two tasks")
		across(fresh)
		promote(two, one)
		across(running(one, two))
	})

	It("keep the addresses of tasks while the manager restarts", func() { restart(one, two) })

	It("hold no address in the end", func() { one.holdsNothing("--etcd=" + url) })
})

// talk sends more than a packet over TCP from one container to another.
func talk(from *node, client string, to *node, server string) {
	GinkgoHelper()
	// a server whose input ends says so to its client
	to.docker("exec", "--detach", server, "sh", "-c", "sleep 100 | nc -l -p 7 >/got")
	from.succeeds("exec", client, "sh", "-c",
		"i=0; while [ $i -lt 2000 ]; do echo graft; i=$((i+1)); done | nc -w 5 "+server+" 7")
	Eventually(func() (int, error) {
		got, err := to.try("exec", server, "cat", "/got")
		return strings.Count(got+"\n", "graft\n"), err
	}).Should(Equal(2000), "lines that have arrived")
}

// pool is the subnet of testdata/profile.yaml.
var pool = netip.MustParsePrefix("10.80.0.0/24")

// serve creates a service with a task on each node.
func serve(one, two *node) {
	GinkgoHelper()
	one.docker("network", "create", "--driver="+engine.Managed, "--ipam-driver="+engine.Managed,
		"--opt=profile=acme.com/overlay", "--ipam-opt=profile=acme.com/overlay", "pooled")
	one.docker("service", "create", "--detach", "--name=web", "--mode=global", "--endpoint-mode=dnsrr",
		"--network=pooled", "--no-resolve-image", "--quiet", engine.Image, "sleep", "100000")
	tasks := running(one, two)
	for _, task := range tasks {
		prefix := task.prefix()
		Expect(prefix.Masked()).To(Equal(pool), "the subnet of a task with %s", prefix)
		b := prefix.Addr().As4()
		Expect(task.docker("exec", task.container, "cat", "/sys/class/net/eth0/address")).To(
			Equal(fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])), "the MAC address of a task with %s", prefix)
	}
	across(tasks)
}

// task is a container of the service.
type task struct {
	*node
	container string
}

// prefix returns the address of the task, with the length of its subnet.
func (t task) prefix() netip.Prefix {
	GinkgoHelper()
	text := t.docker("exec", t.container, "ip", "-o", "-4", "address", "show", "dev", "eth0")
	prefix, err := netip.ParsePrefix(strings.Fields(text)[3])
	Expect(err).NotTo(HaveOccurred(), "the address of a task in %s", text)
	return prefix
}

// ids returns the containers of the service on the node.
func (n *node) ids() []string {
	GinkgoHelper()
	return strings.Fields(n.docker("ps", "--quiet", "--filter=label=com.docker.swarm.service.name=web"))
}

// running waits until there is a task on each node, which has an address.
func running(nodes ...*node) []task {
	GinkgoHelper()
	var tasks []task
	for _, n := range nodes {
		var ids []string
		Eventually(func(g Gomega) {
			ids = n.ids()
			g.Expect(ids).To(HaveLen(1), "tasks on %s", n.address)
			g.Expect(n.try("exec", ids[0], "ip", "address", "show", "dev", "eth0")).Error().NotTo(HaveOccurred(),
				"looking at the interface of the task on %s", n.address)
		}).Should(Succeed())
		tasks = append(tasks, task{n, ids[0]})
	}
	return tasks
}

// across expects that each task reaches the addresses of all.
func across(tasks []task) {
	GinkgoHelper()
	for _, from := range tasks {
		for _, to := range tasks {
			from.reaches(from.container, to.prefix().Addr().String())
		}
	}
}

// leave has a node leave and come back, as another one to Swarm, which keeps the addresses of tasks on a node that is
// down for a day if it is not removed.
func leave(one, two *node) {
	GinkgoHelper()
	id := two.docker("info", "--format={{.Swarm.NodeID}}")
	two.docker("swarm", "leave")
	one.hasPeers()
	two.empty()
	// dockerd ends its membership after "swarm leave" has returned, and a node that joins before has no peers for good.
	Eventually(two.run).WithArguments("ss", "--no-header", "--listening", "--numeric", "--tcp", "sport = :7946").Should(
		BeEmpty(), "listeners at the port of Swarm's members")
	one.succeeds("node", "rm", id)
	one.admit(two)
	one.hasPeers(two.address)
	across(running(one, two))
}

// promote makes another node the manager.
func promote(from, to *node) {
	GinkgoHelper()
	name := func(n *node) string { return n.docker("info", "--format={{.Swarm.NodeID}}") }
	from.docker("node", "promote", name(to))
	to.succeeds("node", "ls")
	to.succeeds("node", "demote", name(from))
	Eventually(to.try).WithArguments("node", "ls", "--format={{.Self}} {{.ManagerStatus}}").Should(
		ContainSubstring("true Leader"), "the nodes as %s sees them", to.address)
}

// restart stops and starts the manager, which requests all that it had, and gets it. Its gossip may not find the worker
// for a minute: the tunnel has its peer because that is stored. In the end the service and its network are removed.
func restart(one, two *node) {
	GinkgoHelper()
	Expect(one.dockerd.Stop()).To(Succeed(), "stopping the manager")
	Expect(one.dockerd.Start(forever)).To(Succeed(), "starting the manager")
	across(running(one, two))
	one.docker("service", "rm", "web")
	one.empty()
	two.empty()
	one.succeeds("network", "rm", "pooled")
}
