// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

var _ = Describe("a fault of the server", func() {
	// request requests an endpoint in the background.
	request := func(m *machine) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
			result <- err
		}()
		return result
	}

	It("during a request fails the request, which the controller repeats without a body, and nothing is left", func() {
		m := begin(pooled, sweeping)
		m.network(fromPool("net", "acme.com/overlay"))
		var err error
		for wait := 200 * time.Millisecond; err == nil &&
			wait < patience; wait *= 2 { // until the request arrives before the kill
			m.signal(syscall.SIGSTOP)
			result := request(m)
			time.Sleep(wait)
			m.restartServer()
			if err = <-result; err == nil {
				m.deleteEndpoints("net", "one")
			}
		}
		expectRefused("the endpoint", err, "body")
		created, _ := m.container(engine.Endpoint{Network: "net", Name: "one"})
		Expect(created.Four).NotTo(BeEmpty(), "the address of the repeated endpoint")
		m.deleteContainers("net", "one")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("before a request delays the request until the server runs", func() {
		m := begin(pooled, "")
		m.network(fromPool("net", "acme.com/overlay"))
		m.kill()
		result := request(m)
		time.Sleep(100 * time.Millisecond)
		m.start()
		err := <-result
		if err != nil && strings.Contains(err.Error(), "the request has no body") {
			// The controller had not noticed the closed connection, and wrote its request to it. Users repeat the command.
			_, err = m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
		}
		Expect(err).NotTo(HaveOccurred(), "the endpoint")
		m.sandbox("one")
		m.join("net", "one", "one")
		m.restartServer()
		m.deleteContainers("net", "one")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("delays a request while the server is paused", func() {
		m := begin(pooled, "")
		m.network(fromPool("net", "acme.com/overlay"))
		m.signal(syscall.SIGSTOP)
		result := request(m)
		time.Sleep(time.Second)
		m.signal(syscall.SIGCONT)
		Expect(<-result).To(Succeed(), "the endpoint")
		m.sandbox("one")
		m.join("net", "one", "one")
		m.deleteSandbox("one") // and its endpoint
		m.expectNoAllocations()
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("between any two requests of containers changes nothing", func() {
		m := begin(pooled, "")
		m.network(fromPool("net", "acme.com/spare"))
		m.restartServer()
		m.endpoint(engine.Endpoint{Network: "net", Name: "one"})
		m.restartServer()
		one := m.sandbox("one")
		m.join("net", "one", "one")
		m.restartServer()
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other"})
		before := one.onlyInterface()
		one.expectReach(other, other.onlyInterface().Addresses[0])
		m.restartServer()
		Expect(one.onlyInterface()).To(Equal(before), "the container after a restart")
		one.expectReach(other, other.onlyInterface().Addresses[0])
		m.leave("net", "one")
		m.restartServer()
		m.join("net", "one", "one")
		one.expectReach(other, other.onlyInterface().Addresses[0])
		m.leave("net", "one")
		m.deleteEndpoints("net", "one")
		m.restartServer()
		m.deleteSandbox("one")
		m.deleteContainers("net", "other")
		m.restartServer()
		m.deleteNetworks("net")
		m.restartServer()
		m.expectClean()
	})

	It("during many requests leaves neither links nor allocations", func() {
		m := begin(pooled, longSweeping)
		m.network(fromPool("net", "acme.com/overlay"))
		Expect(m.Load(engine.Load{Network: "net", Endpoints: 64, Callers: 64, Prefix: "m"})).Error().NotTo(HaveOccurred(),
			"64 containers at once")
		m.expectNoAllocations()

		for _, count := range []int{3, 20} {
			var all sync.WaitGroup
			all.Go(func() { // the restart fails some of them
				_, _ = m.Load(engine.Load{Network: "net", Endpoints: 32, Callers: 8, Prefix: "k"})
			})
			Eventually(func() int { return len(strings.Fields(links(""))) }).Should(BeNumerically(">", count),
				"links before the restart")
			m.restartServer()
			all.Wait()
			for i := range 32 {
				name := fmt.Sprint("k", i)
				_ = m.DeleteSandbox(name)
				_ = m.DeleteEndpoint("net", name)
			}
		}
		Eventually(m.allocations).Should(BeEmpty(), "allocations after sweeps")
		m.deleteNetworks("net")
		Eventually(func() string { return links("") }).Should(Equal(m.initial), "links after sweeps")
		m.expectClean()
	})
})

var _ = Describe("a restart of the controller", func() {
	It("with its containers keeps their addresses; without them, releases the addresses", func() {
		m := begin(pooled, "")
		n := fromPool("net", "acme.com/overlay")
		n.WithSix = true
		n.Four = []engine.Pool{{Subnet: "10.64.0.0/24", Auxiliary: map[string]string{"router": "10.64.0.2"}}}
		m.network(n)
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other"})
		before, allocations := one.onlyInterface(), m.allocations()

		m.active = []string{one.id, other.id}
		for range 2 { // the second restart reads what the first one has stored
			m.restartController()
			Expect(m.allocations()).To(Equal(allocations), "the ledger after a restart")
			Expect(one.onlyInterface()).To(Equal(before), "the container after a restart")
			one.expectReach(other, other.onlyInterface().Addresses[0])
		}
		Expect(m.endpoint(engine.Endpoint{Network: "net", Name: "third"}).Four).To(Equal("10.64.0.5/24"))
		m.deleteEndpoints("net", "third")

		By("killing server, controller and containers")
		m.kill()
		m.active = nil
		m.Process.Kill()
		m.start()
		m.startController()
		_, err := m.Endpoint("net", "one")
		expectRefused("the endpoint of a killed container", err)
		_, again := m.container(engine.Endpoint{Network: "net", Name: "again", Four: "10.64.0.3"})
		Expect(again.onlyInterface().Addresses).To(Equal([]string{"10.64.0.3/24", "fd00:64::2/64"}),
			"the released address, requested")
		m.ledger("verify")
		m.deleteContainers("net", "again")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("removes containers that it had not stored", func() {
		m := begin(pooled, longSweeping)
		m.network(fromPool("net", "acme.com/overlay"))
		m.network(engine.Network{Name: "plain", Four: four})
		process := m.Process
		for _, network := range []string{"net", "plain"} {
			go func() {
				_, _ = process.Load(engine.Load{Network: network, Endpoints: 64, Callers: 16, Prefix: network})
			}()
		}
		time.Sleep(700 * time.Millisecond)
		m.restartController()
		_, later := m.container(engine.Endpoint{Network: "net", Name: "later"})
		Expect(later.onlyInterface().Addresses).To(HaveLen(1), "addresses of a later container")
		Eventually(m.allocations).Should(HaveLen(1), "allocations after sweeps")
		Eventually(func() []string { return strings.Fields(links("")) }).Should(HaveLen(3),
			"two bridges and a port after sweeps")
		m.deleteContainers("net", "later")
		m.deleteNetworks("net", "plain")
		m.expectClean()
	})
})

var _ = Describe("a reboot of the machine", func() {
	It("removes the containers; networks return with the next container", func() {
		m := begin(pooled, sweeping)
		m.network(fromPool("net", "acme.com/overlay"))
		m.network(engine.Network{Name: "plain", Four: four})
		m.container(engine.Endpoint{Network: "net", Name: "one"})
		m.container(engine.Endpoint{Network: "plain", Name: "two"})
		m.kill()
		m.Process.Kill()
		m.reboot()
		m.start()
		m.startController()
		_, one := m.container(engine.Endpoint{Network: "net", Name: "three"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "four"})
		one.expectReach(other, other.onlyInterface().Addresses[0])
		m.container(engine.Endpoint{Network: "plain", Name: "five"})
		Eventually(m.allocations).Should(HaveLen(2), "allocations after sweeps")
		m.deleteContainers("net", "three", "four")
		m.deleteContainers("plain", "five")
		m.deleteNetworks("net", "plain")
		m.expectClean()
	})
})
