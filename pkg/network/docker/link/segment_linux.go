// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// EnsureSegment makes the links of a network except its endpoints match s: bridge, addresses, tunnel with its peers,
// VLAN of the parent. s must have no Problems. It returns ErrImpossible if the kernel lacks a kind,
// network.ErrUnavailable while the parent is missing or down, network.ErrTaken if another network or program has a link
// or the parent, and other errors of the kernel.
func (k *Kernel) EnsureSegment(ctx context.Context, s Segment) error {
	return k.do(ctx, "network/"+s.Network, func(h session) error {
		if s.hasSubinterface() {
			if err := k.ensureSubinterface(h, s); err != nil {
				return err
			}
		}
		base, err := h.base(s)
		if err != nil {
			return err
		}
		if !s.Bridged() {
			return h.supports(s.Kind)
		}
		return h.ensureBridge(s, base)
	})
}

// RemoveSegment removes the links of EnsureSegment. It ignores missing ones. It removes the VLAN of a parent unless
// another program created it, or other networks need it (keepVLAN).
func (k *Kernel) RemoveSegment(ctx context.Context, s Segment, keepVLAN bool) error {
	return k.do(ctx, "network/"+s.Network, func(h session) error {
		of := Mark{Network: s.Network}
		if err := errors.Join(h.removeOwn(tunnelName(s.Network), of), h.removeOwn(bridgeName(s.Network), of)); err != nil {
			return err
		}
		if !s.hasSubinterface() || keepVLAN {
			return nil
		}
		return k.removeSubinterface(h, s)
	})
}

// base returns the interface that carries a network's links: nil, the parent, or its VLAN. It fails if that is
// missing, down, or a port of a bridge of another network or program.
func (h session) base(s Segment) (netlink.Link, error) {
	if s.Parent == "" {
		return nil, nil //nolint:nilnil // a network without a parent
	}
	base, err := h.find(h.LinkByName(s.Parent))
	switch {
	case err != nil:
		return nil, err
	case base == nil:
		return nil, fmt.Errorf("%w: the parent interface %s does not exist on this machine", network.ErrUnavailable,
			s.Parent)
	case base.Attrs().Flags&net.FlagLoopback != 0:
		return nil, fmt.Errorf("%w: %s is the loopback, which cannot be a parent", ErrImpossible, s.Parent)
	}
	if s.hasSubinterface() {
		if base, err = h.subinterface(base, s.VLAN); err != nil {
			return nil, err
		}
		if base == nil {
			return nil, ErrNoSegment
		}
	}
	a := base.Attrs()
	if a.Flags&net.FlagUp == 0 {
		return nil, fmt.Errorf("%w: the parent %s is down: ip link set %s up", network.ErrUnavailable, a.Name, a.Name)
	}
	if s.Kind != VXLAN && s.MTU > a.MTU {
		return nil, fmt.Errorf("%w: an MTU of %d is above the one of the parent %s, %d", ErrImpossible, s.MTU, a.Name, a.MTU)
	}
	if a.MasterIndex == 0 || s.Kind == VLAN || s.Kind == VXLAN {
		return base, nil
	}
	master, err := h.find(h.LinkByIndex(a.MasterIndex))
	if master != nil && master.Attrs().Name != bridgeName(s.Network) {
		err = fmt.Errorf("%w: the parent %s is a port of %s already", network.ErrTaken, a.Name, master.Attrs().Name)
	}
	return base, err
}

// subinterface returns the interface of a parent's VLAN under any name, or nil if there is none in this namespace.
func (h session) subinterface(parent netlink.Link, vlan int) (netlink.Link, error) {
	links, err := h.links()
	for _, link := range links {
		sub, ok := link.(*netlink.Vlan)
		if ok && sub.VlanId == vlan && isOn(sub, parent) && sub.VlanProtocol != netlink.VLAN_PROTOCOL_8021AD {
			return sub, nil
		}
	}
	return nil, err
}

// isOn reports whether a link is on another link of this namespace.
func isOn(link, parent netlink.Link) bool {
	a := link.Attrs()
	return a.ParentIndex == parent.Attrs().Index && a.NetNsID < 0 && a.Index != a.ParentIndex
}

// ensureSubinterface creates the missing VLAN of a parent. It is created under a name of ours, so that one without a
// mark is known to be incomplete, and gets the usual name if that is free. It keeps its automatic IPv6 address, which
// ipvlan in mode l3 needs for neighbor discovery. VLANs of other programs are used, but not changed.
func (k *Kernel) ensureSubinterface(h session, s Segment) error {
	k.parents.Lock()
	defer k.parents.Unlock()
	parent, err := h.find(h.LinkByName(s.Parent))
	if err != nil || parent == nil {
		return err // base explains it
	}
	sub, err := h.subinterface(parent, s.VLAN)
	if err != nil {
		return err
	}
	if sub == nil {
		made := &netlink.Vlan{LinkAttrs: newAttributes(subOwnName(s.Parent, s.VLAN)), VlanId: s.VLAN}
		made.ParentIndex = parent.Attrs().Index
		if sub, err = h.create(made); err != nil {
			return err
		}
	}
	if !s.ownsSubinterface(sub) {
		return nil
	}
	if err := refuseRouters(sub.Attrs().Name); err != nil {
		return err
	}
	if err := h.apply(sub, netlink.LinkAttrs{Alias: s.subinterfaceMark()}, false, false); err != nil {
		return err
	}
	if sub.Attrs().Name == subOwnName(s.Parent, s.VLAN) { // after the mark, which keeps it ours
		_ = h.LinkSetName(sub, subName(s.Parent, s.VLAN)) // another link may have the name
	}
	if sub.Attrs().RawFlags&unix.IFF_UP != 0 {
		return nil
	}
	return wrapError("setting up "+sub.Attrs().Name, sub.Type(), h.LinkSetUp(sub))
}

// subinterfaceMark returns the alias of the VLAN of the parent.
func (s Spec) subinterfaceMark() string { return Mark{Parent: s.Parent, VLAN: s.VLAN}.String() }

// ownsSubinterface reports whether we created a VLAN of a parent.
func (s Spec) ownsSubinterface(sub netlink.Link) bool {
	a := sub.Attrs()
	return a.Alias == s.subinterfaceMark() || a.Alias == "" && a.Name == subOwnName(s.Parent, s.VLAN)
}

// removeSubinterface removes the VLAN of a parent that we created, unless other programs have links on it.
func (k *Kernel) removeSubinterface(h session, s Segment) error {
	k.parents.Lock()
	defer k.parents.Unlock()
	parent, err := h.find(h.LinkByName(s.Parent))
	if err != nil || parent == nil {
		return err // its VLANs were removed with it
	}
	sub, err := h.subinterface(parent, s.VLAN)
	if err != nil || sub == nil || !s.ownsSubinterface(sub) {
		return err
	}
	links, err := h.links()
	if err != nil || sub.Attrs().MasterIndex != 0 || slices.ContainsFunc(links,
		func(link netlink.Link) bool { return isOn(link, sub) }) {
		return err
	}
	return h.remove(sub)
}

// ensureBridge makes the bridge of a network match, with gateway addresses and ports that lead outside.
func (h session) ensureBridge(s Segment, base netlink.Link) error {
	mtu, err := h.bridgeMTU(s.Spec, base)
	if err != nil {
		return err
	}
	name, of := bridgeName(s.Network), Mark{Network: s.Network}
	made := &netlink.Bridge{LinkAttrs: newAttributes(name)}
	made.HardwareAddr = make(net.HardwareAddr, 6) // without an own address, it takes those of its ports in turn
	rand.Read(made.HardwareAddr)
	made.HardwareAddr[0] = made.HardwareAddr[0]&^1 | 2 // locally administered, unicast
	bridge, err := h.ensure(made, of, func(netlink.Link) bool { return true })
	if err == nil && bridge.Type() != "bridge" {
		err = fmt.Errorf("%w: %s is not a bridge, but %s", network.ErrTaken, name, bridge.Type())
	}
	if err == nil {
		err = refuseRouters(name)
	}
	if err != nil {
		return err
	}
	// If the machine is no IPv6 gateway, the bridge gets no IPv6 address at all.
	quiet := !slices.ContainsFunc(s.Gateways, func(p netip.Prefix) bool { return p.Addr().Is6() })
	if err := h.apply(bridge, netlink.LinkAttrs{Alias: of.String(), MTU: mtu}, true, quiet); err != nil {
		return err
	}
	if err := h.ensureGateways(bridge, s.Gateways); err != nil {
		return err
	}
	if s.Kind == VXLAN {
		return h.ensureTunnel(s, bridge, base, mtu)
	}
	if base == nil || base.Attrs().MasterIndex == bridge.Attrs().Index {
		return nil
	}
	if err := h.checkWithoutAddresses(base); err != nil {
		return err
	}
	return wrapError("making "+base.Attrs().Name+" a port", "", h.LinkSetMasterByIndex(base, bridge.Attrs().Index))
}

// checkWithoutAddresses returns an error for an interface with addresses, which would stop working if it became a port
// of a bridge.
func (h session) checkWithoutAddresses(link netlink.Link) error {
	addresses, err := h.addresses(link)
	for _, address := range addresses {
		if !address.Addr().IsLinkLocalUnicast() {
			return fmt.Errorf("%w: %s has the address %s of this machine, which it would lose as a port of a "+
				"bridge: choose macvlan, or another parent", ErrImpossible, link.Attrs().Name, address)
		}
	}
	return err
}

// address is an address with the index of its link.
type address struct {
	netip.Prefix
	link int
}

// addresses returns the addresses of a link, or of all links if it is nil.
func (h session) addresses(link netlink.Link) ([]address, error) {
	list, err := h.AddrList(link, unix.AF_UNSPEC)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, wrapError("listing addresses", "", err)
	}
	var all []address
	for i := range list {
		if prefix, ok := netipx.FromStdIPNet(list[i].IPNet); ok {
			all = append(all, address{prefix, list[i].LinkIndex})
		}
	}
	return all, nil
}

// ensureGateways adds the gateway addresses to a bridge, and removes all other addresses from their subnets. Duplicate
// address detection is disabled (RFC 4862, 5.4), because the address is exclusive and used immediately.
func (h session) ensureGateways(bridge netlink.Link, gateways []netip.Prefix) error {
	there, err := h.addresses(bridge)
	if err != nil {
		return err
	}
	for _, a := range there {
		if slices.Contains(gateways, a.Prefix) || !slices.ContainsFunc(gateways, a.Overlaps) {
			continue
		}
		err := h.AddrDel(bridge, &netlink.Addr{IPNet: netipx.PrefixIPNet(a.Prefix)})
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return wrapError("removing the address "+a.String(), "", err)
		}
	}
	for _, gateway := range gateways {
		if slices.ContainsFunc(there, func(a address) bool { return a.Prefix == gateway }) {
			continue
		}
		if err := h.AddrReplace(bridge, &netlink.Addr{IPNet: netipx.PrefixIPNet(gateway), Flags: unix.IFA_F_NODAD}); err != nil {
			return wrapError("setting the gateway "+gateway.String(), "", err)
		}
	}
	return nil
}

const (
	// ipv6Settings is the directory with the IPv6 settings of interfaces. Netlink cannot change the needed ones.
	ipv6Settings = "/proc/sys/net/ipv6/conf"
	// hostSettings is the same directory of the host, mounted writable into a container in the host's network with a
	// read-only /proc/sys, such as a managed plugin of Docker (hack/plugin).
	hostSettings = "/host" + ipv6Settings
)

// refuseRouters disables router advertisements on a link, because any container on it could send them
// (CVE-2020-13401). It returns ErrImpossible if they are enabled and the setting cannot be written.
func refuseRouters(name string) error {
	file := filepath.Join(ipv6Settings, name, "accept_ra")
	refused := func() bool {
		text, err := os.ReadFile(file)
		return strings.TrimSpace(string(text)) == "0" || errors.Is(err, fs.ErrNotExist) // IPv6 may be disabled
	}
	if refused() {
		return nil
	}
	err := os.WriteFile(file, []byte("0"), 0)
	if err == nil || os.WriteFile(filepath.Join(hostSettings, name, "accept_ra"), []byte("0"), 0) == nil && refused() {
		return nil
	}
	return fmt.Errorf("refusing router advertisements, which containers could send to this machine: %w: %w: let "+
		"this process write to %s (a unit of systemd: ReadWritePaths=%s), or set "+
		"net.ipv6.conf.default.accept_ra to 0", ErrImpossible, err, ipv6Settings, ipv6Settings)
}

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
	overhead := overhead4
	if s.overIPv6() {
		overhead = overhead6
	}
	if carrier == nil {
		return cmp.Or(s.MTU, defaultMTU-overhead), nil
	}
	largest := carrier.Attrs().MTU - overhead
	if s.MTU > largest {
		return 0, fmt.Errorf("%w: an MTU of %d and %d bytes of a tunnel are above the MTU of %s, %d",
			ErrImpossible, s.MTU, overhead, carrier.Attrs().Name, carrier.Attrs().MTU)
	}
	return cmp.Or(s.MTU, largest), nil
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
			return nil, fmt.Errorf("%w: no interface of this machine has the local address %s of the tunnel",
				network.ErrUnavailable, s.Local)
		}
		if base == nil {
			return h.find(h.LinkByIndex(addresses[i].link))
		}
	}
	if base != nil || len(s.Peers) == 0 {
		return base, nil
	}
	routes, err := h.RouteGet(s.Peers[0].Unmap().AsSlice())
	if err != nil || len(routes) == 0 {
		return nil, nil //nolint:nilerr,nilnil // a route may be added later
	}
	return h.find(h.LinkByIndex(routes[0].LinkIndex))
}

// ensureTunnel makes the vxlan device of a network match, as a port of its bridge. It replaces a device with other
// settings, which affects no endpoint.
func (h session) ensureTunnel(s Segment, bridge, base netlink.Link, mtu int) error {
	name, of := tunnelName(s.Network), Mark{Network: s.Network}
	want := vxlan(name, s.Spec, base)
	tunnel, err := h.ensure(want, of, func(is netlink.Link) bool { return sameTunnel(is, want) })
	if err != nil {
		return err
	}
	if err := h.apply(tunnel, netlink.LinkAttrs{Alias: of.String(), MTU: mtu, MasterIndex: bridge.Attrs().Index}, true,
		true); err != nil {
		return err
	}
	return h.ensurePeers(tunnel.Attrs().Index, s.Peers)
}

// vxlan returns the description of a vxlan device.
func vxlan(name string, s Spec, base netlink.Link) *netlink.Vxlan {
	v := &netlink.Vxlan{LinkAttrs: newAttributes(name), VxlanId: s.VNI, Port: cmp.Or(s.Port, vxlanPort),
		Learning: true}
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

// ensurePeers makes the peers the destinations of packets with unknown destination, except this machine's addresses. It
// removes all other peers, and the entries learned from them.
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
		return wrapError("listing the peers of the tunnel", "", err)
	}
	for i := range entries {
		peer, ok := netip.AddrFromSlice(entries[i].IP)
		if peer = peer.Unmap(); !ok {
			continue
		}
		if _, wanted := missing[peer]; !wanted {
			if err := h.NeighDel(entry(tunnel, entries[i].HardwareAddr, peer)); err != nil && !errors.Is(err, unix.ENOENT) {
				return wrapError("removing the peer "+peer.String(), "", err)
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
			errs = append(errs, wrapError("adding the peer "+peer.String(), "", err)) // continue with the other peers
		}
	}
	return errors.Join(errs...)
}

// entry returns the forwarding entry for a MAC address behind a peer.
func entry(tunnel int, mac net.HardwareAddr, peer netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: tunnel, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF,
		HardwareAddr: mac, IP: peer.AsSlice()}
}
