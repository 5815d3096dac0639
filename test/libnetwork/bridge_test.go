// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// document is that of a server that has no addresses to give.
const document = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: docker}
profiles:
` + linked

// linked are its profiles.
const linked = `  acme.com/flat: {link: {kind: bridge, prefix: net}, config: {interface: {mtu: 1420}}}
  acme.com/apart: {link: {isolated: true}}
`

// Common properties of the networks in these tests.
var (
	four = []engine.Pool{{Subnet: "172.31.9.0/24", Gateway: "172.31.9.1"}}
	six  = []engine.Pool{{Subnet: "fd00:9::/64", Gateway: "fd00:9::1"}}
)

// bridges are networks with two connected endpoints. The first endpoint is compared with the given view; an empty MAC
// address matches any.
var bridges = map[string]struct {
	network engine.Network
	one     engine.Endpoint
	other   engine.Endpoint
	want    view
	// named is its name where the controller knows that users may say one.
	named string
}{
	"IPv4 with a chosen address and MAC": {
		network: engine.Network{Four: four},
		one:     engine.Endpoint{Four: "172.31.9.10", MAC: "02:42:00:00:00:0a"},
		want:    view{"eth0", "02:42:00:00:00:0a", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
	},
	"Docker chooses the subnet": {
		network: engine.Network{Options: map[string]string{"mtu": "1400"}},
		want:    view{"eth0", "", 1400, []string{"172.17.0.2/16"}, []string{"default via 172.17.0.1"}},
	},
	"IPv4 and IPv6": {
		network: engine.Network{Four: four, Six: six, WithSix: true},
		one:     engine.Endpoint{Four: "172.31.9.10", Six: "fd00:9::a"},
		want: view{"eth0", "", 1500, []string{"172.31.9.10/24", "fd00:9::a/64"},
			[]string{"default via 172.31.9.1", "default6 via fd00:9::1"}},
	},
	"IPv6 only": {
		network: engine.Network{Six: six, WithSix: true, NoFour: true},
		one:     engine.Endpoint{Six: "fd00:9::a"},
		want:    view{"eth0", "", 1500, []string{"fd00:9::a/64"}, []string{"default6 via fd00:9::1"}},
	},
	"an endpoint chooses its interface name": {
		network: engine.Network{Four: four},
		one:     engine.Endpoint{Four: "172.31.9.10", Options: map[string]string{"com.docker.network.endpoint.ifname": "net7"}},
		want:    view{"eth0", "", 1500, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
		named:   "net7",
	},
	"a profile sets prefix and MTU": {
		network: engine.Network{Four: four, Options: map[string]string{"profile": "acme.com/flat"}},
		one:     engine.Endpoint{Four: "172.31.9.10"},
		want:    view{"net0", "", 1420, []string{"172.31.9.10/24"}, []string{"default via 172.31.9.1"}},
	},
	"an internal network has no default route": {
		network: engine.Network{Four: four, Internal: true},
		one:     engine.Endpoint{Four: "172.31.9.10"},
		want:    view{"eth0", "", 1500, []string{"172.31.9.10/24"}, nil},
	},
	"an isolated network has no default route": {
		network: engine.Network{Four: four, Options: map[string]string{"profile": "acme.com/apart"}},
		one:     engine.Endpoint{Four: "172.31.9.10"},
		want:    view{"eth0", "", 1500, []string{"172.31.9.10/24"}, nil},
	},
	"addresses from the second of two subnets": {
		network: engine.Network{Four: append(four, engine.Pool{Subnet: "172.31.10.0/24", Gateway: "172.31.10.254"})},
		one:     engine.Endpoint{Four: "172.31.10.10"},
		other:   engine.Endpoint{Four: "172.31.10.11"},
		want:    view{"eth0", "", 1500, []string{"172.31.10.10/24"}, []string{"default via 172.31.10.254"}},
	},
}

// TestBridge creates networks with two containers each.
func TestBridge(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		for name, c := range bridges {
			t.Run(name, func(t *testing.T) {
				c.network.Name, c.one.Network, c.other.Network, c.one.Name, c.other.Name = "net", "net", "net", "one", "other"
				w := w.of(t)
				w.network(c.network)
				_, one := w.attach(c.one)
				_, other := w.attach(c.other)
				if c.named != "" && version != "docker28" {
					c.want.Name = c.named
				}
				seen := one.one()
				if c.want.MAC == "" {
					c.want.MAC = seen.MAC
				}
				if diff := cmp.Diff(c.want, seen, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("the container sees (-want +got)\n%s", diff)
				}
				for _, address := range other.one().Addresses {
					one.reaches(other, address)
				}
				for _, route := range seen.Routes {
					_, gateway, _ := strings.Cut(route, " via ")
					one.reaches(&box{t: t}, gateway+"/0") // the machine
				}
				w.detach("net", "one", "other")
				w.remove("net")
				w.clean()
			})
		}
	})
}

// TestAuxiliaryAddressesAreNotAllocated allocates all addresses of a range except the auxiliary ones.
func TestAuxiliaryAddressesAreNotAllocated(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		w.network(engine.Network{Name: "net", Four: []engine.Pool{{
			Subnet: "172.31.9.0/24", Range: "172.31.9.0/29", Gateway: "172.31.9.1", Auxiliary: map[string]string{"router": "172.31.9.3"},
		}}})
		var given []string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			given = append(given, w.endpoint(engine.Endpoint{Network: "net", Name: name}).Four)
		}
		if diff := cmp.Diff([]string{"172.31.9.2/24", "172.31.9.4/24", "172.31.9.5/24", "172.31.9.6/24", "172.31.9.7/24"}, given); diff != "" {
			t.Errorf("given (-want +got)\n%s", diff)
		}
		_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "f", Four: "172.31.9.3"})
		w.refused("an endpoint with the router's address", err)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.try("deleting", w.DeleteEndpoint("net", name))
		}
		w.remove("net")
		w.clean()
	})
}

// TestContainerInTwoNetworks connects a container to two networks and removes it from one.
func TestContainerInTwoNetworks(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		w.network(engine.Network{Name: "one", Four: four})
		w.network(engine.Network{Name: "two", Four: []engine.Pool{{Subnet: "172.31.10.0/24", Gateway: "172.31.10.1"}}})
		_, b := w.attach(engine.Endpoint{Network: "one", Name: "c"})
		w.endpoint(engine.Endpoint{Network: "two", Name: "c"})
		w.join("two", "c", "c")
		if seen := b.see(); len(seen) != 2 || seen[0].Name != "eth0" || seen[1].Name != "eth1" || len(seen[0].Routes)+len(seen[1].Routes) != 1 {
			t.Errorf("the container sees %v", seen)
		}
		w.try("leaving", w.Leave(engine.Attachment{Network: "one", Endpoint: "c", Sandbox: "c"}))
		if seen := b.one(); seen.Name != "eth1" || cmp.Diff([]string{"default via 172.31.10.1"}, seen.Routes) != "" {
			t.Errorf("after leaving, the container sees %v", seen)
		}
		// the endpoint that has left can come back, with the same address
		w.join("one", "c", "c")
		if seen := b.see(); len(seen) != 2 {
			t.Errorf("after coming back, the container sees %v", seen)
		}
		w.try("leaving", w.Leave(engine.Attachment{Network: "one", Endpoint: "c", Sandbox: "c"}))
		w.try("deleting", w.DeleteEndpoint("one", "c"))
		w.detach("two", "c")
		w.remove("one", "two")
		w.clean()
	})
}
