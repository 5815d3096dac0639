// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// macvlanModes and ipvlanModes map modes to the numbers of the kernel and the library.
var (
	macvlanModes = map[string]struct {
		wire uint32
		mode netlink.MacvlanMode
	}{
		"":         {nl.MACVLAN_MODE_BRIDGE, netlink.MACVLAN_MODE_BRIDGE},
		"bridge":   {nl.MACVLAN_MODE_BRIDGE, netlink.MACVLAN_MODE_BRIDGE},
		"private":  {nl.MACVLAN_MODE_PRIVATE, netlink.MACVLAN_MODE_PRIVATE},
		"vepa":     {nl.MACVLAN_MODE_VEPA, netlink.MACVLAN_MODE_VEPA},
		"passthru": {nl.MACVLAN_MODE_PASSTHRU, netlink.MACVLAN_MODE_PASSTHRU},
	}
	ipvlanModes = map[string]netlink.IPVlanMode{
		"": netlink.IPVLAN_MODE_L2, "l2": netlink.IPVLAN_MODE_L2, "l3": netlink.IPVLAN_MODE_L3, "l3s": netlink.IPVLAN_MODE_L3S,
	}
)

// ensureChild creates an interface on the parent or its sub-interface.
func (c *conn) ensureChild(ctx context.Context, s Segment, p Port) (Port, error) {
	base, err := c.base(ctx, s.Spec, "")
	if err != nil {
		return p, err
	}
	if base == nil {
		return p, ErrNoSegment
	}
	if s.Kind == Macvlan && s.Mode == "passthru" {
		if own := network.HardwareAddr(base.Attrs().HardwareAddr); len(p.MAC) > 0 && !bytes.Equal(p.MAC, own) {
			return p, fmt.Errorf("%w: an interface of macvlan in mode passthru has the MAC address of the parent, %s; it cannot be %s", ErrImpossible, own, p.MAC)
		}
		p.MAC = network.HardwareAddr(base.Attrs().HardwareAddr)
	}
	if s.Kind == VLAN && p.VLAN == 0 {
		p.VLAN = s.VLAN
	}
	of := mark{network: s.Network, endpoint: p.Endpoint}
	there, err := c.own(ctx, InterfaceName(p.Endpoint), of)
	if err != nil {
		return p, err
	}
	if there != nil && !isChild(there, s.Spec, p, base) {
		if err := c.delete(ctx, there); err != nil { // it is unused, because it is in this namespace
			return p, err
		}
		there = nil
	}
	if there != nil {
		return c.adoptChild(ctx, s, p, of, there)
	}
	return c.createChild(ctx, s, p, of, base)
}

// childOf returns the creation of an interface on a parent.
func childOf(s Spec, p Port, base netlink.Link) creation {
	with := settings{name: InterfaceName(p.Endpoint), mtu: s.MTU, mac: p.MAC}
	n := creation{settings: with, kind: string(s.Kind), parent: base.Attrs().Index}
	switch s.Kind {
	case Macvlan:
		n.data = func(data *nl.RtAttr) { data.AddRtAttr(nl.IFLA_MACVLAN_MODE, nl.Uint32Attr(macvlanModes[s.Mode].wire)) }
	case Ipvlan:
		n.data = func(data *nl.RtAttr) { data.AddRtAttr(nl.IFLA_IPVLAN_MODE, nl.Uint16Attr(uint16(ipvlanModes[s.Mode]))) }
	default:
		return vlanOf(with.name, base, p.VLAN, with)
	}
	return n
}

// isChild reports whether an interface has the kind, mode and parent of the Spec.
func isChild(link netlink.Link, s Spec, p Port, base netlink.Link) bool {
	if !on(link, base.Attrs().Index) {
		return false
	}
	switch link := link.(type) {
	case *netlink.Macvlan:
		return s.Kind == Macvlan && link.Mode == macvlanModes[s.Mode].mode
	case *netlink.IPVlan:
		return s.Kind == Ipvlan && link.Mode == ipvlanModes[s.Mode]
	case *netlink.Vlan:
		return s.Kind == VLAN && link.VlanId == int(p.VLAN)
	default:
		return false
	}
}

func (c *conn) createChild(ctx context.Context, s Segment, p Port, of mark, base netlink.Link) (Port, error) {
	var err error
	if len(p.MAC) == 0 && s.Kind != Ipvlan {
		p.MAC = newMAC() // chosen here, because udev may change a random address of the kernel
	} else {
		err = c.taken(ctx, s.Spec, p, base)
	}
	if err == nil {
		err = c.create(ctx, childOf(s.Spec, p, base))
	}
	switch {
	case errors.Is(err, unix.EADDRINUSE), errors.Is(err, unix.EEXIST):
		away, awayErr := c.away(ctx, of)
		if awayErr != nil {
			return p, awayErr
		}
		if away != nil {
			p.MAC = network.HardwareAddr(away.Attrs().HardwareAddr)
			return p, nil
		}
		return p, c.childFault(ctx, s.Spec, p, base, err)
	case err != nil:
		return p, c.childFault(ctx, s.Spec, p, base, err)
	}
	return p, fault("marking the interface", c.setNamed(ctx, InterfaceName(p.Endpoint), settings{alias: of.String()}))
}

// taken returns an error if an interface of macvlan that is up has the MAC address on a parent, in any
// namespace. The kernel detects this too, but only when the second interface is set up in its sandbox.
func (c *conn) taken(ctx context.Context, s Spec, p Port, base netlink.Link) error {
	if s.Kind != Macvlan || s.Mode == "passthru" {
		return nil
	}
	if bytes.Equal(base.Attrs().HardwareAddr, p.MAC) {
		return unix.EADDRINUSE
	}
	has, err := c.busy.has(base.Attrs().Index, p.MAC, func() (map[string]bool, error) {
		entries, err := c.entries(ctx, base.Attrs().Index)
		macs := map[string]bool{}
		for i := range entries {
			macs[string(entries[i].HardwareAddr)] = true
		}
		return macs, err
	})
	if err == nil && has {
		err = unix.EADDRINUSE
	}
	return err
}

// adoptChild updates an existing interface.
func (c *conn) adoptChild(ctx context.Context, s Segment, p Port, of mark, there netlink.Link) (Port, error) {
	a := there.Attrs()
	wanted := settings{alias: of.String(), mtu: s.MTU}
	switch {
	case s.Kind == Ipvlan:
	case len(p.MAC) > 0 && !bytes.Equal(p.MAC, a.HardwareAddr):
		wanted.mac = p.MAC
	default:
		p.MAC = network.HardwareAddr(a.HardwareAddr)
	}
	err := c.set(ctx, a.Index, wanted)
	if errors.Is(err, unix.EADDRINUSE) {
		return p, fmt.Errorf("%w: another interface on the parent %s has the MAC address %s", network.ErrTaken, s.Parent, p.MAC)
	}
	return p, fault("completing the interface", err)
}

// childFault returns the reason why the kernel rejected an interface on a parent.
func (c *conn) childFault(ctx context.Context, s Spec, p Port, base netlink.Link, err error) error {
	name := base.Attrs().Name
	what := fmt.Sprintf("making an interface of kind %s on %s", s.Kind, name)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%s: %w: another interface on it has the MAC address %s", what, network.ErrTaken, p.MAC)
	case errors.Is(err, unix.EEXIST) && s.Kind == VLAN:
		return c.vlanTaken(ctx, what, p, base)
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EINVAL):
		if other := c.rival(ctx, s, base); other != "" {
			return fmt.Errorf("%s: %w: %s", what, network.ErrTaken, other)
		}
		return fmt.Errorf("%s: %w: %s has interfaces of another kind or mode already, perhaps within containers, or cannot be a parent: %w",
			what, network.ErrTaken, name, err)
	case errors.Is(err, unix.EOPNOTSUPP) && s.Kind == Ipvlan && s.Mode == "l3s":
		return fmt.Errorf("%s: %w: this kernel has no ipvlan (CONFIG_IPVLAN): modprobe ipvlan; or none with mode l3s (CONFIG_IPVLAN_L3S): %w", what, ErrImpossible, err)
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("%s: %w: it is down: ip link set %s up", what, network.ErrUnavailable, name)
	case errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%s: %w: it can carry no more: %w", what, network.ErrExhausted, err)
	default:
		return making(what, string(s.Kind), err)
	}
}

// vlanTaken returns an error that names the user of a parent's VLAN.
func (c *conn) vlanTaken(ctx context.Context, what string, p Port, base netlink.Link) error {
	sub, err := c.sub(ctx, base, p.VLAN)
	if err != nil {
		return err
	}
	if sub == nil {
		return fmt.Errorf("%s: %w: VLAN %d of it is an interface in another network namespace", what, network.ErrTaken, p.VLAN)
	}
	return fmt.Errorf("%s: %w: VLAN %d of it is the interface %s", what, network.ErrTaken, p.VLAN, sub.Attrs().Name)
}

// rival returns the interface on a parent that excludes another kind or mode, or "" if it is not visible.
func (c *conn) rival(ctx context.Context, s Spec, base netlink.Link) string {
	links, err := c.links(ctx)
	if err != nil {
		return ""
	}
	for _, link := range links {
		if !on(link, base.Attrs().Index) {
			continue
		}
		switch kind := link.Type(); {
		case kind == "macvlan" && s.Kind == Macvlan:
			if passthru := link.(*netlink.Macvlan).Mode == netlink.MACVLAN_MODE_PASSTHRU; passthru || s.Mode == "passthru" {
				return fmt.Sprintf("%s is on it, and in mode passthru there is only one", link.Attrs().Name)
			}
		case kind == "macvlan", kind == "macvtap", kind == "ipvlan", kind == "ipvtap":
			if kind != string(s.Kind) {
				return fmt.Sprintf("%s is on it, of kind %s: a parent has one of macvlan and ipvlan only", link.Attrs().Name, kind)
			}
		}
	}
	return ""
}
