// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Two machines that are joined by a wire are joined by a tunnel over it, too.
func TestKernelTunnel(t *testing.T) {
	for name, test := range map[string]struct {
		ends [2]string
		mtu  int
		spec Spec
	}{
		"between two nodes over IPv4": {[2]string{"203.0.113.1", "203.0.113.2"}, 1450, Spec{VNI: 4711, Port: 8472}},
		"between two nodes over IPv6": {[2]string{"2001:db8:ff::1", "2001:db8:ff::2"}, 1430, Spec{VNI: 4711}},
		"with a parent":               {[2]string{"203.0.113.1", "203.0.113.2"}, 1450, Spec{VNI: 4711, Parent: "up0"}},
		"with an MTU":                 {[2]string{"203.0.113.1", "203.0.113.2"}, 1300, Spec{VNI: 4711, MTU: 1300}},
		"on a VLAN, if any":           {[2]string{"203.0.113.1", "203.0.113.2"}, 1450, Spec{VNI: 4711, Parent: "up0", VLAN: 42}},
		"without an address":          {[2]string{"203.0.113.1", "203.0.113.2"}, 1450, Spec{VNI: 4711, Parent: "up0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var machines, sandboxes [2]machine
			var segments [2]Segment
			for i := range machines {
				machines[i], sandboxes[i] = newMachine(t), newMachine(t)
			}
			wire(t, machines[0], "up0", machines[1], "up0")
			for i, m := range machines {
				spec := test.spec
				spec.Kind = VXLAN
				bits := "/24"
				end, other := netip.MustParseAddr(test.ends[i]), netip.MustParseAddr(test.ends[1-i])
				if end.Is6() {
					bits = "/64"
				}
				if spec.VLAN != 0 {
					if m.refused(t, Segment{Network: id(0), Spec: spec}) {
						return
					}
					m.must(t, m.EnsureSegment(t.Context(), Segment{Network: id(5), Spec: Spec{Kind: Macvlan, Parent: "up0", VLAN: 42}}))
					m.address(t, "up0.42", end.String()+bits)
				} else {
					m.address(t, "up0", end.String()+bits)
				}
				if name != "without an address" {
					spec.Local = end
				}
				segments[i] = Segment{Network: id(0), Spec: spec, Gateways: prefixes([]string{"192.0.2.1/24", "192.0.2.2/24"}[i])}
				for range 2 {
					m.must(t, m.EnsureSegment(t.Context(), segments[i]))
				}
				segments[i].Peers = []netip.Addr{end, other, other}
				m.must(t, m.EnsureSegment(t.Context(), segments[i]))
				_, err := m.EnsurePort(t.Context(), segments[i], Port{Endpoint: id(1)})
				m.must(t, err)
				for _, name := range []string{bridgeName(id(0)), tunnelName(id(0)), InterfaceName(id(1)), PortName(id(1))} {
					if mtu := m.link(t, name).Attrs().MTU; mtu != test.mtu {
						t.Errorf("%s has an MTU of %d, not %d", name, mtu, test.mtu)
					}
				}
				m.give(t, id(1), sandboxes[i], "eth0", []string{"192.0.2.11/24", "192.0.2.12/24"}[i])
			}
			talk(t, sandboxes[0], sandboxes[1], "192.0.2.12", false)
			talk(t, sandboxes[1], machines[0], "192.0.2.1", false)
			m := machines[0]
			segments[0].Peers, segments[1].Peers = nil, nil
			m.must(t, machines[1].EnsureSegment(t.Context(), segments[1])) // no packets arrive from there, so no addresses are learned
			m.must(t, m.EnsureSegment(t.Context(), segments[0]))
			if peers := m.peers(t, id(0)); len(peers) > 0 {
				t.Errorf("links are left: %s", peers)
			}
			talk(t, sandboxes[0], sandboxes[1], "192.0.2.12", true)
			m.must(t, m.RemovePort(t.Context(), segments[0], id(1)))
			m.must(t, m.RemoveSegment(t.Context(), segments[0], false))
			m.must(t, m.RemoveSegment(t.Context(), Segment{Network: id(5), Spec: Spec{Kind: Macvlan, Parent: "up0", VLAN: 42}}, false))
			if diff := cmp.Diff([]string{"up0"}, m.names(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// peers returns all other ends of a tunnel, with their known addresses.
func (m machine) peers(t *testing.T, network string) []string {
	t.Helper()
	entries, err := m.look.NeighList(m.link(t, tunnelName(network)).Attrs().Index, unix.AF_BRIDGE)
	m.must(t, err)
	var peers []string
	for _, entry := range entries {
		if entry.IP != nil {
			peers = append(peers, entry.IP.String()+" "+entry.HardwareAddr.String())
		}
	}
	return peers
}

func (m machine) sortedPeers(t *testing.T, network string) []string {
	t.Helper()
	return slices.Sorted(slices.Values(m.peers(t, network)))
}

func TestKernelPeers(t *testing.T) {
	m := newMachine(t)
	m.parent(t, "up0")
	m.address(t, "up0", "203.0.113.1/24")
	s := Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7, Peers: []netip.Addr{netip.MustParseAddr("203.0.113.2")}}}
	s.Peers = append(s.Peers, netip.MustParseAddr("203.0.113.3"), netip.MustParseAddr("::ffff:203.0.113.4"))
	m.must(t, m.EnsureSegment(t.Context(), s))
	m.must(t, m.EnsureSegment(t.Context(), s))
	want := []string{"203.0.113.2 00:00:00:00:00:00", "203.0.113.3 00:00:00:00:00:00", "203.0.113.4 00:00:00:00:00:00"}
	if diff := cmp.Diff(want, m.sortedPeers(t, id(0))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// Old peers are removed; another local address creates the tunnel again.
	s.Peers = s.Peers[:1]
	m.must(t, m.EnsureSegment(t.Context(), s))
	if diff := cmp.Diff(want[:1], m.peers(t, id(0))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.Local = netip.MustParseAddr("203.0.113.1")
	m.must(t, m.EnsureSegment(t.Context(), s))
	if local := m.link(t, tunnelName(id(0))).(*netlink.Vxlan).SrcAddr.String(); local != "203.0.113.1" {
		t.Errorf("the local address is %s", local)
	}
	if diff := cmp.Diff(want[:1], m.peers(t, id(0))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	other := Segment{Network: id(1), Spec: Spec{Kind: VXLAN, VNI: 7}}
	holds(t, m.EnsureSegment(t.Context(), other), unix.EEXIST, "making ")
	m.must(t, m.RemoveSegment(t.Context(), other, false))
	other.VNI = 8
	m.must(t, m.EnsureSegment(t.Context(), other))
}
