// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
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

// six reports whether the tunnel uses IPv6.
func (s Spec) six() bool {
	if s.Local.IsValid() {
		return s.Local.Unmap().Is6()
	}
	return len(s.Peers) > 0 && s.Peers[0].Unmap().Is6()
}

func (s Spec) overhead() int {
	if s.six() {
		return overhead6
	}
	return overhead4
}

func (s Spec) udpPort() uint16 {
	if s.Port == 0 {
		return vxlanPort
	}
	return s.Port
}

// segmentMTU returns the MTU for the links of a bridge, or 0 for the kernel's default.
func (c *conn) segmentMTU(ctx context.Context, s Spec, base netlink.Link) (int, error) {
	if s.Kind != VXLAN {
		if s.MTU == 0 && base != nil {
			return base.Attrs().MTU, nil
		}
		return s.MTU, nil
	}
	under, err := c.under(ctx, s, base)
	if err != nil {
		return 0, err
	}
	mtu, name := defaultMTU, "the machine's interfaces"
	if under != nil {
		mtu, name = under.Attrs().MTU, under.Attrs().Name
	}
	switch {
	case s.MTU == 0:
		return mtu - s.overhead(), nil
	case under != nil && s.MTU+s.overhead() > mtu:
		return 0, fmt.Errorf("%w: an MTU of %d and %d bytes of a tunnel are above the MTU of %s, %d", ErrImpossible, s.MTU, s.overhead(), name, mtu)
	default:
		return s.MTU, nil
	}
}

// under returns the interface that carries the tunnel's packets, if it is known: the parent, the one with the
// local address, or the one that routes to a peer. Otherwise it returns nil.
func (c *conn) under(ctx context.Context, s Spec, base netlink.Link) (netlink.Link, error) {
	if s.Local.IsValid() {
		addresses, err := c.addressed(ctx, nil)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(addresses, func(a addressed) bool { return a.Addr() == s.Local.Unmap() })
		if i < 0 {
			return nil, fmt.Errorf("%w: no interface of this machine has the local address %s of the tunnel", network.ErrUnavailable, s.Local)
		}
		if base == nil {
			return c.byIndex(ctx, addresses[i].index)
		}
	}
	if base != nil || len(s.Peers) == 0 {
		return base, nil
	}
	var routes []netlink.Route
	err := c.ask(ctx, func(h *netlink.Handle) (err error) {
		routes, err = h.RouteGet(s.Peers[0].Unmap().AsSlice())
		return err
	})
	if err != nil || len(routes) == 0 {
		return nil, nil //nolint:nilerr // a route may be added later
	}
	return c.byIndex(ctx, routes[0].LinkIndex)
}

// ensureTunnel creates the vxlan device of a network as a port of its bridge. It replaces a device with other
// settings, which affects no endpoint.
func (c *conn) ensureTunnel(ctx context.Context, s Segment, bridge, base netlink.Link, mtu int) error {
	name, of := tunnelName(s.Network), mark{network: s.Network}
	tunnel, err := c.own(ctx, name, of)
	if err != nil {
		return err
	}
	if tunnel != nil && !isTunnel(tunnel, s.Spec, base) {
		if err := c.delete(ctx, tunnel); err != nil {
			return err
		}
		tunnel = nil
	}
	if tunnel == nil {
		made := tunnelOf(name, s.Spec, base, settings{mtu: mtu, mac: newMAC(), master: bridge.Attrs().Index})
		if err := c.create(ctx, made); err != nil {
			return c.tunnelFault(ctx, s.Spec, err)
		}
		if tunnel, err = c.own(ctx, name, of); err != nil || tunnel == nil {
			return errors.Join(err, fmt.Errorf("%w: the tunnel went away meanwhile", network.ErrUnavailable))
		}
	}
	if !settled(tunnel, of, bridge.Attrs().Index, mtu) {
		if err := c.setUp(ctx, tunnel.Attrs().Index, settings{alias: of.String(), mtu: mtu, master: bridge.Attrs().Index}); err != nil {
			return c.tunnelFault(ctx, s.Spec, err)
		}
	}
	return c.flood(ctx, tunnel, s.Peers, false)
}

// tunnelOf returns the creation of a vxlan device.
func tunnelOf(name string, s Spec, base netlink.Link, with settings) creation {
	with.name = name
	return creation{settings: with, kind: "vxlan", data: func(data *nl.RtAttr) {
		data.AddRtAttr(nl.IFLA_VXLAN_ID, nl.Uint32Attr(s.VNI))
		if base != nil {
			data.AddRtAttr(nl.IFLA_VXLAN_LINK, nl.Uint32Attr(uint32(base.Attrs().Index)))
		}
		switch local := s.Local.Unmap(); {
		case local.Is4():
			data.AddRtAttr(nl.IFLA_VXLAN_LOCAL, local.AsSlice())
		case local.Is6():
			data.AddRtAttr(nl.IFLA_VXLAN_LOCAL6, local.AsSlice())
		case s.six():
			data.AddRtAttr(nl.IFLA_VXLAN_LOCAL6, netip.IPv6Unspecified().AsSlice())
		}
		data.AddRtAttr(nl.IFLA_VXLAN_LEARNING, nl.Uint8Attr(1))
		data.AddRtAttr(nl.IFLA_VXLAN_PORT, []byte{byte(s.udpPort() >> 8), byte(s.udpPort())})
	}}
}

func isTunnel(link netlink.Link, s Spec, base netlink.Link) bool {
	tunnel, ok := link.(*netlink.Vxlan)
	if !ok || tunnel.VxlanId != int(s.VNI) || tunnel.Port != int(s.udpPort()) || !tunnel.Learning {
		return false
	}
	if base != nil && tunnel.VtepDevIndex != base.Attrs().Index || base == nil && tunnel.VtepDevIndex != 0 {
		return false
	}
	if !s.Local.IsValid() {
		return tunnel.SrcAddr == nil || tunnel.SrcAddr.IsUnspecified()
	}
	return tunnel.SrcAddr.Equal(s.Local.AsSlice())
}

// tunnelFault returns the reason why the kernel rejected a tunnel.
func (c *conn) tunnelFault(ctx context.Context, s Spec, err error) error {
	what := fmt.Sprintf("making the vxlan %d", s.VNI)
	switch {
	case errors.Is(err, unix.EEXIST):
		links, listErr := c.links(ctx)
		if listErr != nil {
			return listErr
		}
		for _, link := range links {
			if other, ok := link.(*netlink.Vxlan); ok && other.VxlanId == int(s.VNI) {
				return fmt.Errorf("%s: %w: the vxlan of %s has this number and port", what, network.ErrTaken, other.Name)
			}
		}
		return fmt.Errorf("%s: %w: another vxlan has this number and port", what, network.ErrTaken)
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%s: %w: another program has the UDP port %d", what, network.ErrTaken, s.udpPort())
	case errors.Is(err, unix.EAFNOSUPPORT) && s.six():
		return fmt.Errorf("%s: %w: this machine has IPv6 switched off: %w", what, ErrImpossible, err)
	default:
		return making(what, "vxlan", err)
	}
}
