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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// patience limits every wait, because Swarm takes its time to find that a node is gone.
const patience = 2 * time.Minute

// root is the absolute path of the repository, and plugin the folder from which managed plugins are made.
var root, plugin string

func TestSwarm(t *testing.T) { suite.Run(t, "swarm", "docker", "network", "root", "slow") }

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(patience)
	var err error
	root, err = filepath.Abs(filepath.Join("..", "..", ".."))
	Expect(err).NotTo(HaveOccurred())
	plugin = filepath.Join(GinkgoT().TempDir(), "plugin")
	command := exec.CommandContext(ctx, filepath.Join(root, "hack", "plugin", "plugin.sh"), plugin)
	out, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "making the plugin's folder: %s", out)
})

// node is a machine of the Swarm.
type node struct {
	machine *engine.Machine
	dockerd *engine.Dockerd
	address string
}

// forever is the context of machines, which run until the specs of their container are over.
var forever = context.Background()

// boot returns two machines with a cable between them, on which a dockerd runs, with an image.
func boot() (one, two *node) {
	GinkgoHelper()
	var nodes []*node
	for i := range 2 {
		machine, err := engine.Boot(forever)
		Expect(err).NotTo(HaveOccurred(), "booting a machine")
		n := &node{machine: machine, dockerd: machine.Dockerd(false), address: fmt.Sprintf("192.0.2.%d", i+1)}
		DeferCleanup(n.halt)
		nodes = append(nodes, n)
	}
	one, two = nodes[0], nodes[1]
	Expect(engine.Connect(forever, one.machine, two.machine, "wan")).To(Succeed(), "connecting the machines")
	for i, n := range nodes {
		n.run("hostname", fmt.Sprintf("node-%d", i+1))
		n.run("ip", "address", "add", n.address+"/24", "dev", "wan")
		Expect(n.dockerd.Start(forever)).To(Succeed(), "starting dockerd")
		Expect(n.dockerd.Import(forever)).To(Succeed(), "importing the image")
	}
	return one, two
}

func (n *node) halt() {
	if CurrentSpecReport().Failed() {
		AddReportEntry("the end of the log of dockerd on "+n.address, n.dockerd.Tail())
	}
	Expect(n.machine.Halt()).To(Succeed(), "halting %s", n.address)
}

// plug installs the managed plugin, with its configuration and a profile from testdata. A ledger replaces that of the
// node.
func (n *node) plug(ledger string) {
	GinkgoHelper()
	for name, from := range map[string]string{
		"network-provider.yaml": filepath.Join(root, "hack", "plugin", "network-provider.yaml"),
		"network/profile.yaml":  "testdata/profile.yaml",
	} {
		raw, err := os.ReadFile(from)
		Expect(err).NotTo(HaveOccurred())
		// Swarm forgets to release some addresses, as of tasks that end while their network is removed: a short period finds
		// them.
		raw = bytes.Replace(raw, []byte("{scope: global}"), []byte("{scope: global, sweep: {period: 1s, grace: 15s}}"), 1)
		if ledger != "" {
			raw = bytes.Replace(raw, []byte("ledger: {path: /var/lib/graft/ledger}"), []byte(ledger), 1)
		}
		to := filepath.Join(n.machine.Folder, "etc", name)
		Expect(os.MkdirAll(filepath.Dir(to), 0o755)).To(Succeed())
		Expect(os.WriteFile(to, raw, 0o644)).To(Succeed())
	}
	Expect(n.dockerd.Plug(forever, plugin)).To(Succeed(), "enabling the plugin on %s", n.address)
}

// docker runs a command of docker that must succeed.
func (n *node) docker(arguments ...string) string {
	GinkgoHelper()
	out, err := n.try(arguments...)
	Expect(err).NotTo(HaveOccurred(), "docker %s on %s", strings.Join(arguments, " "), n.address)
	return out
}

func (n *node) try(arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(forever, patience)
	defer cancel()
	return n.dockerd.Do(ctx, arguments...)
}

// succeeds waits until a command of docker succeeds.
func (n *node) succeeds(arguments ...string) {
	GinkgoHelper()
	Eventually(func() error {
		_, err := n.try(arguments...)
		return err
	}).Should(Succeed(), "docker %s on %s", strings.Join(arguments, " "), n.address)
}

// run runs a command on the machine.
func (n *node) run(name string, arguments ...string) string {
	GinkgoHelper()
	out, err := n.machine.Run(forever, name, arguments...)
	Expect(err).NotTo(HaveOccurred(), "%s %s on %s", name, strings.Join(arguments, " "), n.address)
	return out
}

// join makes the first node a manager and the second one a worker, and waits until both are ready.
func join(one, two *node) {
	GinkgoHelper()
	one.docker("swarm", "init", "--advertise-addr="+one.address)
	one.admit(two)
}

// admit lets another node join as a worker.
func (n *node) admit(other *node) {
	GinkgoHelper()
	token := n.docker("swarm", "join-token", "--quiet", "worker")
	other.docker("swarm", "join", "--token="+token, "--advertise-addr="+other.address, n.address+":2377")
	Eventually(func() int { return strings.Count(n.docker("node", "ls", "--format={{.Status}}"), "Ready") }).Should(
		BeNumerically(">=", 2), "nodes that are ready")
}

// reaches waits until a container here reaches another one, by its address or its name.
func (n *node) reaches(container, other string) {
	GinkgoHelper()
	n.succeeds("exec", container, "ping", "-c", "1", "-W", "2", other)
}

// hasPeers waits until the only tunnel sends to exactly these machines.
func (n *node) hasPeers(want ...string) {
	GinkgoHelper()
	Eventually(n.peers).Should(HaveExactElements(want), "peers of the tunnel on %s", n.address)
}

// links returns the links of Graft on the machine.
func (n *node) links() []string {
	GinkgoHelper()
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

// peers returns the machines to which the only tunnel sends frames for unknown MAC addresses.
func (n *node) peers() []string {
	GinkgoHelper()
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

// empty waits until no link of Graft is left.
func (n *node) empty() {
	GinkgoHelper()
	Eventually(n.links).Should(BeEmpty(), "links on %s", n.address)
}

// holdsNothing waits until a ledger holds no address.
func (n *node) holdsNothing(ledger string) {
	GinkgoHelper()
	Eventually(n.inspect).WithArguments(ledger).Should(Equal("No allocations."), "the ledger")
}

// inspect returns what a ledger holds.
func (n *node) inspect(ledger string) (string, error) {
	return n.machine.Run(forever, filepath.Join(root, "bin", "graft"), "ledger", "inspect", ledger)
}

// etcd runs one on the node until the machine is halted, and returns its URL.
func (n *node) etcd() string {
	GinkgoHelper()
	program := filepath.Join(root, ".cache", "tools", "bin", "etcd")
	Expect(program).To(BeAnExistingFile(), "hack/tools/build.sh etcd builds it")
	clients, peers := "http://"+n.address+":2379", "http://"+n.address+":2380"
	go func() {
		_, _ = n.machine.Run(forever, program, "--data-dir="+filepath.Join(n.machine.Folder, "etcd"),
			"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
			"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
			"--log-level=error")
	}()
	Eventually(func() error {
		_, err := n.inspect("--etcd=" + clients)
		return err
	}).Should(Succeed(), "etcd answers")
	return clients
}
