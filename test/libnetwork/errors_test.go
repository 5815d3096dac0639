// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// mistakes are impossible networks with the errors for Docker's users.
var mistakes = map[string]struct {
	network engine.Network
	says    []string
}{
	"unknown option":                  {engine.Network{Options: map[string]string{"parrent": "eth0"}}, []string{"parrent", "parent"}},
	"unknown kind":                    {engine.Network{Options: map[string]string{"kind": "bond"}}, []string{"bond", "macvlan"}},
	"parent interface does not exist": {engine.Network{Options: map[string]string{"kind": "macvlan", "parent": "nothing0"}}, []string{"nothing0"}},
	"macvlan without a parent":        {engine.Network{Options: map[string]string{"kind": "macvlan"}}, []string{"parent"}},
	"MTU is not a number":             {engine.Network{Options: map[string]string{"mtu": "big"}}, []string{"mtu", "68"}},
	"vxlan without a VNI":             {engine.Network{Options: map[string]string{"kind": "vxlan"}}, []string{"vni"}},
	"unknown profile":                 {engine.Network{Options: map[string]string{"profile": "acme.com/none"}}, []string{"acme.com/none"}},
	"option contradicts the profile": {engine.Network{Options: map[string]string{"profile": "acme.com/flat", "kind": "macvlan", "parent": "lo"}},
		[]string{"acme.com/flat", "kind"}},
	"denied by a rule of the profile": {
		engine.Network{IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/closed"},
			Options: map[string]string{"profile": "acme.com/closed"}}, []string{"nobody has addresses of acme.com/closed here"},
	},
	"profile with pools, addresses from Docker": {engine.Network{Options: map[string]string{"profile": "acme.com/overlay"},
		Four: []engine.Pool{{Subnet: "172.31.9.0/24"}}}, []string{"--ipam-driver graft"}},
	"subnet overlaps a pool, addresses from Docker": {engine.Network{Four: []engine.Pool{{Subnet: "10.64.0.128/25"}}}, []string{"overlay", "--ipam-driver graft"}},
	"subnet that no pool has": {
		engine.Network{IPAM: "graft", IPAMOptions: map[string]string{"profile": "acme.com/overlay"}, Options: map[string]string{"profile": "acme.com/overlay"},
			Four: []engine.Pool{{Subnet: "10.99.0.0/24"}}}, []string{"10.99.0.0/24"},
	},
	"IPAM driver graft without a profile or pool": {engine.Network{IPAM: "graft"}, []string{"profile"}},
}

// TestNetworkRefused requests impossible networks. Each is refused, and nothing of it is left.
func TestNetworkRefused(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		for name, c := range mistakes {
			t.Run(name, func(t *testing.T) {
				w := w.of(t)
				c.network.Name, c.network.Driver = "net", "graft"
				_, err := w.NewNetwork(c.network)
				w.refused("the network", err, append(c.says, "remote: ")...)
				if err != nil {
					t.Log(err)
				} else {
					w.remove("net")
				}
				w.clean()
			})
		}
	})
}

// TestPublishedPortsRefused requests published ports, which are not supported.
func TestPublishedPortsRefused(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		w.network(engine.Network{Name: "net", Four: four})
		w.sandbox("one", 8080)
		if _, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one", Published: []uint16{8080}}); err == nil {
			w.refused("joining", w.Join(engine.Attachment{Network: "net", Endpoint: "one", Sandbox: "one"}), "ports")
			w.try("deleting", w.DeleteEndpoint("net", "one"))
		} else {
			w.refused("the endpoint", err, "ports")
		}
		w.try("deleting", w.DeleteSandbox("one"))
		w.remove("net")
		w.clean()
	})
}
