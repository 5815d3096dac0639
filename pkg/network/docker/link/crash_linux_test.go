// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// state returns the visible state of links, without values that the kernel chooses each time.
func (m machine) state(t *testing.T) map[string]string {
	t.Helper()
	names := map[int]string{}
	for _, link := range m.list(t) {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	state := map[string]string{}
	for _, link := range m.list(t) {
		a := link.Attrs()
		mac := ""
		if a.Name == InterfaceName(id(1)) {
			mac = a.HardwareAddr.String()
		}
		addresses, err := m.addressesOf(t, link)
		m.must(t, err)
		state[a.Name] = fmt.Sprint(link.Type(), " ", a.MTU, " ", mac, " ", a.Alias, " ", names[a.MasterIndex], " ", a.Flags&net.FlagUp, " ", addresses)
	}
	return state
}

func (m machine) addressesOf(t *testing.T, link netlink.Link) ([]netip.Prefix, error) {
	t.Helper()
	all, err := session{m.look}.addresses(link)
	var own []netip.Prefix
	for _, address := range all {
		if !address.Addr().IsLinkLocalUnicast() {
			own = append(own, address.Prefix)
		}
	}
	return own, err
}

// TestKernelCrash starts from every partial state of a network and an endpoint, left by a crash or a manual change:
// creation and removal have the same result as from an empty state.
func TestKernelCrash(t *testing.T) {
	bridge := Segment{Network: id(0), Spec: Spec{Kind: Bridge, Parent: "up0", MTU: 1400}, Gateways: prefixes("192.0.2.1/24", "2001:db8::1/64")}
	tunnel := Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7, Parent: "up0"}, Gateways: prefixes("192.0.2.1/24")}
	child := Segment{Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0", MTU: 1400}}
	port := Port{Endpoint: id(1), MAC: mac("02:00:00:00:00:01")}
	for name, test := range map[string]struct {
		segment Segment
		half    func(t *testing.T, m machine)
	}{
		"no link of a bridge network":  {bridge, func(*testing.T, machine) {}},
		"no link of a tunnel network":  {tunnel, func(*testing.T, machine) {}},
		"no link of a macvlan network": {child, func(*testing.T, machine) {}},
		"a bridge without mark and addresses": {bridge, func(t *testing.T, m machine) {
			m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName(id(0))}})
		}},
		"a bridge without its mark and one gateway": {bridge, func(t *testing.T, m machine) {
			m.must(t, m.EnsureSegment(t.Context(), bridge))
			m.must(t, m.look.LinkSetAlias(m.link(t, bridgeName(id(0))), ""))
			m.must(t, m.look.AddrDel(m.link(t, bridgeName(id(0))), &netlink.Addr{IPNet: netipx.PrefixIPNet(bridge.Gateways[1])}))
		}},
		"a bridge without its parent, down": {bridge, func(t *testing.T, m machine) {
			m.must(t, m.EnsureSegment(t.Context(), bridge))
			m.must(t, m.look.LinkSetNoMaster(m.link(t, "up0")))
			m.must(t, m.look.LinkSetDown(m.link(t, bridgeName(id(0)))))
		}},
		"a bridge of another MTU": {bridge, func(t *testing.T, m machine) {
			other := bridge
			other.MTU = 1300
			m.must(t, m.EnsureSegment(t.Context(), other))
			_, err := m.EnsurePort(t.Context(), other, port)
			m.must(t, err)
		}},
		"a veth pair without mark and master": {bridge, func(t *testing.T, m machine) {
			m.must(t, m.EnsureSegment(t.Context(), bridge))
			m.add(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: PortName(id(1))}, PeerName: InterfaceName(id(1))})
		}},
		"a veth pair with one mark, before its bridge": {bridge, func(t *testing.T, m machine) {
			pair := m.add(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: PortName(id(1))}, PeerName: InterfaceName(id(1))})
			m.must(t, m.look.LinkSetAlias(pair, Mark{Network: id(0), Endpoint: id(1)}.String()))
		}},
		"a veth pair with another MAC address, down, on another bridge": {bridge, func(t *testing.T, m machine) {
			m.must(t, m.EnsureSegment(t.Context(), bridge))
			_, err := m.EnsurePort(t.Context(), bridge, Port{Endpoint: id(1)})
			m.must(t, err)
			m.must(t, m.look.LinkSetNoMaster(m.link(t, PortName(id(1)))))
			m.must(t, m.look.LinkSetDown(m.link(t, PortName(id(1)))))
		}},
		"a bridge with a macvlan endpoint": {bridge, func(t *testing.T, m machine) {
			_, err := m.EnsurePort(t.Context(), child, port)
			m.must(t, err)
			m.must(t, m.RemovePort(t.Context(), child, id(1))) // one on the parent would keep it from being a port
			m.must(t, m.EnsureSegment(t.Context(), bridge))
			m.add(t, &netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: InterfaceName(id(1)), ParentIndex: m.link(t, "up0x").Attrs().Index}})
		}},
		"a tunnel without mark and master": {tunnel, func(t *testing.T, m machine) {
			m.add(t, &netlink.Vxlan{LinkAttrs: netlink.LinkAttrs{Name: tunnelName(id(0))}, VxlanId: 7, Port: 4789})
		}},
		"a tunnel of another number, on no bridge": {tunnel, func(t *testing.T, m machine) {
			other := tunnel
			other.VNI, other.Port = 9, 9999
			m.must(t, m.EnsureSegment(t.Context(), other))
			m.must(t, m.look.LinkSetNoMaster(m.link(t, tunnelName(id(0)))))
		}},
		"a tunnel without its bridge": {tunnel, func(t *testing.T, m machine) {
			m.must(t, m.EnsureSegment(t.Context(), tunnel))
			_, err := m.EnsurePort(t.Context(), tunnel, port)
			m.must(t, err)
			m.must(t, m.look.LinkDel(m.link(t, bridgeName(id(0)))))
		}},
		"a macvlan without a mark": {child, func(t *testing.T, m machine) {
			m.add(t, &netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: InterfaceName(id(1)), ParentIndex: m.link(t, "up0").Attrs().Index}})
		}},
		"a macvlan of another mode, MTU and MAC address": {child, func(t *testing.T, m machine) {
			other := child
			other.Mode, other.MTU = "vepa", 1300
			_, err := m.EnsurePort(t.Context(), other, Port{Endpoint: id(1)})
			m.must(t, err)
		}},
		"a macvlan on another parent": {child, func(t *testing.T, m machine) {
			other := child
			other.Parent = "up0x"
			_, err := m.EnsurePort(t.Context(), other, port)
			m.must(t, err)
		}},
		"a macvlan that was a veth pair": {child, func(t *testing.T, m machine) {
			m.add(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: PortName(id(1))}, PeerName: InterfaceName(id(1))})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fresh, m := newMachine(t), newMachine(t)
			for _, m := range []machine{fresh, m} {
				m.parent(t, "up0")
			}
			empty := m.names(t)
			test.half(t, m)
			for _, m := range []machine{fresh, m} {
				for range 2 {
					m.must(t, m.EnsureSegment(t.Context(), test.segment))
					made, err := m.EnsurePort(t.Context(), test.segment, port)
					m.must(t, err)
					if diff := cmp.Diff(port, made); diff != "" {
						t.Errorf("-want +made:\n%s", diff)
					}
				}
			}
			if diff := cmp.Diff(fresh.state(t), m.state(t)); diff != "" {
				t.Errorf("-made at once +completed:\n%s", diff)
			}
			m.must(t, m.RemovePort(t.Context(), test.segment, id(1)))
			m.must(t, m.RemoveSegment(t.Context(), test.segment, false))
			if diff := cmp.Diff(empty, m.names(t)); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
		})
	}
}

// TestKernelRemovePartialNetwork checks that a partially created network can be removed.
func TestKernelRemovePartialNetwork(t *testing.T) {
	m := newMachine(t)
	m.add(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName(id(0))}})
	m.add(t, &netlink.Vxlan{LinkAttrs: netlink.LinkAttrs{Name: tunnelName(id(0))}, VxlanId: 7, Port: 4789})
	m.add(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: PortName(id(1))}, PeerName: InterfaceName(id(1))})
	s := Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7}}
	m.must(t, m.RemovePort(t.Context(), s, id(1)))
	m.must(t, m.RemoveSegment(t.Context(), s, false))
	if names := m.names(t); len(names) > 0 {
		t.Errorf("links are left: %s", names)
	}
}

func TestKernelMarked(t *testing.T) {
	m := newMachine(t)
	m.parent(t, "up0")
	s := Segment{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7}}
	m.must(t, m.EnsureSegment(t.Context(), s))
	_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(1)})
	m.must(t, err)
	_, err = m.EnsurePort(t.Context(), Segment{Network: id(2), Spec: Spec{Kind: Macvlan, Parent: "up0"}}, Port{Endpoint: id(3)})
	m.must(t, err)
	want := []Marked{
		{Name: bridgeName(id(0)), Mark: Mark{Network: id(0)}}, {Name: tunnelName(id(0)), Mark: Mark{Network: id(0)}},
		{Name: InterfaceName(id(1)), Mark: Mark{Network: id(0), Endpoint: id(1)}}, {Name: PortName(id(1)), Mark: Mark{Network: id(0), Endpoint: id(1)}},
		{Name: InterfaceName(id(3)), Mark: Mark{Network: id(2), Endpoint: id(3)}},
	}
	if diff := cmp.Diff(want, m.marked(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for range 2 {
		for _, each := range want { // as the reconciler does with links without a row
			if each.Endpoint != "" {
				m.must(t, m.RemovePort(t.Context(), Segment{Network: each.Network}, each.Endpoint))
			} else {
				m.must(t, m.RemoveSegment(t.Context(), Segment{Network: each.Network}, false))
			}
		}
	}
	if diff := cmp.Diff([]string{"up0", "up0x"}, m.names(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKernelManyAtATime creates, lists and removes a hundred endpoints concurrently.
func TestKernelManyAtATime(t *testing.T) {
	for _, s := range []Segment{
		{Network: id(0), Spec: Spec{Kind: Bridge}},
		{Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0"}},
	} {
		t.Run(string(s.Kind), func(t *testing.T) {
			m := newMachine(t)
			m.parent(t, "up0")
			m.must(t, m.EnsureSegment(t.Context(), s))
			_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(0)})
			m.must(t, err)
			at := func(f func(endpoint string) error) {
				var all sync.WaitGroup
				for i := range 100 {
					for range 2 { // and each one twice
						all.Go(func() {
							if err := f(id(1 + i)); err != nil {
								t.Error(err)
							}
						})
					}
				}
				all.Go(func() {
					for range 10 {
						seen := map[string]bool{}
						for _, marked := range m.marked(t) {
							seen[marked.Endpoint] = true
						}
						if !seen[id(0)] {
							t.Error("a link that existed during the whole listing is missing from it")
						}
					}
				})
				all.Wait()
			}
			at(func(endpoint string) error {
				_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: endpoint})
				return err
			})
			seen := map[string]int{}
			for _, marked := range m.marked(t) {
				seen[marked.Endpoint]++
			}
			delete(seen, "")
			if len(seen) != 101 {
				t.Errorf("%d endpoints are there", len(seen))
			}
			at(func(endpoint string) error { return m.RemovePort(t.Context(), s, endpoint) })
			m.must(t, m.RemovePort(t.Context(), s, id(0)))
			m.must(t, m.RemoveSegment(t.Context(), s, false))
			if diff := cmp.Diff([]string{"up0", "up0x"}, m.names(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Networks come and go while endpoints come to them.
func TestKernelSegmentsAtATime(t *testing.T) {
	m := newMachine(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := Segment{Network: id(i % 5), Spec: Spec{Kind: Bridge}, Gateways: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i % 5), 0, 1}), 24)}}
			for range 5 {
				if err := m.EnsureSegment(t.Context(), s); err != nil {
					t.Error(err)
				}
				_, err := m.EnsurePort(t.Context(), s, Port{Endpoint: id(100 + i)})
				if err != nil && !isGone(err) {
					t.Error(err)
				}
				if err := m.RemovePort(t.Context(), s, id(100+i)); err != nil {
					t.Error(err)
				}
				if err := m.RemoveSegment(t.Context(), s, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if names := m.names(t); len(names) > 0 {
		t.Errorf("links are left: %s", names)
	}
}

// isGone reports that a network went away while an endpoint came to it.
func isGone(err error) bool {
	return errors.Is(err, ErrNoSegment) || errors.Is(err, network.ErrUnavailable) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL)
}
