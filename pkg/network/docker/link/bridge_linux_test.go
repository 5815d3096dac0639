// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

func TestKernelBridge(t *testing.T) {
	m, one, two := newMachine(t), newMachine(t), newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge, MTU: 1400}, Gateways: prefixes("192.0.2.1/24", "2001:db8::1/64")}
	m.must(t, m.EnsureSegment(t.Context(), s))
	first, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")})
	m.must(t, err)
	second, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(2)})
	m.must(t, err)
	if first.MAC.String() != "02:00:00:00:00:01" || len(second.MAC) != 6 {
		t.Errorf("the MAC addresses are %s and %s", first.MAC, second.MAC)
	}
	for _, name := range m.names(t) {
		a := m.link(t, name).Attrs()
		if a.MTU != 1400 || !strings.HasPrefix(a.Alias, "graft/"+id(0)) {
			t.Errorf("%s has an MTU of %d and the mark %q", name, a.MTU, a.Alias)
		}
	}
	m.give(t, id(1), one, "eth0", "192.0.2.2/24", "2001:db8::2/64")
	m.give(t, id(2), two, "eth0", "192.0.2.3/24", "2001:db8::3/64")
	talk(t, one, two, "192.0.2.3", false)
	talk(t, two, one, "2001:db8::2", false)
	talk(t, one, m, "192.0.2.1", false)
	talk(t, two, m, "2001:db8::1", false)

	// Existing links in a sandbox are found, and no further ones are created.
	before := m.names(t)
	again, err := m.EnsurePort(t.Context(), s, second)
	m.must(t, err)
	m.must(t, m.EnsureSegment(t.Context(), s))
	if diff := cmp.Diff(second, again); diff != "" {
		t.Errorf("-made +found:\n%s", diff)
	}
	if diff := cmp.Diff(before, m.names(t)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}

	m.must(t, m.RemovePort(t.Context(), s, id(1)))
	m.must(t, m.RemovePort(t.Context(), s, id(1)))
	if names := one.names(t); len(names) > 0 {
		t.Errorf("the sandbox has %s", names)
	}
	m.must(t, m.RemovePort(t.Context(), s, id(2)))
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	if names := m.names(t); len(names) > 0 {
		t.Errorf("links are left: %s", names)
	}
}

// TestKernelGateways checks that an IPv6 gateway is usable at once, and that conflicting addresses are removed.
func TestKernelGateways(t *testing.T) {
	m := newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}, Gateways: prefixes("192.0.2.1/24", "2001:db8::1/64")}
	m.must(t, m.EnsureSegment(t.Context(), s))
	bridge := bridgeName(s.Network)
	m.must(t, m.look.AddrDel(m.link(t, bridge), &netlink.Addr{IPNet: netipx.PrefixIPNet(s.Gateways[0])}))
	m.address(t, bridge, "192.0.2.9/25")
	m.address(t, bridge, "198.51.100.1/24")
	m.must(t, m.EnsureSegment(t.Context(), s))
	addresses, err := m.look.AddrList(m.link(t, bridge), unix.AF_UNSPEC)
	m.must(t, err)
	var got []string
	for _, address := range addresses {
		if address.IP.IsLinkLocalUnicast() {
			continue
		}
		if address.Flags&unix.IFA_F_TENTATIVE != 0 {
			t.Errorf("%s is tentative", address.IPNet)
		}
		got = append(got, address.IPNet.String())
	}
	if diff := cmp.Diff([]string{"198.51.100.1/24", "192.0.2.1/24", "2001:db8::1/64"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKernelBridgeAddress checks that the bridge keeps its MAC address with any ports.
func TestKernelBridgeAddress(t *testing.T) {
	m := newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}
	m.must(t, m.EnsureSegment(t.Context(), s))
	before := m.link(t, bridgeName(s.Network)).Attrs().HardwareAddr.String()
	for i := range 4 {
		_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1 + i)})
		m.must(t, err)
	}
	if after := m.link(t, bridgeName(s.Network)).Attrs().HardwareAddr.String(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestKernelBridgeWithParent(t *testing.T) {
	m, far, sandbox := newMachine(t), newMachine(t), newMachine(t)
	wire(t, m, "up0", far, "up0")
	far.address(t, "up0", "192.0.2.1/24")
	m.must(t, m.look.LinkSetMTU(m.link(t, "up0"), 1300))
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge, Parent: "up0"}}
	for range 2 {
		m.must(t, m.EnsureSegment(t.Context(), s))
	}
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	if mtu := m.link(t, InterfaceName(id(1))).Attrs().MTU; mtu != 1300 {
		t.Errorf("the MTU is %d, not the parent's", mtu)
	}
	m.give(t, id(1), sandbox, "eth0", "192.0.2.2/24")
	talk(t, sandbox, far, "192.0.2.1", false)

	other := Segment{Network: id(9), Spec: Spec{Kind: Bridge, Parent: "up0"}}
	holds(t, m.EnsureSegment(t.Context(), other), network.ErrTaken, "the parent up0 is a port of "+bridgeName(s.Network)+" already")
	m.must(t, m.RemoveSegment(t.Context(), other, false))
	m.must(t, m.RemovePort(t.Context(), s, id(1)))
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	if diff := cmp.Diff([]string{"up0"}, m.names(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKernelParents(t *testing.T) {
	m := newMachine(t)
	m.parent(t, "up0")
	m.address(t, "up0", "192.0.2.9/24")
	m.must(t, m.look.LinkSetDown(m.parent(t, "down0")))
	port := m.parent(t, "port0")
	bridge := m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}})
	m.must(t, m.look.LinkSetMaster(port, bridge))
	for name, test := range map[string]struct {
		spec Spec
		want error
		says string
	}{
		"a parent that does not exist is reported": {Spec{Kind: Macvlan, Parent: "eth9"}, network.ErrUnavailable, "the parent interface eth9 does not exist on this machine"},
		"missing for a bridge":                     {Spec{Kind: Bridge, Parent: "eth9"}, network.ErrUnavailable, "the parent interface eth9 does not exist"},
		"a parent that is down is reported":        {Spec{Kind: Macvlan, Parent: "down0"}, network.ErrUnavailable, "the parent down0 is down: ip link set down0 up"},
		"the loopback as a parent is rejected":     {Spec{Kind: Ipvlan, Parent: "lo"}, ErrImpossible, "lo is the loopback"},
		"a port of a bridge":                       {Spec{Kind: Macvlan, Parent: "port0"}, network.ErrTaken, "the parent port0 is a port of br0 already"},
		"a port of another bridge":                 {Spec{Kind: Bridge, Parent: "port0"}, network.ErrTaken, "the parent port0 is a port of br0 already"},
		"MTU above that of the parent":             {Spec{Kind: Macvlan, Parent: "up0", MTU: 9000}, ErrImpossible, "an MTU of 9000 is above the one of the parent up0, 1500"},
		"a bridge port with addresses":             {Spec{Kind: Bridge, Parent: "up0"}, ErrImpossible, "up0 has the address 192.0.2.9/24 of this machine, which it would lose"},
		"MTU of a tunnel above that of the parent": {Spec{Kind: VXLAN, VNI: 1, Parent: "up0", MTU: 1451}, ErrImpossible, "an MTU of 1451 and 50 bytes of a tunnel are above the MTU of up0, 1500"},
		"without local address":                    {Spec{Kind: VXLAN, VNI: 1, Local: prefixes("203.0.113.1/32")[0].Addr()}, network.ErrUnavailable, "no interface of this machine has the local address 203.0.113.1"},
	} {
		t.Run(name, func(t *testing.T) {
			holds(t, m.EnsureSegment(t.Context(), Segment{Network: id(0), Spec: test.spec}), test.want, test.says)
		})
	}
	m.must(t, m.RemoveSegment(t.Context(), Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 1}}, false))
	if diff := cmp.Diff([]string{"br0", "down0", "down0x", "port0", "port0x", "up0", "up0x"}, m.names(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKernelForeignNames checks that a foreign link with a name that Graft needs is never changed. A creation reports
// it, and a removal ignores it.
func TestKernelForeignNames(t *testing.T) {
	m := newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}
	foreign := m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName(s.Network)}})
	m.must(t, m.look.LinkSetAlias(foreign, "graft/"+id(7)))
	says := "there is a link " + bridgeName(s.Network) + ` already, which is for "graft/` + id(7) + `"`
	holds(t, m.EnsureSegment(t.Context(), s), network.ErrTaken, says)
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	m.link(t, bridgeName(s.Network))
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	holds(t, err, network.ErrTaken, says)
	m.must(t, m.look.LinkDel(foreign))

	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	holds(t, err, ErrNoSegment, "")
	m.must(t, m.EnsureSegment(t.Context(), s))
	for _, name := range []string{InterfaceName(id(1)), PortName(id(1))} {
		foreign := m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}})
		m.must(t, m.look.LinkSetAlias(foreign, "uplink"))
		_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
		holds(t, err, network.ErrTaken, "there is a link "+name+` already, which is for "uplink"`)
		m.must(t, m.RemovePort(t.Context(), s, id(1)))
		m.link(t, name)
		m.must(t, m.look.LinkDel(foreign))
	}
	_, err = m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
}

// holds checks the kind and the text of an error.
func holds(t *testing.T, err, want error, says string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, not %v: %s", err, want, says)
	}
}

// TestKernelMTUTooSmallForIPv6 checks that an MTU that is too small for IPv6 leaves IPv4 working.
func TestKernelMTUTooSmallForIPv6(t *testing.T) {
	for _, spec := range []Spec{{Kind: Bridge, MTU: 600}, {Kind: VXLAN, VNI: 7, MTU: 600}} {
		m, sandbox := newMachine(t), newMachine(t)
		s := Segment{Network: id(0), Spec: spec, Gateways: prefixes("192.0.2.1/24")}
		m.must(t, m.EnsureSegment(t.Context(), s))
		for range 2 {
			_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
			m.must(t, err)
		}
		m.give(t, id(1), sandbox, "eth0", "192.0.2.2/24")
		talk(t, sandbox, m, "192.0.2.1", false)
	}
}

// TestKernelPortsBeyondLimit checks the error for a port beyond the bridge's 1023.
func TestKernelPortsBeyondLimit(t *testing.T) {
	m := newMachine(t)
	s := Segment{Network: id(0), Spec: Spec{Kind: Bridge}}
	m.must(t, m.EnsureSegment(t.Context(), s))
	ports := make(chan int)
	var all sync.WaitGroup
	for range concurrency {
		all.Go(func() {
			for i := range ports {
				if _, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 1023 {
		ports <- i
	}
	close(ports)
	all.Wait()
	before := len(m.names(t))
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1023)})
	holds(t, err, unix.EXFULL, "setting up "+PortName(id(1023)))
	if after := len(m.names(t)); after != before {
		t.Errorf("%d links became %d", before, after)
	}
}
