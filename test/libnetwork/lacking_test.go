// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package libnetwork

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// lacking are networks of kinds that many kernels have as modules only, so that a machine may lack them; test/system/uml runs this where none is lacking.
var lacking = map[string]struct {
	options map[string]string
	// vlan is where the router is; 0: on the link itself.
	vlan int
	// each are options of each endpoint.
	each map[string]string
	// shares says that containers have the MAC address of the link, lonely that there can be one of them, and far that they have no router.
	shares, lonely, far bool
	routes              []string
}{
	"ipvlan":            {options: map[string]string{"kind": "ipvlan"}, shares: true, routes: []string{"default via 172.31.9.1"}},
	"ipvlan l3":         {options: map[string]string{"kind": "ipvlan", "mode": "l3"}, shares: true, far: true, routes: []string{"default"}},
	"ipvlan l3s":        {options: map[string]string{"kind": "ipvlan", "mode": "l3s"}, shares: true, far: true, routes: []string{"default"}},
	"ipvlan on a VLAN":  {options: map[string]string{"kind": "ipvlan", "vlan": "42"}, vlan: 42, shares: true, routes: []string{"default via 172.31.9.1"}},
	"macvlan on a VLAN": {options: map[string]string{"kind": "macvlan", "vlan": "42"}, vlan: 42, routes: []string{"default via 172.31.9.1"}},
	"bridge on a VLAN": {options: map[string]string{"kind": "bridge", "vlan": "42", "gateway": "outside"}, vlan: 42,
		routes: []string{"default via 172.31.9.1"}},
	"VLAN": {options: map[string]string{"kind": "vlan"}, vlan: 43, each: map[string]string{"vlan": "43"}, lonely: true,
		routes: []string{"default via 172.31.9.1"}},
}

// TestKindsOfKernelModules connects two containers in a network of each kind to each other and to their router at the
// other end of a link.
func TestKindsOfKernelModules(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		for name, c := range lacking {
			t.Run(name, func(t *testing.T) {
				w := begin(t, version, document, "")
				defer obstacle(t, "up0", "")()
				router(t, "up0p", c.vlan, "172.31.9.1/24")
				w.before = w.links("")
				options := maps.Clone(c.options)
				options["parent"] = "up0"
				w.network(engine.Network{Name: "net", Four: four, Options: options})
				made, one := w.attach(engine.Endpoint{Network: "net", Name: "one", Four: "172.31.9.10", Options: c.each})
				want := view{"eth0", made.MAC, 1500, []string{"172.31.9.10/24"}, c.routes}
				if c.shares {
					want.MAC = address(t, "up0")
				}
				if diff := cmp.Diff(want, one.one(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("the container sees (-want +got)\n%s", diff)
				}
				if !c.far {
					one.reaches(&box{t: t}, "172.31.9.1/24")
				}
				names := []string{"one"}
				if !c.lonely {
					_, other := w.attach(engine.Endpoint{Network: "net", Name: "other", Four: "172.31.9.11", Options: c.each})
					one.reaches(other, "172.31.9.11/24")
					other.reaches(one, "172.31.9.10/24")
					names = append(names, "other")
				}
				if c.shares && !c.lonely {
					_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "third", MAC: "02:42:00:00:00:0a", Options: c.each})
					w.refused("a MAC address of its own", err, "MAC address")
				}
				w.kill()
				w.start()
				w.detach("net", names...)
				w.remove("net")
				w.clean()
			})
		}
	})
}

// router gives the other end of a link an address, in a VLAN of it if there is one.
func router(t *testing.T, name string, vlan int, address string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if vlan != 0 {
		sub := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "router", ParentIndex: link.Attrs().Index}, VlanId: vlan}
		if err := netlink.LinkAdd(sub); err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(sub); err != nil {
			t.Fatal(err)
		}
		link = sub
	}
	parsed, err := netlink.ParseAddr(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.AddrAdd(link, parsed); err != nil {
		t.Fatal(err)
	}
}

// address is the MAC address of a link of this machine.
func address(t *testing.T, name string) string {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return link.Attrs().HardwareAddr.String()
}
