// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// bridged reports whether the network has a bridge on this machine.
func (s Spec) bridged() bool { return s.Kind == Bridge || s.Kind == VXLAN }

// EnsureSegment creates or completes the links of a network except its endpoints: bridge, tunnel, VLAN of the
// parent. It corrects differences, but keeps additional peers. It returns ErrImpossible if Problems is not
// empty or the kernel lacks a kind, network.ErrUnavailable while the parent is missing or down, and
// network.ErrTaken if a needed resource is in use.
func (k *Kernel) EnsureSegment(ctx context.Context, s Segment) error {
	if err := s.valid(); err != nil {
		return err
	}
	err := k.do(ctx, "asking the kernel", s.keys(), func(ctx context.Context, c *conn) error {
		var base netlink.Link
		if s.Parent != "" {
			var err error
			if base, err = c.ensureBase(ctx, s, bridgeName(s.Network)); err != nil {
				return err
			}
		}
		if !s.bridged() {
			return nil
		}
		return c.ensureBridge(ctx, s, base)
	})
	if err != nil || s.bridged() {
		return err
	}
	return k.kinds.has(s.Kind, func() map[Kind]error { return k.Probe(ctx) })
}

// RemoveSegment removes the links of EnsureSegment. It ignores missing ones. A VLAN of a parent is removed with
// the last network that uses it, unless another program created it.
func (k *Kernel) RemoveSegment(ctx context.Context, s Segment) error {
	return k.do(ctx, "removing the links of the network", s.keys(), func(ctx context.Context, c *conn) error {
		of := mark{network: s.Network}
		if err := c.removeOwn(ctx, tunnelName(s.Network), of); err != nil {
			return err
		}
		if err := c.removeOwn(ctx, bridgeName(s.Network), of); err != nil {
			return err
		}
		if !s.subbed() {
			return nil
		}
		return c.removeSub(ctx, s)
	})
}

func (c *conn) removeSub(ctx context.Context, s Segment) error {
	parent, err := c.byName(ctx, s.Parent)
	if err != nil || parent == nil {
		return err // its VLANs were removed with it
	}
	sub, err := c.sub(ctx, parent, s.VLAN)
	if err != nil || sub == nil {
		return err
	}
	ours := mark{parent: s.Parent, vlan: s.VLAN}.String()
	if a := sub.Attrs(); a.Alias != ours && (a.Alias != "" || a.Name != subOwnName(s.Parent, s.VLAN)) {
		return nil
	}
	return c.leaveSub(ctx, sub, s.Network)
}

// keys returns the locks for changing the segment.
func (s Segment) keys() []string { return append(s.baseKeys(), "network/"+s.Network) }

// valid returns all problems as one error.
func (s Segment) valid() error {
	problems := s.Problems()
	if len(problems) == 0 {
		return nil
	}
	all := make([]error, 0, len(problems))
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		all = append(all, fmt.Errorf("%s: %w", field, problems[field]))
	}
	return fmt.Errorf("%w: %w", ErrImpossible, errors.Join(all...))
}

// ensureBridge creates the bridge of a network, with gateway addresses and outside ports.
func (c *conn) ensureBridge(ctx context.Context, s Segment, base netlink.Link) error {
	bridge, mtu, err := c.bridge(ctx, s, base)
	if err != nil {
		return err
	}
	if err := c.ensureGateways(ctx, bridge, s.Gateways); err != nil {
		return err
	}
	if s.Kind == VXLAN {
		return c.ensureTunnel(ctx, s, bridge, base, mtu)
	}
	if base == nil || base.Attrs().MasterIndex == bridge.Attrs().Index {
		return nil
	}
	if err := c.expendable(ctx, base); err != nil {
		return err
	}
	return fault("making "+base.Attrs().Name+" a port", c.set(ctx, base.Attrs().Index, settings{master: bridge.Attrs().Index}))
}

// adopt adds the host ends of the network's endpoints to a new bridge, because another program removed the
// previous one while containers are running.
func (c *conn) adopt(ctx context.Context, network string, bridge netlink.Link) error {
	links, err := c.links(ctx)
	if err != nil {
		return err
	}
	for _, end := range links {
		a := end.Attrs()
		of, ok := parseMark(a.Alias)
		if !ok || of.network != network || of.endpoint == "" || a.Name != PortName(of.endpoint) || a.MasterIndex != 0 {
			continue
		}
		err := c.set(ctx, a.Index, settings{master: bridge.Attrs().Index})
		if err != nil && !errors.Is(err, unix.ENODEV) { // the endpoint may be removed concurrently
			return fault("making "+a.Name+" a port again", err)
		}
	}
	return nil
}

// bridge creates the bridge without ports and returns its MTU.
func (c *conn) bridge(ctx context.Context, s Segment, base netlink.Link) (netlink.Link, int, error) {
	mtu, err := c.segmentMTU(ctx, s.Spec, base)
	if err != nil {
		return nil, 0, err
	}
	name, of := bridgeName(s.Network), mark{network: s.Network}
	bridge, err := c.own(ctx, name, of)
	if err != nil {
		return nil, 0, err
	}
	if bridge == nil {
		// A bridge with an explicit MAC address does not take those of its ports in turn. The address differs
		// on each machine.
		if err := c.create(ctx, creation{kind: "bridge", settings: settings{name: name, mac: newMAC()}}); err != nil {
			return nil, 0, making("making the bridge "+name, "bridge", err)
		}
		if bridge, err = c.own(ctx, name, of); err != nil || bridge == nil {
			return nil, 0, errors.Join(err, fmt.Errorf("%w: the bridge went away meanwhile", network.ErrUnavailable))
		}
	}
	if bridge.Type() != "bridge" {
		return nil, 0, fmt.Errorf("%w: %s is no bridge, but %s", network.ErrTaken, name, bridge.Type())
	}
	if err := c.place.refuseRouters(name); err != nil {
		return nil, 0, err
	}
	if bridge.Attrs().Alias == "" {
		if err := c.adopt(ctx, s.Network, bridge); err != nil {
			return nil, 0, err
		}
	}
	return bridge, mtu, fault("setting up the bridge "+name, c.setBridge(ctx, s, bridge, mtu))
}

// setBridge corrects differences. If the machine is no IPv6 gateway, the bridge gets no IPv6 address at all.
func (c *conn) setBridge(ctx context.Context, s Segment, bridge netlink.Link, mtu int) error {
	a := bridge.Attrs()
	wanted := settings{up: a.Flags&net.FlagUp == 0}
	if a.Alias == "" {
		wanted.alias = mark{network: s.Network}.String()
		wanted.quiet = !slices.ContainsFunc(s.Gateways, func(p netip.Prefix) bool { return p.Addr().Is6() })
	}
	if mtu != 0 && a.MTU != mtu {
		wanted.mtu = mtu
	}
	switch {
	case wanted.quiet:
		return c.setUp(ctx, a.Index, wanted)
	case wanted.up || wanted.alias != "" || wanted.mtu != 0:
		return c.set(ctx, a.Index, wanted)
	default:
		return nil
	}
}

// expendable returns an error for an interface with addresses, which would stop working if it became a port of
// a bridge.
func (c *conn) expendable(ctx context.Context, link netlink.Link) error {
	addresses, err := c.addresses(ctx, link)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if address.Addr().IsLinkLocalUnicast() {
			continue
		}
		return fmt.Errorf("%w: %s has the address %s of this machine, which it would lose as a port of a bridge: choose macvlan, or another parent",
			ErrImpossible, link.Attrs().Name, address)
	}
	return nil
}

// addresses returns the addresses of a link, or of all links if it is nil.
func (c *conn) addresses(ctx context.Context, link netlink.Link) ([]netip.Prefix, error) {
	all, err := c.addressed(ctx, link)
	prefixes := make([]netip.Prefix, len(all))
	for i := range all {
		prefixes[i] = all[i].Prefix
	}
	return prefixes, err
}

// addressed is an address with the index of its link.
type addressed struct {
	netip.Prefix
	index int
}

func (c *conn) addressed(ctx context.Context, link netlink.Link) ([]addressed, error) {
	var list []netlink.Addr
	err := c.ask(ctx, func(h *netlink.Handle) (err error) {
		list, err = h.AddrList(link, unix.AF_UNSPEC)
		return err
	})
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fault("listing addresses", err)
	}
	var all []addressed
	for i := range list {
		address, ok := netip.AddrFromSlice(list[i].IP)
		if !ok || list[i].IPNet == nil {
			continue
		}
		length, _ := list[i].Mask.Size()
		all = append(all, addressed{netip.PrefixFrom(address.Unmap(), length), list[i].LinkIndex})
	}
	return all, nil
}

// ensureGateways adds the gateway addresses to a bridge, and removes others from their subnets.
func (c *conn) ensureGateways(ctx context.Context, bridge netlink.Link, gateways []netip.Prefix) error {
	if len(gateways) == 0 {
		return nil
	}
	there, err := c.addresses(ctx, bridge)
	if err != nil {
		return err
	}
	for _, address := range there {
		if slices.Contains(gateways, address) || !slices.ContainsFunc(gateways, address.Overlaps) {
			continue
		}
		err := c.ask(ctx, func(h *netlink.Handle) error { return h.AddrDel(bridge, &netlink.Addr{IPNet: ipNet(address)}) })
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fault("removing the address "+address.String(), err)
		}
	}
	for _, gateway := range gateways {
		if slices.Contains(there, gateway) {
			continue
		}
		// Duplicate address detection is disabled (RFC 4862, 5.4), because the address is exclusive and used at
		// once.
		err := c.ask(ctx, func(h *netlink.Handle) error {
			return h.AddrAdd(bridge, &netlink.Addr{IPNet: ipNet(gateway), Flags: unix.IFA_F_NODAD})
		})
		switch {
		case errors.Is(err, unix.EEXIST):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EACCES) && gateway.Addr().Is6():
			return fmt.Errorf("setting the gateway %s: %w: this machine has IPv6 switched off: %w", gateway, ErrImpossible, err)
		case err != nil:
			return fault("setting the gateway "+gateway.String(), err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
