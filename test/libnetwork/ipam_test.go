// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// pooled is a profile with pools of addresses.
const pooled = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: pooled}
pools:
  overlay:
    nodes: [worker-1]
    subnets: [{prefix: 10.64.0.0/24, gateway: 10.64.0.1}, {prefix: "fd00:64::/64", gateway: "fd00:64::1"}]
    routes: [{destination: 10.96.0.0/12, gateway: 10.64.0.254}, {destination: 10.112.0.0/12, scope: 253}]
    mtu: 1450
    macPrefix: "0a:58"
    quarantine: 0s
  spare:
    nodes: [worker-1]
    subnets: [{prefix: 10.65.0.0/24, ranges: [10.65.0.8-10.65.0.11], gateway: 10.65.0.1}]
    quarantine: 0s
  small:
    nodes: [worker-1]
    subnets: [{prefix: 10.66.0.0/29}]
    quarantine: 0s
profiles:
  acme.com/overlay: {pools: [overlay, spare]}
  acme.com/spare: {pools: [spare]}
  acme.com/closed: {pools: [spare]}
` + linkProfiles + `deny:
- name: closed
  when: ${ request.contract == "docker" && request.profile == "acme.com/closed" }
  message: "${ request.profile } is not available here"
`

// Configurations with a sweep each second. It removes endpoints that the controller has forgotten after a grace period.
// The longer one is for many requests at once, because an address may wait for its endpoint.
const (
	sweeping     = "docker: {sweep: {period: 1s, grace: 2s}, kernelTimeout: 1s}\n"
	longSweeping = "docker: {sweep: {period: 1s, grace: 5s}, kernelTimeout: 2500ms}\n"
)

// afterSweeps is longer than two sweeps and the grace period of sweeping.
const afterSweeps = 3500 * time.Millisecond

// fromPool returns a network with addresses of the first free pool of a profile.
func fromPool(name, profile string) engine.Network {
	return engine.Network{
		Name: name, IPAM: "graft", IPAMOptions: map[string]string{"profile": profile},
		Options: map[string]string{"profile": profile},
	}
}

var _ = Describe("the IPAM driver", func() {
	overlayRoutes := []string{"10.112.0.0/12", "10.96.0.0/12 via 10.64.0.254", "default via 10.64.0.1",
		"default6 via fd00:64::1"}

	It("allocates addresses from the pools of a profile, none of them twice", func() {
		m := begin(pooled, "")
		n := fromPool("net", "acme.com/overlay")
		n.WithSix = true
		m.network(n)
		created, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other", Four: "10.64.0.99", Six: "fd00:64::99"})
		got := one.onlyInterface()
		Expect(got.MAC).To(And(HavePrefix("0a:58:"), Equal(created.MAC)), "the MAC address of the container")
		Expect(got).To(Equal(view{"eth0", got.MAC, 1450, []string{"10.64.0.2/24", "fd00:64::2/64"}, overlayRoutes}))
		for _, address := range []string{"10.64.0.99/24", "fd00:64::99/64"} {
			one.expectReach(other, address)
		}
		Expect(m.allocations()).To(ContainElement(HavePrefix("docker/pool/worker-1/local/overlay/10.64.0.0/24/")),
			"the ledger")
		_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", Four: "10.64.0.99"})
		expectRefused("an allocated address", err, "10.64.0.99")
		more := fromPool("more", "acme.com/overlay")
		more.Driver, more.Four = "graft", []engine.Pool{{Subnet: "10.64.0.0/24"}}
		_, err = m.NewNetwork(more)
		expectRefused("the subnet of another network", err, "10.64.0.0/24")
		m.deleteContainers("net", "one", "other")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("allocates addresses of IPv6 only", func() {
		m := begin(pooled, "")
		n := fromPool("net", "acme.com/overlay")
		n.NoFour, n.WithSix = true, true
		m.network(n)
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other"})
		got := one.onlyInterface()
		Expect(got).To(Equal(view{"eth0", got.MAC, 1450, []string{"fd00:64::2/64"}, []string{"default6 via fd00:64::1"}}))
		one.expectReach(other, "fd00:64::3/64")
		m.deleteContainers("net", "one", "other")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("skips pools that overlap links of the machine, and fails if no pool is left", func() {
		m := begin(pooled, "")
		addLink("obstacle0", "10.64.0.77/25")
		m.initial = links("")
		m.network(fromPool("net", "acme.com/overlay"))
		Expect(m.endpoint(engine.Endpoint{Network: "net", Name: "one"}).Four).To(Equal("10.65.0.8/24"),
			"an address of the second pool")
		n := fromPool("more", "acme.com/overlay")
		n.Driver = "graft"
		_, err := m.NewNetwork(n)
		expectRefused("a network without a free pool", err, "subnet")
		m.deleteEndpoints("net", "one")
		m.deleteNetworks("net")

		By("requesting a range of the first pool that does not overlap")
		n = fromPool("named", "acme.com/overlay")
		n.Four = []engine.Pool{{Subnet: "10.64.0.0/24", Range: "10.64.0.128/25"}}
		m.network(n)
		Expect(m.endpoint(engine.Endpoint{Network: "named",
			Name: "one"}).Four).To(MatchRegexp(`^10\.64\.0\.(12[89]|1[3-9]\d)/24$`))
		m.deleteEndpoints("named", "one")
		m.deleteNetworks("named")
		m.expectClean()
	})

	It("reports an exhausted pool, and keeps its auxiliary address during sweeps", func() {
		m := begin(pooled, sweeping)
		n := fromPool("net", "acme.com/spare")
		n.Four = []engine.Pool{{Subnet: "10.65.0.0/24", Auxiliary: map[string]string{"router": "10.65.0.9"}}}
		m.network(n)
		var allocated []string
		for _, name := range []string{"a", "b", "c"} {
			allocated = append(allocated, m.endpoint(engine.Endpoint{Network: "net", Name: name}).Four)
		}
		Expect(allocated).To(Equal([]string{"10.65.0.8/24", "10.65.0.10/24", "10.65.0.11/24"}))
		time.Sleep(afterSweeps)
		_, err := m.CreateEndpoint(engine.Endpoint{Network: "net", Name: "d"})
		expectRefused("a fourth endpoint", err, "exhausted")
		m.deleteEndpoints("net", "a", "b", "c")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("allocates the gateway of a pool without one, and keeps it during sweeps and restarts of Docker", func() {
		m := begin(pooled, sweeping)
		m.network(engine.Network{Name: "net", IPAM: "graft", IPAMOptions: map[string]string{"pool": "small"}})
		time.Sleep(afterSweeps)
		_, one := m.container(engine.Endpoint{Network: "net", Name: "one"})
		got := one.onlyInterface()
		Expect(got).To(Equal(view{"eth0", got.MAC, 1500, []string{"10.66.0.2/29"}, []string{"default via 10.66.0.1"}}))
		one.expectReach(host, "10.66.0.1/29")
		m.active = []string{one.id}
		m.restartController()
		_, other := m.container(engine.Endpoint{Network: "net", Name: "other"})
		one.expectReach(other, "10.66.0.3/29")
		m.deleteContainers("net", "one", "other")
		m.deleteNetworks("net")
		m.expectClean()
	})

	It("is required by a profile with pools", func() {
		m := begin(pooled, "")
		_, err := m.NewNetwork(engine.Network{Name: "net", Driver: "graft", IPAM: "null",
			Options: map[string]string{"profile": "acme.com/overlay"}})
		expectRefused("a network without subnets", err, "use --ipam-driver graft")
		m.expectClean()
	})
})
