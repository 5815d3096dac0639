// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// EnsurePort creates or completes the interface of an endpoint, down and marked, and returns it with its MAC
// address; for ipvlan without one. It does not change an interface that has moved into a sandbox. That is
// detected by the other end of its veth pair, its MAC address (macvlan) or its VLAN; for ipvlan it is not
// detectable, and another interface is created. The errors are those of EnsureSegment, and ErrNoSegment. A MAC
// address or VLAN in use is network.ErrTaken.
func (k *Kernel) EnsurePort(ctx context.Context, s Segment, p Port) (Port, error) {
	if err := errors.Join(s.valid(), p.valid(s.Spec)); err != nil {
		return Port{}, err
	}
	return run(ctx, k, "making the interface of the endpoint", []string{"endpoint/" + p.Endpoint}, func(ctx context.Context, c *conn) (Port, error) {
		if s.bridged() {
			return c.ensureVeth(ctx, s, p)
		}
		return c.ensureChild(ctx, s, p)
	})
}

// RemovePort removes the interface of an endpoint from this namespace, and a veth pair also from its sandbox.
// It ignores a missing one.
func (k *Kernel) RemovePort(ctx context.Context, s Segment, endpoint string) error {
	return k.do(ctx, "removing the interface of the endpoint", []string{"endpoint/" + endpoint}, func(ctx context.Context, c *conn) error {
		of := mark{network: s.Network, endpoint: endpoint}
		if err := c.removeOwn(ctx, PortName(endpoint), of); err != nil {
			return err
		}
		return c.removeOwn(ctx, InterfaceName(endpoint), of)
	})
}

// RepairPort makes the listed end of a veth pair a port of its network's bridge again: up, with the network's
// MTU. It creates no pair, and ignores an end or a bridge that was removed since.
func (k *Kernel) RepairPort(ctx context.Context, s Segment, m Marked) error {
	return k.do(ctx, "repairing the bridge's port", m.keys(), func(ctx context.Context, c *conn) error {
		of := mark{network: m.Network, endpoint: m.Endpoint}
		end, err := c.byIndex(ctx, m.Index)
		if err != nil || end == nil || end.Type() != "veth" || end.Attrs().Alias != of.String() {
			return err
		}
		bridge, err := c.own(ctx, bridgeName(s.Network), mark{network: s.Network})
		if err != nil || bridge == nil {
			return err
		}
		mtu := s.MTU
		if mtu == 0 {
			mtu = bridge.Attrs().MTU
		}
		if settled(end, of, bridge.Attrs().Index, mtu) {
			return nil
		}
		return c.setHost(ctx, of, bridge.Attrs().Index, mtu)
	})
}

// valid returns an error for settings that the kind of links does not support.
func (p Port) valid(s Spec) error {
	if len(p.MAC) > 0 {
		if err := MACProblem(p.MAC); err != nil {
			return fmt.Errorf("%w: %w", ErrImpossible, err)
		}
	}
	switch {
	case p.Endpoint == "":
		return fmt.Errorf("%w: an endpoint needs an identifier", ErrImpossible)
	case p.VLAN > MaxVLAN:
		return fmt.Errorf("%w: %d is no VLAN: 1 to %d", ErrImpossible, p.VLAN, MaxVLAN)
	case s.Kind == VLAN && p.VLAN == 0 && s.VLAN == 0:
		return fmt.Errorf("%w: neither the network nor the endpoint has a VLAN", ErrImpossible)
	case s.Kind == VLAN && p.VLAN != 0 && s.VLAN != 0 && p.VLAN != s.VLAN:
		return fmt.Errorf("%w: the endpoint's VLAN is %d, and the network's %d", ErrImpossible, p.VLAN, s.VLAN)
	case s.Kind == Ipvlan && len(p.MAC) > 0:
		return fmt.Errorf("%w: an interface of ipvlan has the MAC address of the parent; it cannot be %s", ErrImpossible, p.MAC)
	default:
		return nil
	}
}

// ensureVeth creates a veth pair with one end as a port of the network's bridge.
func (c *conn) ensureVeth(ctx context.Context, s Segment, p Port) (Port, error) {
	of := mark{network: s.Network, endpoint: p.Endpoint}
	bridge, err := c.own(ctx, bridgeName(s.Network), mark{network: s.Network})
	if err != nil {
		return p, err
	}
	if bridge == nil {
		return p, ErrNoSegment
	}
	mtu := s.MTU
	if mtu == 0 {
		mtu = bridge.Attrs().MTU
	}
	host, err := c.own(ctx, PortName(p.Endpoint), of)
	if err != nil {
		return p, err
	}
	switch {
	case host == nil:
		p, err = c.createVeth(ctx, p, of, bridge.Attrs().Index, mtu)
	case host.Type() != "veth":
		return p, fmt.Errorf("%w: %s is no veth, but %s", network.ErrTaken, host.Attrs().Name, host.Type())
	default:
		if !settled(host, of, bridge.Attrs().Index, mtu) {
			err = c.setHost(ctx, of, bridge.Attrs().Index, mtu)
		}
		if err == nil {
			p, err = c.adoptPeer(ctx, p, of, host, mtu)
		}
	}
	if errors.Is(err, unix.EINVAL) {
		if still, lookErr := c.byIndex(ctx, bridge.Attrs().Index); lookErr == nil && still == nil {
			return p, ErrNoSegment // the bridge was removed
		}
	}
	return p, err
}

// createVeth creates both ends at once; one never exists without the other.
func (c *conn) createVeth(ctx context.Context, p Port, of mark, bridge, mtu int) (Port, error) {
	if len(p.MAC) == 0 {
		p.MAC = newMAC()
	}
	pair := vethOf(PortName(p.Endpoint), InterfaceName(p.Endpoint), p.MAC, settings{mtu: mtu, master: bridge})
	err := c.create(ctx, pair)
	if errors.Is(err, unix.EEXIST) {
		// Remove an interface of this endpoint of another kind. It is unused, because it is in this namespace.
		var other netlink.Link
		if other, err = c.own(ctx, InterfaceName(p.Endpoint), of); err != nil {
			return p, err
		}
		if other != nil {
			err = c.delete(ctx, other)
		}
		if err == nil {
			err = c.create(ctx, pair)
		}
	}
	if errors.Is(err, unix.EXFULL) {
		return p, fmt.Errorf("%w: the bridge has as many ports as Linux lets it have, 1023: %w", network.ErrExhausted, err)
	}
	if err != nil {
		return p, making("making a veth pair", "veth", err)
	}
	if err := c.setHost(ctx, of, 0, 0); err != nil {
		return p, err
	}
	return p, fault("marking the interface", c.setNamed(ctx, InterfaceName(p.Endpoint), settings{alias: of.String()}))
}

// vethOf returns the creation of a veth pair. The MAC address is for the other end.
func vethOf(name, other string, mac network.HardwareAddr, with settings) creation {
	with.name = name
	return creation{settings: with, kind: "veth", data: func(data *nl.RtAttr) {
		peer := data.AddRtAttr(nl.VETH_INFO_PEER, nil)
		nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC)
		peer.AddRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(other))
		if with.mtu != 0 {
			peer.AddRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(with.mtu)))
		}
		if len(mac) > 0 {
			peer.AddRtAttr(unix.IFLA_ADDRESS, mac)
		}
	}}
}

// setHost sets up the end of a veth pair that stays here.
func (c *conn) setHost(ctx context.Context, of mark, bridge, mtu int) error {
	wanted := settings{alias: of.String(), master: bridge, mtu: mtu, up: true, quiet: true}
	return fault("setting up the bridge's port", c.setNamed(ctx, PortName(of.endpoint), wanted))
}

// settled reports whether a port of a bridge has the settings of setHost and ensureTunnel. This avoids changes,
// which block all others on the machine.
func settled(port netlink.Link, of mark, bridge, mtu int) bool {
	a := port.Attrs()
	return a.Alias == of.String() && a.MasterIndex == bridge && a.MTU == mtu && a.Flags&net.FlagUp != 0
}

// adoptPeer completes the other end of a veth pair if it is here, and only reads it if it is in a sandbox.
func (c *conn) adoptPeer(ctx context.Context, p Port, of mark, host netlink.Link, mtu int) (Port, error) {
	a := host.Attrs()
	if a.NetNsID >= 0 {
		inside, err := c.inside(ctx, a.NetNsID, a.ParentIndex)
		if err != nil || inside == nil {
			return p, err
		}
		p.MAC = network.HardwareAddr(inside.Attrs().HardwareAddr)
		return p, nil
	}
	peer, err := c.byIndex(ctx, a.ParentIndex)
	if err != nil || peer == nil {
		return p, err
	}
	wanted := settings{alias: of.String(), mtu: mtu}
	if len(p.MAC) > 0 && !bytes.Equal(p.MAC, peer.Attrs().HardwareAddr) {
		wanted.mac = p.MAC
	}
	p.MAC = network.HardwareAddr(peer.Attrs().HardwareAddr)
	if wanted.mac != nil {
		p.MAC = wanted.mac
	}
	if wanted.mac == nil && peer.Attrs().Alias == wanted.alias && peer.Attrs().MTU == mtu {
		return p, nil
	}
	return p, fault("completing the interface", c.set(ctx, peer.Attrs().Index, wanted))
}

// newMAC returns a random, locally administered unicast address.
func newMAC() network.HardwareAddr {
	mac := make(network.HardwareAddr, 6)
	rand.Read(mac)
	mac[0] = mac[0]&^1 | 2
	return mac
}
