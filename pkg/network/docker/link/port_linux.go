// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// EnsurePort makes the interface of an endpoint match, down and marked, and returns it with its MAC address, except for
// ipvlan. If one end of a veth pair has moved into a sandbox, only this side is completed. It fails like EnsureSegment,
// or with ErrNoSegment. Ports of the kind vlan need a VLAN, and ports of ipvlan have no MAC address.
func (k *Kernel) EnsurePort(ctx context.Context, s Segment, p Port) (Port, error) {
	made := p
	err := k.do(ctx, "endpoint/"+p.Endpoint, func(h session) (err error) {
		if s.Bridged() {
			made, err = h.ensureVeth(s, p)
		} else {
			made, err = h.ensureChild(s, p)
		}
		return err
	})
	if err != nil {
		return Port{}, err // made may still be written
	}
	return made, nil
}

// RemovePort removes the interface of an endpoint from this namespace, and a veth pair also from its sandbox.
// It ignores a missing one. It fails if the kernel does, or after the deadline.
func (k *Kernel) RemovePort(ctx context.Context, s Segment, endpoint string) error {
	return k.do(ctx, "endpoint/"+endpoint, func(h session) error {
		of := Mark{Network: s.Network, Endpoint: endpoint}
		return errors.Join(h.removeOwn(PortName(endpoint), of), h.removeOwn(InterfaceName(endpoint), of))
	})
}

// ensureVeth makes a veth pair match. One end is a port of the network's bridge.
func (h session) ensureVeth(s Segment, p Port) (Port, error) {
	of := Mark{Network: s.Network, Endpoint: p.Endpoint}
	bridge, err := h.ownLink(bridgeName(s.Network), Mark{Network: s.Network})
	if err != nil {
		return p, err
	}
	if bridge == nil {
		return p, ErrNoSegment
	}
	port, err := h.ownLink(PortName(p.Endpoint), of)
	if err != nil {
		return p, err
	}
	peer, err := h.ownLink(InterfaceName(p.Endpoint), of)
	if err != nil {
		return p, err
	}
	if peer != nil && (port == nil || port.Attrs().ParentIndex != peer.Attrs().Index) { // of another kind
		if err := h.remove(peer); err != nil {
			return p, err
		}
		peer = nil
	}
	want := netlink.LinkAttrs{Alias: of.String(), MTU: cmp.Or(s.MTU, bridge.Attrs().MTU),
		MasterIndex: bridge.Attrs().Index}
	created := port == nil
	if created {
		pair := &netlink.Veth{LinkAttrs: newAttributes(PortName(p.Endpoint)), PeerName: InterfaceName(p.Endpoint)}
		pair.MTU, pair.PeerHardwareAddr = want.MTU, net.HardwareAddr(p.MAC)
		if port, err = h.create(pair); err != nil {
			return p, err
		}
		if peer, err = h.ownLink(InterfaceName(p.Endpoint), of); err != nil {
			return p, err
		}
	}
	if err := h.apply(port, want, true, true); err != nil {
		if created {
			err = errors.Join(err, h.remove(port))
		}
		return p, err
	}
	if peer == nil {
		return p, nil // it is in a sandbox
	}
	want.MasterIndex = 0
	return h.complete(peer, p, want)
}

// complete makes the end of an endpoint's interface that moves into a sandbox match, except that it stays down.
func (h session) complete(link netlink.Link, p Port, want netlink.LinkAttrs) (Port, error) {
	if len(p.MAC) == 0 {
		p.MAC = network.HardwareAddr(link.Attrs().HardwareAddr)
	}
	if link.Type() != string(Ipvlan) {
		want.HardwareAddr = net.HardwareAddr(p.MAC)
	} else {
		p.MAC = nil
	}
	return p, h.apply(link, want, false, false)
}

var (
	macvlanModes = map[string]netlink.MacvlanMode{
		"": netlink.MACVLAN_MODE_BRIDGE, "bridge": netlink.MACVLAN_MODE_BRIDGE, "private": netlink.MACVLAN_MODE_PRIVATE,
		"vepa": netlink.MACVLAN_MODE_VEPA, Passthru: netlink.MACVLAN_MODE_PASSTHRU,
	}
	ipvlanModes = map[string]netlink.IPVlanMode{
		"": netlink.IPVLAN_MODE_L2, "l2": netlink.IPVLAN_MODE_L2, "l3": netlink.IPVLAN_MODE_L3,
		"l3s": netlink.IPVLAN_MODE_L3S,
	}
)

// ensureChild makes an interface on the parent or its VLAN match.
func (h session) ensureChild(s Segment, p Port) (Port, error) {
	base, err := h.base(s)
	if err != nil {
		return p, err
	}
	if s.Kind == Macvlan && s.Mode == Passthru {
		own := network.HardwareAddr(base.Attrs().HardwareAddr)
		if len(p.MAC) > 0 && !bytes.Equal(p.MAC, own) {
			return p, fmt.Errorf("%w: an interface of macvlan in mode passthru has the MAC address of the parent, "+
				"%s; it cannot be %s", ErrImpossible, own, p.MAC)
		}
		p.MAC = own
	}
	if s.Kind == VLAN {
		p.VLAN = cmp.Or(p.VLAN, s.VLAN)
	}
	of := Mark{Network: s.Network, Endpoint: p.Endpoint}
	want := child(InterfaceName(p.Endpoint), s.Spec, p, base)
	link, err := h.ensure(want, of, func(is netlink.Link) bool { // an unfit one is unused, because it is in this namespace
		return sameChild(is, s.Spec, p, base)
	})
	if err != nil {
		return p, err
	}
	return h.complete(link, p, netlink.LinkAttrs{Alias: of.String(), MTU: s.MTU})
}

// child returns the description of an interface on a parent.
func child(name string, s Spec, p Port, base netlink.Link) netlink.Link {
	a := newAttributes(name)
	a.ParentIndex, a.MTU, a.HardwareAddr = base.Attrs().Index, s.MTU, net.HardwareAddr(p.MAC)
	switch s.Kind {
	case Macvlan:
		return &netlink.Macvlan{LinkAttrs: a, Mode: macvlanModes[s.Mode]}
	case Ipvlan:
		return &netlink.IPVlan{LinkAttrs: a, Mode: ipvlanModes[s.Mode]}
	default:
		return &netlink.Vlan{LinkAttrs: a, VlanId: p.VLAN}
	}
}

// sameChild reports whether an interface has the kind, mode and parent of the Spec.
func sameChild(link netlink.Link, s Spec, p Port, base netlink.Link) bool {
	if !isOn(link, base) {
		return false
	}
	switch link := link.(type) {
	case *netlink.Macvlan:
		return s.Kind == Macvlan && link.Mode == macvlanModes[s.Mode]
	case *netlink.IPVlan:
		return s.Kind == Ipvlan && link.Mode == ipvlanModes[s.Mode]
	case *netlink.Vlan:
		return s.Kind == VLAN && link.VlanId == p.VLAN
	default:
		return false
	}
}

// newAttributes returns the attributes of a new link.
func newAttributes(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}
