// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// TestNetworksOnOneMachine is which networks can be on one machine.
func TestNetworksOnOneMachine(t *testing.T) {
	macvlan := []string{"kind=macvlan", "parent=eth0"}
	for _, c := range []struct {
		name       string
		one, other driver.Network
		text       string
	}{
		{name: "accepts two parents", one: plain("a", "172.30.0.0/24", "172.30.0.1", macvlan...), other: plain("b", "172.31.0.0/24", "", "kind=macvlan", "parent=eth1")},
		{name: "accepts macvlans with different subnets on one parent", one: plain("a", "172.30.0.0/24", "172.30.0.1", macvlan...), other: plain("b", "172.31.0.0/24", "172.31.0.1", macvlan...)},
		{name: "accepts two networks of one profile", one: bare("a", "profile=acme.com/plain"), other: bare("b", "profile=acme.com/plain")},
		{name: "accepts one subnet of two IPAM drivers", one: plain("a", "172.30.0.0/24", "172.30.0.1"), other: spaced("b", "other", "172.30.0.0/24", "")},
		{name: "refuses another address in the subnet of a gateway", one: plain("a", "172.30.0.0/24", "172.30.0.1"), other: spaced("b", "other", "172.30.0.0/24", "172.30.0.2"), text: "the bridge of the network a has 172.30.0.1/24 already"},
		{name: "refuses overlapping subnets on one parent", one: plain("a", "172.30.0.0/24", "", macvlan...), other: spaced("b", "other", "172.30.0.0/25", "", macvlan...), text: "172.30.0.0/25 overlaps 172.30.0.0/24 of the network a, which is on the same segment"},
		{name: "refuses macvlan and ipvlan on one parent", one: bare("a", macvlan...), other: bare("b", "kind=ipvlan", "parent=eth0"), text: "the network a has the parent eth0 already"},
		{name: "refuses two bridges on one VLAN", one: bare("a", "parent=eth0", "vlan=7"), other: bare("b", "parent=eth0", "vlan=7"), text: "the network a has the VLAN 7 of eth0 already"},
		{name: "accepts one subnet twice if the IPAM driver permits it", one: spaced("a", "other", "172.30.0.0/24", ""), other: spaced("b", "other", "172.30.0.0/24", "")},
		{name: "accepts two VLANs of one parent", one: bare("a", "parent=eth0", "vlan=7"), other: bare("b", "parent=eth0", "vlan=8")},
		{name: "accepts VLANs and a macvlan on one parent", one: bare("a", macvlan...), other: bare("b", "kind=vlan", "parent=eth0")},
		{name: "refuses passthru next to a macvlan", one: bare("a", macvlan...), other: bare("b", append(macvlan, "mode=passthru")...), text: "the network a has the parent eth0 already"},
		{name: "refuses a second network with one VNI", one: bare("a", "kind=vxlan", "vni=7"), other: bare("b", "kind=vxlan", "vni=7"), text: "the network a has the vxlan 7 already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(c.one)
			err := w.CreateNetwork(t.Context(), c.other)
			if c.text != "" {
				w.fails(err, link.ErrImpossible, c.text)
				return
			}
			w.must(err)
			w.same("links", []string{"a", "b"}, w.kernel.has())
		})
	}
}

func spaced(id, space, subnet, gateway string, options ...string) driver.Network {
	n := plain(id, subnet, gateway, options...)
	n.Subnets[0].Space = space
	return n
}

// TestForgottenNetworkIsReplaced checks that a network that Docker has lost is removed when another network gets its
// subnet, unless it has endpoints.
func TestForgottenNetworkIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.create(plain("old", "172.30.0.0/24", "172.30.0.1"))
	w.attach(endpoint("old", "ep", "172.30.0.2/24"))
	_, _, err := w.Join(t.Context(), "old", "ep", "/sandbox")
	w.must(err)
	w.fails(w.CreateNetwork(t.Context(), plain("new", "172.30.0.0/16", "172.30.0.1")), link.ErrImpossible, "overlaps 172.30.0.0/24 of the network old")
	w.dead["/sandbox"] = true
	w.create(plain("new", "172.30.0.0/16", "172.30.0.1"))
	w.same("rows", []string{"network/new"}, w.rows())
	w.same("links", []string{"new"}, w.kernel.has())
	w.same("removed", []string{"old"}, w.swept.Networks)
}

// TestNodes checks that the tunnel peers are those that Docker reported, also after a restart.
func TestNodes(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	peers := func(want ...string) {
		t.Helper()
		var got []string
		for _, p := range w.kernel.peers["net"] {
			got = append(got, p.String())
		}
		w.same("peers", want, got)
	}
	w.create(bare("net", "profile=acme.com/tunnel"))
	w.create(bare("bridge"))
	peers("192.0.2.9")
	w.must(w.Discovered(ctx, netip.MustParseAddr("192.0.2.1"), true, false))
	w.must(w.Discovered(ctx, netip.MustParseAddr("192.0.2.2"), false, false))
	w.must(w.Discovered(ctx, netip.MustParseAddr("192.0.2.3"), false, false))
	peers("192.0.2.9", "192.0.2.2", "192.0.2.3")
	if local := w.kernel.segments["net"].Local; local.String() != "192.0.2.1" {
		t.Errorf("the own end is %s", local)
	}
	w.reboot()
	peers("192.0.2.9", "192.0.2.2", "192.0.2.3")
	w.must(w.Discovered(ctx, netip.MustParseAddr("192.0.2.2"), false, true))
	w.must(w.Discovered(ctx, netip.MustParseAddr("192.0.2.2"), false, true))
	peers("192.0.2.9", "192.0.2.3")
	w.fails(w.Discovered(ctx, netip.Addr{}, false, false), link.ErrImpossible, "")
	w.same("rows", []string{"network/bridge", "network/net", "node/192.0.2.1", "node/192.0.2.3"}, w.rows())
}

// TestAllocate checks that a manager reports the values that must be equal on all machines.
func TestAllocate(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	options, err := w.Allocate(ctx, bare("net", "kind=vxlan", "mtu=1400"))
	w.must(err)
	again, err := w.Allocate(ctx, bare("net", "kind=vxlan", "mtu=1400"))
	w.must(err)
	if diff := cmp.Diff(options, again); diff != "" || options["vni"] == "" || options["mtu"] != "1400" {
		t.Errorf("got %v, and again %v", options, again)
	}
	_, err = w.Allocate(ctx, bare("net", "kind=vxlan", "mtu=1"))
	w.fails(err, link.ErrImpossible, "mtu")
	w.create(driver.Network{ID: "net", Options: options})
	w.fails(w.CreateNetwork(ctx, bare("local", "kind=vxlan")), link.ErrImpossible, "vni: a vxlan needs a VNI")
}
