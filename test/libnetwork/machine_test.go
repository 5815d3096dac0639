// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// machine is a server and a controller in one network namespace.
type machine struct {
	*server
	*engine.Process
	output *log
	// initial are the links that the namespace has without networks.
	initial string
	// active are the sandboxes that survive the controller. environment has variables for it.
	active, environment []string
}

// begin starts a machine in this namespace. The server has a profile and additional lines of configuration. The
// machine stops at the end of the spec, or of the container if BeforeAll calls begin.
func begin(profile, configuration string) *machine {
	GinkgoHelper()
	return beginIn("graft", "", profile, configuration)
}

// beginIn starts a machine in a namespace, with a driver of the given name.
func beginIn(driver, space, profile, configuration string) *machine {
	GinkgoHelper()
	m := &machine{output: &log{}}
	m.initial = links(space)
	m.server = serve(driver, space, profile, configuration)
	DeferCleanup(func() {
		m.Process.Stop()
		if CurrentSpecReport().Failed() {
			AddReportEntry("the log of the controller", m.output.String())
			m.reboot() // the next spec needs the initial links
		}
	})
	m.startController()
	return m
}

// startController starts the controller with the state of the previous one.
func (m *machine) startController() {
	GinkgoHelper()
	Expect(within(m.space, func() (err error) {
		m.Process, err = engine.Start(filepath.Join(engines, controller),
			engine.Settings{Data: filepath.Join(m.folder, "data"),
				Run: filepath.Join(m.folder, "run"), Active: m.active, Environment: m.environment}, m.output)
		return err
	})).To(Succeed(), "starting the controller")
}

// restartController kills the controller and starts another one.
func (m *machine) restartController() {
	GinkgoHelper()
	m.Process.Kill()
	m.startController()
}

// restartServer kills the server and starts another one.
func (m *machine) restartServer() {
	GinkgoHelper()
	m.kill()
	m.start()
}

// within calls a function in the namespace of a file. An empty path is this namespace.
func within(space string, do func() error) error {
	if space == "" {
		return do()
	}
	return namespace.In(space, do)
}

// links returns the names of the links in a namespace. An empty path is this namespace.
func links(space string) (names string) {
	GinkgoHelper()
	Expect(within(space, func() (err error) { names, err = namespace.Links(); return err })).To(Succeed())
	return names
}

// network creates a network.
func (m *machine) network(n engine.Network) {
	GinkgoHelper()
	if n.Driver == "" {
		n.Driver = m.driver
	}
	Expect(m.NewNetwork(n)).Error().NotTo(HaveOccurred(), "creating the network %s", n.Name)
}

// endpoint creates an endpoint.
func (m *machine) endpoint(e engine.Endpoint) engine.Interface {
	GinkgoHelper()
	created, err := m.CreateEndpoint(e)
	Expect(err).NotTo(HaveOccurred(), "creating the endpoint %s of %s", e.Name, e.Network)
	return created
}

// container creates an endpoint and a sandbox of the same name, and joins them.
func (m *machine) container(e engine.Endpoint) (engine.Interface, *sandbox) {
	GinkgoHelper()
	created := m.endpoint(e)
	s := m.sandbox(e.Name, e.Published...)
	m.join(e.Network, e.Name, e.Name)
	return created, s
}

// sandbox creates a sandbox.
func (m *machine) sandbox(name string, published ...uint16) *sandbox {
	GinkgoHelper()
	created, err := m.NewSandbox(engine.Box{Name: name, Published: published})
	Expect(err).NotTo(HaveOccurred(), "creating the sandbox %s", name)
	return &sandbox{created.ID, created.Key}
}

// join adds an endpoint to a sandbox.
func (m *machine) join(network, name, sandbox string) {
	GinkgoHelper()
	Expect(m.Join(engine.Attachment{Network: network, Endpoint: name, Sandbox: sandbox})).To(Succeed(),
		"joining %s of %s", name, network)
}

// leave removes an endpoint from the sandbox of the same name.
func (m *machine) leave(network, name string) {
	GinkgoHelper()
	Expect(m.Leave(engine.Attachment{Network: network, Endpoint: name, Sandbox: name})).To(Succeed(),
		"leaving %s of %s", name, network)
}

// deleteEndpoints deletes endpoints of a network.
func (m *machine) deleteEndpoints(network string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(m.DeleteEndpoint(network, name)).To(Succeed(), "deleting the endpoint %s of %s", name, network)
	}
}

// deleteContainers deletes what container has created.
func (m *machine) deleteContainers(network string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		m.leave(network, name)
		m.deleteEndpoints(network, name)
		m.deleteSandbox(name)
	}
}

// deleteSandbox deletes a sandbox, and endpoints that it still has.
func (m *machine) deleteSandbox(name string) {
	GinkgoHelper()
	Expect(m.DeleteSandbox(name)).To(Succeed(), "deleting the sandbox %s", name)
}

// deleteNetworks deletes networks.
func (m *machine) deleteNetworks(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(m.DeleteNetwork(name)).To(Succeed(), "deleting the network %s", name)
	}
}

// expectRefused expects that a request failed, and that the controller shows each of the texts.
func expectRefused(request string, err error, texts ...string) {
	GinkgoHelper()
	Expect(err).To(HaveOccurred(), request)
	for _, text := range texts {
		Expect(err.Error()).To(ContainSubstring(text), "what the controller shows for %s", request)
	}
}

// expectClean expects the initial links and an empty ledger.
func (m *machine) expectClean() {
	GinkgoHelper()
	Expect(links(m.space)).To(Equal(m.initial), "links, compared with those before the spec")
	m.expectNoAllocations()
}

// expectNoAllocations expects an empty ledger.
func (m *machine) expectNoAllocations() {
	GinkgoHelper()
	Expect(m.ledger("inspect")).To(Equal("No allocations."))
}

// allocations returns the owners in the ledger with their addresses, sorted by owner.
func (m *machine) allocations() (all []string) {
	GinkgoHelper()
	for line := range strings.Lines(m.ledger("inspect")) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "docker/") {
			all = append(all, fields[0]+" "+fields[2])
		}
	}
	return all
}

// reboot removes what a reboot removes: links, sandboxes, and files below /run.
func (m *machine) reboot() {
	GinkgoHelper()
	run := filepath.Join(m.folder, "run")
	spaces, err := filepath.Glob(filepath.Join(run, "netns", "*"))
	Expect(err).NotTo(HaveOccurred())
	for _, space := range spaces {
		Expect(namespace.Remove(space)).To(Succeed())
	}
	Expect(os.RemoveAll(run)).To(Succeed())
	for _, name := range strings.Fields(links("")) {
		if strings.Contains(" "+m.initial+" ", " "+name+" ") {
			continue
		}
		// The kernel may remove the link at any time, if the namespace of its peer was removed.
		if link, err := netlink.LinkByName(name); err == nil {
			Expect(netlink.LinkDel(link)).To(Or(Succeed(), MatchError(syscall.ENODEV)))
		}
	}
}
