// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

const (
	// vxlanPort is the port that IANA assigned to vxlan (RFC 7348, 8).
	vxlanPort = 4789
	// overhead4 and overhead6 are the sizes that a tunnel adds to each packet, in bytes: Ethernet 14, vxlan 8,
	// UDP 8, and IPv4 20 or IPv6 40.
	overhead4, overhead6 = 50, 70
	defaultMTU           = 1500
)

// bridgeMTU returns the MTU for a bridge and its ports, or 0 for the kernel's default.
func (h session) bridgeMTU(s Spec, base netlink.Link) (int, error) {
	if s.Kind != VXLAN {
		if s.MTU == 0 && base != nil {
			return base.Attrs().MTU, nil
		}
		return s.MTU, nil
	}
	carrier, err := h.carrier(s, base)
	if err != nil {
		return 0, err
	}
	mtu, overhead := defaultMTU, overhead4
	if carrier != nil {
		mtu = carrier.Attrs().MTU
	}
	if s.overIPv6() {
		overhead = overhead6
	}
	switch {
	case s.MTU == 0:
		return mtu - overhead, nil
	case carrier != nil && s.MTU+overhead > mtu:
		return 0, fmt.Errorf("%w: an MTU of %d and %d bytes of a tunnel are above the MTU of %s, %d",
			ErrImpossible, s.MTU, overhead, carrier.Attrs().Name, mtu)
	default:
		return s.MTU, nil
	}
}

// overIPv6 reports whether the tunnel uses IPv6.
func (s Spec) overIPv6() bool {
	if s.Local.IsValid() {
		return s.Local.Unmap().Is6()
	}
	return len(s.Peers) > 0 && s.Peers[0].Unmap().Is6()
}

// carrier returns the interface that carries the tunnel's packets, if it is known: the parent, the one with the local
// address, or the one that routes to a peer. Otherwise it returns nil.
func (h session) carrier(s Spec, base netlink.Link) (netlink.Link, error) {
	if s.Local.IsValid() {
		addresses, err := h.addresses(nil)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(addresses, func(a address) bool { return a.Addr() == s.Local.Unmap() })
		if i < 0 {
			return nil, fmt.Errorf("%w: no interface of this machine has the local address %s of the tunnel", network.ErrUnavailable, s.Local)
		}
		if base == nil {
			return h.found(h.LinkByIndex(addresses[i].link))
		}
	}
	if base != nil || len(s.Peers) == 0 {
		return base, nil
	}
	routes, err := h.RouteGet(s.Peers[0].Unmap().AsSlice())
	if err != nil || len(routes) == 0 {
		return nil, nil //nolint:nilerr,nilnil // a route may be added later
	}
	return h.found(h.LinkByIndex(routes[0].LinkIndex))
}

// ensureTunnel makes the vxlan device of a network match, as a port of its bridge. It replaces a device with other
// settings, which affects no endpoint.
func (h session) ensureTunnel(s Segment, bridge, base netlink.Link, mtu int) error {
	name, of := tunnelName(s.Network), Mark{Network: s.Network}
	want := vxlan(name, s.Spec, base)
	tunnel, err := h.own(name, of)
	if err != nil {
		return err
	}
	if tunnel != nil && !sameTunnel(tunnel, want) {
		if err := h.remove(tunnel); err != nil {
			return err
		}
		tunnel = nil
	}
	if tunnel == nil {
		if tunnel, err = h.create(want); err != nil {
			return err
		}
	}
	if err := h.apply(tunnel, netlink.LinkAttrs{Alias: of.String(), MTU: mtu, MasterIndex: bridge.Attrs().Index}, true, true); err != nil {
		return err
	}
	return h.ensurePeers(tunnel.Attrs().Index, s.Peers)
}

// vxlan returns the description of a vxlan device.
func vxlan(name string, s Spec, base netlink.Link) *netlink.Vxlan {
	v := &netlink.Vxlan{LinkAttrs: named(name), VxlanId: int(s.VNI), Port: int(s.Port), Learning: true}
	if v.Port == 0 {
		v.Port = vxlanPort
	}
	if base != nil {
		v.VtepDevIndex = base.Attrs().Index
	}
	if s.Local.IsValid() {
		v.SrcAddr = s.Local.Unmap().AsSlice()
	} else if s.overIPv6() {
		v.SrcAddr = net.IPv6unspecified
	}
	return v
}

// sameTunnel reports whether a link is the described vxlan device.
func sameTunnel(link netlink.Link, want *netlink.Vxlan) bool {
	is, ok := link.(*netlink.Vxlan)
	if !ok || is.VxlanId != want.VxlanId || is.Port != want.Port || !is.Learning || is.VtepDevIndex != want.VtepDevIndex {
		return false
	}
	if want.SrcAddr == nil || want.SrcAddr.IsUnspecified() {
		return is.SrcAddr == nil || is.SrcAddr.IsUnspecified()
	}
	return is.SrcAddr.Equal(want.SrcAddr)
}

// unknownDestination is the MAC address of the entries for packets with unknown destination.
var unknownDestination = make(net.HardwareAddr, 6)

// ensurePeers makes the peers the destinations of packets with unknown destination, except this machine's addresses.
// It removes others, and what was learned from them.
func (h session) ensurePeers(tunnel int, peers []netip.Addr) error {
	own, err := h.addresses(nil)
	if err != nil {
		return err
	}
	missing := map[netip.Addr]bool{}
	for _, peer := range peers {
		missing[peer.Unmap()] = !slices.ContainsFunc(own, func(a address) bool { return a.Addr() == peer.Unmap() })
	}
	entries, err := h.NeighListExecute(netlink.Ndmsg{Family: unix.AF_BRIDGE, Index: uint32(tunnel)})
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return explain("listing the peers of the tunnel", "", err)
	}
	for i := range entries {
		peer, ok := netip.AddrFromSlice(entries[i].IP)
		if peer = peer.Unmap(); !ok {
			continue
		}
		if _, wanted := missing[peer]; !wanted {
			if err := h.NeighDel(entry(tunnel, entries[i].HardwareAddr, peer)); err != nil && !errors.Is(err, unix.ENOENT) {
				return explain("removing the peer "+peer.String(), "", err)
			}
		} else if slices.Equal(entries[i].HardwareAddr, unknownDestination) {
			missing[peer] = false
		}
	}
	var errs []error
	for peer, add := range missing {
		if !add {
			continue
		}
		if err := h.NeighAppend(entry(tunnel, unknownDestination, peer)); err != nil && !errors.Is(err, unix.EEXIST) {
			errs = append(errs, explain("adding the peer "+peer.String(), "", err)) // continue with the other peers
		}
	}
	return errors.Join(errs...)
}

// entry returns the forwarding entry for a MAC address behind a peer.
func entry(tunnel int, mac net.HardwareAddr, peer netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: tunnel, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF,
		HardwareAddr: mac, IP: peer.AsSlice()}
}
