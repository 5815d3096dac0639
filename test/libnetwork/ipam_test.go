// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// pooled is a document with addresses.
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
    rest: 0s
  spare:
    nodes: [worker-1]
    subnets: [{prefix: 10.65.0.0/24, ranges: [10.65.0.8-10.65.0.11], gateway: 10.65.0.1}]
    rest: 0s
  small:
    nodes: [worker-1]
    subnets: [{prefix: 10.66.0.0/29}]
    rest: 0s
profiles:
  acme.com/overlay: {pools: [overlay, spare]}
  acme.com/spare: {pools: [spare]}
  acme.com/closed: {pools: [spare]}
` + linked + `deny:
- name: closed
  when: ${ request.contract == "docker" && request.profile == "acme.com/closed" }
  message: "nobody has addresses of ${ request.profile } here"
`

// overlay is a network with addresses of the profile's pools.
func overlay(name string) engine.Network {
	return engine.Network{
		Name: name, IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/overlay"}, Options: map[string]string{"profile": "acme.com/overlay"},
	}
}

// owners are those of the ledger's rows, with the addresses that they hold, in order.
func (w *world) owners() (all []string) {
	w.t.Helper()
	said := w.ledger("inspect")
	for line := range strings.Lines(said) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "docker/") {
			all = append(all, fields[0]+" "+fields[2])
		}
	}
	return all
}

// TestAddressesFromPools allocates the addresses of containers from the pools of a profile.
func TestAddressesFromPools(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		n := overlay("net")
		n.WithSix = true
		w.network(n)
		made, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other", Four: "10.64.0.99", Six: "fd00:64::99"})
		seen := one.one()
		if !strings.HasPrefix(seen.MAC, "0a:58:") || seen.MAC != made.MAC {
			t.Errorf("the container's MAC address is %s, Docker reports %s", seen.MAC, made.MAC)
		}
		want := view{"eth0", seen.MAC, 1450, []string{"10.64.0.2/24", "fd00:64::2/64"},
			[]string{"10.112.0.0/12", "10.96.0.0/12 via 10.64.0.254", "default via 10.64.0.1", "default6 via fd00:64::1"}}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		for _, address := range []string{"10.64.0.99/24", "fd00:64::99/64"} {
			one.reaches(other, address)
		}
		if owners := w.owners(); len(owners) == 0 || !strings.HasPrefix(owners[0], "docker/pool/worker-1/local/overlay/10.64.0.0/24/") {
			t.Errorf("the ledger has %q", owners)
		}
		_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", Four: "10.64.0.99"})
		w.refused("an address that is held", err, "10.64.0.99")
		more := overlay("more")
		more.Driver, more.Four = "graft", []engine.Pool{{Subnet: "10.64.0.0/24"}}
		_, err = w.NewNetwork(more)
		w.refused("a network with a subnet that another has", err, "10.64.0.0/24")
		t.Log(err)
		w.detach("net", "one", "other")
		w.remove("net")
		w.clean()
	})
}

// TestIPv6Only has a network without IPv4.
func TestIPv6Only(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		n := overlay("net")
		n.NoFour, n.WithSix = true, true
		w.network(n)
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		want := view{"eth0", one.one().MAC, 1450, []string{"fd00:64::2/64"}, []string{"default6 via fd00:64::1"}}
		if diff := cmp.Diff(want, one.one()); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		one.reaches(other, "fd00:64::3/64")
		w.detach("net", "one", "other")
		w.remove("net")
		w.clean()
	})
}

// TestPoolsOverlapLinks puts links of the machine in the way of pools: the controller repeats its request until it gets
// a free pool, and gets an error in the end.
func TestPoolsOverlapLinks(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		defer obstacle(t, "obstacle0", "10.64.0.77/25")()
		w.before = w.links("")
		w.network(overlay("net"))
		given := w.endpoint(engine.Endpoint{Network: "net", Name: "one"})
		if given.Four != "10.65.0.8/24" {
			t.Errorf("the address is %s", given.Four)
		}
		n := overlay("more")
		n.Driver = "graft"
		_, err := w.NewNetwork(n)
		w.refused("a network without a pool that is free", err, "subnet")
		w.try("deleting", w.DeleteEndpoint("net", "one"))
		w.remove("net")

		// addresses that were held until now are released, and can be requested by name
		n = overlay("named")
		n.Four = []engine.Pool{{Subnet: "10.64.0.0/24", Range: "10.64.0.128/25"}}
		w.network(n)
		if given := w.endpoint(engine.Endpoint{Network: "named", Name: "one"}); !strings.HasPrefix(given.Four, "10.64.0.1") || given.Four < "10.64.0.128" {
			t.Errorf("the address of the range is %s", given.Four)
		}
		w.try("deleting", w.DeleteEndpoint("named", "one"))
		w.remove("named")
		w.clean()
	})
}

// obstacle creates a link with an address, and returns a function that removes it.
func obstacle(t *testing.T, name, address string) (remove func()) {
	t.Helper()
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{name, name + "p"} {
		found, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(found); err != nil {
			t.Fatal(err)
		}
	}
	if address != "" {
		parsed, err := netlink.ParseAddr(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.AddrAdd(link, parsed); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := netlink.LinkDel(link); err != nil {
			t.Error(err)
		}
	}
}

// TestPoolExhausted allocates all addresses of a pool, one of them auxiliary, and gets an error afterwards. The
// auxiliary one is not freed as forgotten.
func TestPoolExhausted(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, sweeping)
		n := engine.Network{Name: "net", IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/spare"},
			Options: map[string]string{"profile": "acme.com/spare"},
			Four:    []engine.Pool{{Subnet: "10.65.0.0/24", Auxiliary: map[string]string{"router": "10.65.0.9"}}}}
		w.network(n)
		var given []string
		for _, name := range []string{"a", "b", "c"} {
			given = append(given, w.endpoint(engine.Endpoint{Network: "net", Name: name}).Four)
		}
		if diff := cmp.Diff([]string{"10.65.0.8/24", "10.65.0.10/24", "10.65.0.11/24"}, given); diff != "" {
			t.Errorf("given (-want +got)\n%s", diff)
		}
		time.Sleep(3500 * time.Millisecond) // more than two sweeps, and the grace
		_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "d"})
		w.refused("one more", err, "exhausted")
		for _, name := range []string{"a", "b", "c"} {
			w.try("deleting", w.DeleteEndpoint("net", name))
		}
		w.remove("net")
		w.clean()
	})
}

// TestGatewayFromPool uses a pool without a gateway: one of its addresses becomes the permanent gateway of the machine.
func TestGatewayFromPool(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, sweeping)
		n := engine.Network{Name: "net", IPAM: "graft", IPAMOptions: map[string]string{"pool": "small"}}
		w.network(n)
		time.Sleep(3500 * time.Millisecond)
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		seen := one.one()
		if diff := cmp.Diff(view{"eth0", seen.MAC, 1500, []string{"10.66.0.2/29"}, []string{"default via 10.66.0.1"}}, seen); diff != "" {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		one.reaches(&box{t: t}, "10.66.0.1/29")
		w.active = []string{one.id}
		w.again()
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		one.reaches(other, "10.66.0.3/29")
		w.detach("net", "one", "other")
		w.remove("net")
		w.clean()
	})
}

// TestEndpointsOwnAddresses has endpoints that own their addresses: the IPAM driver is null.
func TestEndpointsOwnAddresses(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		w.network(engine.Network{Name: "net", IPAM: "null", Options: map[string]string{"profile": "acme.com/overlay"}})
		made, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		seen := one.one()
		want := view{"eth0", seen.MAC, 1450, []string{"10.64.0.2/24", "fd00:64::2/64"},
			[]string{"10.112.0.0/12", "10.96.0.0/12 via 10.64.0.254", "default via 10.64.0.1", "default6 via fd00:64::1"}}
		if diff := cmp.Diff(want, seen); diff != "" || !strings.HasPrefix(made.MAC, "0a:58:") {
			t.Errorf("the container sees (-want +got)\n%s", diff)
		}
		for _, address := range other.one().Addresses {
			one.reaches(other, address)
		}
		if owners := w.owners(); len(owners) != 2 || !strings.HasPrefix(owners[0], "docker/endpoint/") {
			t.Errorf("the ledger has %q", owners)
		}
		w.detach("net", "one", "other")
		w.empty()
		w.remove("net")
		w.clean()
	})
}
