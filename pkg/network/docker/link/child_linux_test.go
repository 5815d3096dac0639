// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// TestKernelChildren connects endpoints on a parent, or on its VLAN, to each other and to another machine. If this
// kernel lacks a kind, the error is checked, and test/system runs the rest.
func TestKernelChildren(t *testing.T) {
	for name, test := range map[string]struct {
		spec Spec
		// lonely reports that endpoints of one machine do not reach each other.
		lonely bool
		// routed configures routes to endpoints over the machine's own address, because no other machine resolves their
		// addresses.
		routed bool
	}{
		"macvlan in the default mode": {spec: Spec{Kind: Macvlan}},
		"macvlan in mode private":     {spec: Spec{Kind: Macvlan, Mode: "private"}, lonely: true},
		"macvlan in mode vepa":        {spec: Spec{Kind: Macvlan, Mode: "vepa"}, lonely: true},
		"macvlan on a VLAN":           {spec: Spec{Kind: Macvlan, VLAN: 42}},
		"ipvlan in the default mode":  {spec: Spec{Kind: Ipvlan}},
		"ipvlan in mode l3":           {spec: Spec{Kind: Ipvlan, Mode: "l3"}, routed: true},
		"ipvlan in mode l3s, a VLAN":  {spec: Spec{Kind: Ipvlan, Mode: "l3s", VLAN: 42}, routed: true},
		"bridge on a VLAN":            {spec: Spec{Kind: Bridge, VLAN: 42}},
	} {
		t.Run(name, func(t *testing.T) {
			m, far, one, two := newMachine(t), newMachine(t), newMachine(t), newMachine(t)
			wire(t, m, "up0", far, "up0")
			test.spec.Parent, test.spec.MTU = "up0", 1400
			s := Segment{Network: id(0), Spec: test.spec}
			if m.refused(t, s) {
				return
			}
			out := far.outside(t, test.spec.VLAN)
			if !test.routed {
				far.address(t, out, "192.0.2.1/24")
				far.address(t, out, "2001:db8::1/64")
			}
			for range 2 {
				m.must(t, m.EnsureSegment(t.Context(), s))
			}
			for i, sandbox := range []machine{one, two} {
				made, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(i)})
				m.must(t, err)
				same, err := m.EnsurePort(t.Context(), s, made)
				m.must(t, err)
				if diff := cmp.Diff(made, same); diff != "" {
					t.Errorf("-made +found:\n%s", diff)
				}
				if a := m.link(t, InterfaceName(id(i))).Attrs(); a.MTU != 1400 || a.Alias != "graft/"+id(0)+"/"+id(i) {
					t.Errorf("the MTU is %d and the mark %q", a.MTU, a.Alias)
				}
				host := []string{"192.0.2.2", "192.0.2.3"}[i]
				m.give(t, id(i), sandbox, "eth0", host+"/24", "2001:db8::"+host[len(host)-1:]+"/64")
			}
			talk(t, one, two, "192.0.2.3", test.lonely)
			talk(t, two, one, "2001:db8::2", test.lonely)
			if test.routed {
				m.route(t, far, out, test.spec.VLAN, one, two)
				talk(t, one, far, "203.0.113.2", false)
				talk(t, two, far, "2001:db8:ff::2", false)
			} else {
				talk(t, one, far, "192.0.2.1", false)
				talk(t, two, far, "2001:db8::1", false)
			}
			for i := range 2 {
				m.must(t, m.RemovePort(t.Context(), s, id(i)))
			}
			m.must(t, m.RemoveSegment(t.Context(), s, false))
			if diff := cmp.Diff([]string{"up0"}, m.names(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// route leads another machine to endpoints over this machine's address, and endpoints to it over the link.
func (m machine) route(t *testing.T, far machine, out string, vlan int, sandboxes ...machine) {
	t.Helper()
	base := "up0"
	if vlan != 0 {
		base = subName("up0", vlan)
	}
	for _, family := range [][4]string{
		{"203.0.113.1/24", "203.0.113.2/24", "192.0.2.0/24", "0.0.0.0/0"},
		{"2001:db8:ff::1/64", "2001:db8:ff::2/64", "2001:db8::/64", "::/0"},
	} {
		m.address(t, base, family[0])
		far.address(t, out, family[1])
		over := netip.MustParsePrefix(family[0]).Addr().AsSlice()
		m.must(t, far.look.RouteAdd(&netlink.Route{Dst: netipx.PrefixIPNet(netip.MustParsePrefix(family[2])), Gw: over}))
		for _, sandbox := range sandboxes {
			index := sandbox.link(t, "eth0").Attrs().Index
			m.must(t, sandbox.look.RouteAdd(&netlink.Route{Dst: netipx.PrefixIPNet(netip.MustParsePrefix(family[3])), LinkIndex: index, Scope: netlink.SCOPE_LINK}))
		}
	}
}

// outside is the interface of another machine in a VLAN.
func (m machine) outside(t *testing.T, vlan int) string {
	t.Helper()
	if vlan == 0 {
		return "up0"
	}
	sub := m.add(t, &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "sub0", ParentIndex: m.link(t, "up0").Attrs().Index}, VlanId: vlan})
	m.must(t, m.look.LinkSetUp(sub))
	return "sub0"
}

// refused checks the error of a kind that this kernel lacks, and reports whether it lacks it.
func (m machine) refused(t *testing.T, s Segment) bool {
	t.Helper()
	kind := s.Kind
	if s.hasSubinterface() && m.lacks(t, VLAN) != nil {
		kind = VLAN
	}
	lacks := m.lacks(t, kind)
	if lacks == nil {
		return false
	}
	says := "this kernel has no " + string(kind) + ": modprobe "
	if !strings.Contains(lacks.Error(), says) {
		t.Errorf("unexpected error of the probe: %v", lacks)
	}
	err := m.EnsureSegment(t.Context(), s)
	if err == nil {
		_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(1), VLAN: s.VLAN})
	}
	holds(t, err, ErrImpossible, says)
	m.must(t, m.RemovePort(t.Context(), s, id(1)))
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	if names := m.names(t); slices.ContainsFunc(names, func(name string) bool { return name[0] == 'g' }) {
		t.Errorf("links are left: %s", names)
	}
	return true
}

func TestKernelMacvlanAddresses(t *testing.T) {
	m, sandbox := newMachine(t), newMachine(t)
	m.parent(t, "up0")
	s := Segment{Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0"}}
	wanted := Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")}
	_, err := m.EnsurePort(t.Context(), s, wanted)
	m.must(t, err)

	m.give(t, id(1), sandbox, "eth0")

	// The kernel notices that two have one address when the second is set up.
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(2), MAC: wanted.MAC})
	m.must(t, err)
	if err := m.look.LinkSetUp(m.link(t, InterfaceName(id(2)))); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("the second is up: %v", err)
	}
	m.must(t, m.RemovePort(t.Context(), s, id(2)))

	// Another address is added; another mode creates the link again.
	made, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(3)})
	m.must(t, err)
	made.MAC = mac("02:00:00:00:00:03")
	changed, err := m.EnsurePort(t.Context(), s, made)
	m.must(t, err)
	s.Mode = "private"
	again, err := m.EnsurePort(t.Context(), s, made)
	m.must(t, err)
	link := m.link(t, InterfaceName(id(3))).(*netlink.Macvlan)
	if changed.MAC.String() != "02:00:00:00:00:03" || link.HardwareAddr.String() != "02:00:00:00:00:03" || again.MAC.String() != "02:00:00:00:00:03" {
		t.Errorf("the MAC addresses are %s, %s and %s", changed.MAC, link.HardwareAddr, again.MAC)
	}
	if link.Mode != netlink.MACVLAN_MODE_PRIVATE {
		t.Errorf("the mode is %d", link.Mode)
	}
}

func TestKernelMacvlanPassthru(t *testing.T) {
	m := newMachine(t)
	own := network.HardwareAddr(m.parent(t, "up0").Attrs().HardwareAddr)
	s := Segment{Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0", Mode: "passthru"}}
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")})
	holds(t, err, ErrImpossible, "has the MAC address of the parent, "+own.String())
	made, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	if made.MAC.String() != own.String() {
		t.Errorf("the MAC address %s is not the parent's", made.MAC)
	}
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(2)})
	holds(t, err, unix.EINVAL, "making "+InterfaceName(id(2)))
	s.Mode = "bridge"
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(2)})
	holds(t, err, unix.EINVAL, "making "+InterfaceName(id(2)))
}

func TestKernelIpvlan(t *testing.T) {
	m := newMachine(t)
	m.parent(t, "up0")
	s := Segment{Network: id(0), Spec: Spec{Kind: Ipvlan, Parent: "up0"}}
	if m.refused(t, s) {
		return
	}
	made, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	if len(made.MAC) > 0 {
		t.Errorf("an interface of ipvlan has the MAC address %s", made.MAC)
	}
	_, err = m.EnsurePort(t.Context(), Segment{Network: id(9), Spec: Spec{Kind: Macvlan, Parent: "up0"}}, Port{Endpoint: id(2)})
	holds(t, err, unix.EBUSY, "making "+InterfaceName(id(2)))
	m.parent(t, "up1")
	other := Spec{Kind: Macvlan, Parent: "up1"}
	_, err = m.EnsurePort(t.Context(), Segment{Network: id(9), Spec: other}, Port{Endpoint: id(2)})
	m.must(t, err)
	other.Kind = Ipvlan
	_, err = m.EnsurePort(t.Context(), Segment{Network: id(8), Spec: other}, Port{Endpoint: id(3)})
	holds(t, err, unix.EBUSY, "making "+InterfaceName(id(3)))
	s.Mode = "l3"
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	if mode := m.link(t, InterfaceName(id(1))).(*netlink.IPVlan).Mode; mode != netlink.IPVLAN_MODE_L3 {
		t.Errorf("the mode is %d", mode)
	}
}

func TestKernelVLAN(t *testing.T) {
	m, far, sandbox := newMachine(t), newMachine(t), newMachine(t)
	wire(t, m, "up0", far, "up0")
	s := Segment{Network: id(0), Spec: Spec{Kind: VLAN, Parent: "up0"}}
	s.VLAN = 42
	if m.refused(t, s) {
		return
	}
	far.address(t, far.outside(t, 42), "192.0.2.1/24")
	m.must(t, m.EnsureSegment(t.Context(), s))
	made, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")})
	m.must(t, err)
	if made.VLAN != 42 || made.MAC.String() != "02:00:00:00:00:01" {
		t.Errorf("made %+v", made)
	}
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(2)})
	holds(t, err, unix.EEXIST, "making ")
	m.give(t, id(1), sandbox, "eth0", "192.0.2.2/24")
	talk(t, sandbox, far, "192.0.2.1", false)
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(2)})
	holds(t, err, unix.EEXIST, "making ")
}

// TestKernelSharedVLAN checks that a VLAN of a parent is shared and removed with its last network, and that a
// preexisting one stays.
func TestKernelSharedVLAN(t *testing.T) {
	m := newMachine(t)
	m.parent(t, "up0")
	m.parent(t, "a-long-parent")
	first := Segment{Network: id(1), Spec: Spec{Kind: Macvlan, Parent: "up0", VLAN: 42}}
	second := Segment{Network: id(2), Spec: Spec{Kind: Macvlan, Parent: "up0", VLAN: 42}}
	if m.refused(t, first) {
		return
	}
	for _, s := range []Segment{first, second, first} {
		m.must(t, m.EnsureSegment(t.Context(), s))
	}
	if alias := m.link(t, "up0.42").Attrs().Alias; alias != "graft/parent/up0/42" {
		t.Errorf("the mark is %q", alias)
	}
	want := []Marked{{Name: "up0.42", Mark: Mark{Parent: "up0", VLAN: 42}}}
	if diff := cmp.Diff(want, m.marked(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.must(t, m.RemoveSegment(t.Context(), first, true))
	m.link(t, "up0.42")
	m.must(t, m.RemoveSegment(t.Context(), second, false))

	// Its name is taken, or too long.
	m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "up0.42"}})
	m.must(t, m.EnsureSegment(t.Context(), first))
	m.link(t, subOwnName("up0", 42))
	long := Segment{Network: id(3), Spec: Spec{Kind: Macvlan, Parent: "a-long-parent", VLAN: 42}}
	m.must(t, m.EnsureSegment(t.Context(), long))
	m.link(t, subOwnName("a-long-parent", 42))
	m.must(t, m.RemoveSegment(t.Context(), long, false))

	// An incomplete link is completed; with a foreign link on it, it stays.
	m.must(t, m.RemoveSegment(t.Context(), first, false))
	half := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: subOwnName("up0", 42), ParentIndex: m.link(t, "up0").Attrs().Index}, VlanId: 42}
	m.add(t, half)
	m.must(t, m.EnsureSegment(t.Context(), first))
	all := m.marked(t)
	on := &netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "mine", ParentIndex: m.link(t, all[0].Name).Attrs().Index}, Mode: netlink.MACVLAN_MODE_BRIDGE}
	m.add(t, on)
	m.must(t, m.RemoveSegment(t.Context(), first, false))
	if diff := cmp.Diff(all, m.marked(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.must(t, m.look.LinkDel(on))
	m.must(t, m.RemoveSegment(t.Context(), first, false))

	// A foreign link.
	before := m.add(t, &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "office", ParentIndex: m.link(t, "up0").Attrs().Index}, VlanId: 42})
	holds(t, m.EnsureSegment(t.Context(), first), network.ErrUnavailable, "the parent office is down: ip link set office up")
	m.must(t, m.look.LinkSetUp(before))
	m.must(t, m.EnsureSegment(t.Context(), first))
	_, err := m.EnsurePort(t.Context(), first, Port{Endpoint: id(1)})
	m.must(t, err)
	m.must(t, m.RemovePort(t.Context(), first, id(1)))
	m.must(t, m.RemoveSegment(t.Context(), first, false))
	if a := m.link(t, "office").Attrs(); a.Alias != "" || len(a.AltNames) > 0 {
		t.Errorf("the mark is %q, the other names are %s", a.Alias, a.AltNames)
	}
	want = nil
	if diff := cmp.Diff(want, m.marked(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// marked returns the result of Marked.
func (m machine) marked(t testing.TB) []Marked {
	t.Helper()
	marked, err := m.Marked(t.Context())
	m.must(t, err)
	return marked
}
