// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// subbed reports whether the links are on a VLAN sub-interface of the parent, which is created if it is
// missing.
func (s Spec) subbed() bool { return s.VLAN != 0 && s.Kind != VLAN }

// subLock is the lock for sub-interfaces of parents, which several networks share.
const subLock = "parents"

func (s Spec) baseKeys() []string {
	if s.subbed() {
		return []string{subLock}
	}
	return nil
}

// parent returns the parent interface of a Spec. It fails if the interface is missing, down, or a port of a
// device other than ours.
func (c *conn) parent(ctx context.Context, s Spec, ours string) (netlink.Link, error) {
	link, err := c.byName(ctx, s.Parent)
	if err != nil {
		return nil, err
	}
	if link == nil {
		return nil, fmt.Errorf("%w: this machine has no interface %s, which is to be the parent", network.ErrUnavailable, s.Parent)
	}
	if link.Attrs().Flags&net.FlagLoopback != 0 {
		return nil, fmt.Errorf("%w: %s is the loopback, which cannot be a parent", ErrImpossible, s.Parent)
	}
	return link, c.usable(ctx, link, s, ours)
}

// usable returns an error if links of a network cannot be on an interface.
func (c *conn) usable(ctx context.Context, link netlink.Link, s Spec, ours string) error {
	a := link.Attrs()
	if a.Flags&net.FlagUp == 0 {
		return fmt.Errorf("%w: the parent %s is down: ip link set %s up", network.ErrUnavailable, a.Name, a.Name)
	}
	if s.Kind != VXLAN && s.MTU > a.MTU {
		return fmt.Errorf("%w: an MTU of %d is above the one of the parent %s, %d", ErrImpossible, s.MTU, a.Name, a.MTU)
	}
	if a.MasterIndex == 0 || s.Kind == VLAN || s.Kind == VXLAN || s.subbed() && a.Name == s.Parent {
		return nil
	}
	master, err := c.byIndex(ctx, a.MasterIndex)
	if err != nil || master == nil {
		return err
	}
	if name := master.Attrs().Name; name != ours {
		return fmt.Errorf("%w: the parent %s is a port of %s already", network.ErrTaken, a.Name, name)
	}
	return nil
}

// base returns the interface that carries the links: the parent, or its sub-interface, or nil if that is
// missing.
func (c *conn) base(ctx context.Context, s Spec, ours string) (netlink.Link, error) {
	parent, err := c.parent(ctx, s, ours)
	if err != nil || !s.subbed() {
		return parent, err
	}
	sub, err := c.sub(ctx, parent, s.VLAN)
	if err != nil || sub == nil {
		return nil, err
	}
	return sub, c.usable(ctx, sub, s, ours)
}

// sub returns the interface of a parent's VLAN under any name, or nil if there is none in this namespace.
func (c *conn) sub(ctx context.Context, parent netlink.Link, vlan uint16) (netlink.Link, error) {
	for _, name := range []string{subName(parent.Attrs().Name, vlan), subOwnName(parent.Attrs().Name, vlan)} {
		link, err := c.byName(ctx, name)
		if err != nil {
			return nil, err
		}
		if link != nil && isSub(link, parent, vlan) {
			return link, nil
		}
	}
	links, err := c.links(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(links, func(link netlink.Link) bool { return isSub(link, parent, vlan) }); i >= 0 {
		return links[i], nil
	}
	return nil, nil // no interface is a valid answer
}

func isSub(link, parent netlink.Link, vlan uint16) bool {
	sub, ok := link.(*netlink.Vlan)
	return ok && sub.VlanId == int(vlan) && sub.ParentIndex == parent.Attrs().Index && sub.NetNsID < 0 &&
		(sub.VlanProtocol == netlink.VLAN_PROTOCOL_8021Q || sub.VlanProtocol == netlink.VLAN_PROTOCOL_UNKNOWN)
}

// ensureBase creates a missing sub-interface of the parent and records that the network uses it.
func (c *conn) ensureBase(ctx context.Context, s Segment, ours string) (netlink.Link, error) {
	parent, err := c.parent(ctx, s.Spec, ours)
	if err != nil || !s.subbed() {
		return parent, err
	}
	sub, err := c.sub(ctx, parent, s.VLAN)
	if err == nil && sub == nil {
		if err = c.createSub(ctx, s.Spec, parent); err == nil {
			sub, err = c.byName(ctx, subOwnName(s.Parent, s.VLAN))
		}
	}
	if err != nil {
		return nil, err
	}
	if sub != nil {
		if err := c.adoptSub(ctx, s, sub); err != nil {
			return nil, err
		}
		sub, err = c.byIndex(ctx, sub.Attrs().Index)
	}
	if err == nil && sub == nil {
		err = fmt.Errorf("%w: VLAN %d of %s went away meanwhile", network.ErrUnavailable, s.VLAN, s.Parent)
	}
	if err != nil {
		return nil, err
	}
	return sub, c.usable(ctx, sub, s.Spec, ours)
}

// createSub creates a sub-interface under a name of ours, so that one without a mark is known to be incomplete.
// It is down, because Linux before 6.2 does not rename an interface that is up.
func (c *conn) createSub(ctx context.Context, s Spec, parent netlink.Link) error {
	what := fmt.Sprintf("making VLAN %d of %s", s.VLAN, s.Parent)
	err := c.create(ctx, vlanOf(subOwnName(s.Parent, s.VLAN), parent, s.VLAN, settings{}))
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("%s: %w: it is an interface in another network namespace, or %s is not it", what, network.ErrTaken, subOwnName(s.Parent, s.VLAN))
	}
	return making(what, "vlan", err)
}

// vlanOf returns the creation of a parent's VLAN.
func vlanOf(name string, parent netlink.Link, vlan uint16, s settings) creation {
	s.name = name
	return creation{settings: s, kind: "vlan", parent: parent.Attrs().Index, data: func(data *nl.RtAttr) {
		data.AddRtAttr(nl.IFLA_VLAN_ID, nl.Uint16Attr(vlan))
	}}
}

// adoptSub marks a sub-interface that we created, renames it to the usual name, and records that a network uses
// it. It does not change sub-interfaces of other programs.
func (c *conn) adoptSub(ctx context.Context, s Segment, sub netlink.Link) error {
	a := sub.Attrs()
	marked := mark{parent: s.Parent, vlan: s.VLAN}.String()
	if a.Alias != marked && (a.Alias != "" || a.Name != subOwnName(s.Parent, s.VLAN)) {
		return nil
	}
	if err := c.markSub(ctx, s.Spec, sub, marked); err != nil {
		return fault("marking VLAN "+a.Name, err)
	}
	if slices.Contains(a.AltNames, userPrefix+s.Network) {
		return nil
	}
	err := c.ask(ctx, func(h *netlink.Handle) error { return h.LinkAddAltName(sub, userPrefix+s.Network) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("noting who uses %s: %w: this kernel knows no alternative names (Linux 5.5): %w", a.Name, ErrImpossible, err)
	}
	return fault("noting who uses "+a.Name, err)
}

// markSub sets mark and name of a sub-interface and sets it up. It keeps its automatic IPv6 address, which
// ipvlan in mode l3 needs for neighbor discovery.
func (c *conn) markSub(ctx context.Context, s Spec, sub netlink.Link, marked string) error {
	a := sub.Attrs()
	up := a.Flags&net.FlagUp != 0
	if err := c.place.refuseRouters(a.Name); err != nil || a.Alias != "" && up {
		return err
	}
	wanted := settings{up: true}
	if a.Alias == "" {
		wanted.alias = marked
		other, err := c.byName(ctx, subName(s.Parent, s.VLAN))
		if err != nil {
			return err
		}
		if other == nil && !up {
			wanted.name = subName(s.Parent, s.VLAN)
		}
	}
	return c.set(ctx, a.Index, wanted)
}

// leaveSub removes a network from the users of a sub-interface, and the interface with the last user.
func (c *conn) leaveSub(ctx context.Context, sub netlink.Link, user string) error {
	a := sub.Attrs()
	users := 0
	for _, name := range a.AltNames {
		switch {
		case user != "" && name == userPrefix+user:
			err := c.ask(ctx, func(h *netlink.Handle) error { return h.LinkDelAltName(sub, name) })
			if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENOENT) {
				return fault("noting who uses "+a.Name, err)
			}
		case len(name) > len(userPrefix) && name[:len(userPrefix)] == userPrefix:
			users++
		}
	}
	if users > 0 {
		return nil
	}
	links, err := c.links(ctx)
	if err != nil {
		return err
	}
	if a.MasterIndex != 0 || slices.ContainsFunc(links, func(other netlink.Link) bool { return on(other, a.Index) }) {
		return nil // another program has links on it
	}
	return c.delete(ctx, sub)
}

// on reports whether a link is on another link of this namespace.
func on(link netlink.Link, index int) bool {
	a := link.Attrs()
	return a.ParentIndex == index && a.NetNsID < 0 && a.Index != index
}
