// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
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
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// EnsureSegment makes the links of a network except its endpoints match s: bridge, addresses, tunnel with its peers,
// VLAN of the parent. It returns ErrImpossible if Problems is not empty or the kernel lacks a kind,
// network.ErrUnavailable while the parent is missing or down, and network.ErrTaken if a needed resource is in use.
func (k *Kernel) EnsureSegment(ctx context.Context, s Segment) error {
	if err := s.valid(); err != nil {
		return err
	}
	return k.do(ctx, "ensure-segment", s.Kind, "network/"+s.Network, func(h session) error {
		if s.hasSubinterface() {
			if err := k.ensureSubinterface(h, s); err != nil {
				return err
			}
		}
		base, err := h.base(s)
		if err != nil {
			return err
		}
		if !s.bridged() {
			return k.supports(h, s.Kind)
		}
		return h.ensureBridge(s, base)
	})
}

// RemoveSegment removes the links of EnsureSegment. It ignores missing ones. It removes the VLAN of a parent unless
// another program created it, or other networks need it (keepVLAN).
func (k *Kernel) RemoveSegment(ctx context.Context, s Segment, keepVLAN bool) error {
	return k.do(ctx, "remove-segment", s.Kind, "network/"+s.Network, func(h session) error {
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
	base, err := h.found(h.LinkByName(s.Parent))
	switch {
	case err != nil:
		return nil, err
	case base == nil:
		return nil, fmt.Errorf("%w: this machine has no interface %s, which is to be the parent", network.ErrUnavailable, s.Parent)
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
	master, err := h.found(h.LinkByIndex(a.MasterIndex))
	if master != nil && master.Attrs().Name != bridgeName(s.Network) {
		err = fmt.Errorf("%w: the parent %s is a port of %s already", network.ErrTaken, a.Name, master.Attrs().Name)
	}
	return base, err
}

// subinterface returns the interface of a parent's VLAN under any name, or nil if there is none in this namespace.
func (h session) subinterface(parent netlink.Link, vlan uint16) (netlink.Link, error) {
	links, err := h.links()
	for _, link := range links {
		sub, ok := link.(*netlink.Vlan)
		if ok && sub.VlanId == int(vlan) && isOn(sub, parent) && sub.VlanProtocol != netlink.VLAN_PROTOCOL_8021AD {
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
	parent, err := h.found(h.LinkByName(s.Parent))
	if err != nil || parent == nil {
		return err // base explains it
	}
	sub, err := h.subinterface(parent, s.VLAN)
	if err != nil {
		return err
	}
	if sub == nil {
		made := &netlink.Vlan{LinkAttrs: named(subOwnName(s.Parent, s.VLAN)), VlanId: int(s.VLAN)}
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
	if sub.Attrs().Alias == "" {
		_ = h.LinkSetName(sub, subName(s.Parent, s.VLAN)) // another link may have the name
	}
	return h.apply(sub, netlink.LinkAttrs{Alias: s.subinterfaceMark()}, true, false)
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
	parent, err := h.found(h.LinkByName(s.Parent))
	if err != nil || parent == nil {
		return err // its VLANs were removed with it
	}
	sub, err := h.subinterface(parent, s.VLAN)
	if err != nil || sub == nil || !s.ownsSubinterface(sub) {
		return err
	}
	links, err := h.links()
	if err != nil || sub.Attrs().MasterIndex != 0 || slices.ContainsFunc(links, func(link netlink.Link) bool { return isOn(link, sub) }) {
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
	bridge, err := h.own(name, of)
	if err == nil && bridge == nil {
		made := &netlink.Bridge{LinkAttrs: named(name)}
		made.HardwareAddr = net.HardwareAddr(newMAC()) // otherwise it takes those of its ports in turn
		bridge, err = h.create(made)
	}
	if err == nil && bridge.Type() != "bridge" {
		err = fmt.Errorf("%w: %s is no bridge, but %s", network.ErrTaken, name, bridge.Type())
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
	return explain("making "+base.Attrs().Name+" a port", "", h.LinkSetMasterByIndex(base, bridge.Attrs().Index))
}

// checkWithoutAddresses returns an error for an interface with addresses, which would stop working if it became a port
// of a bridge.
func (h session) checkWithoutAddresses(link netlink.Link) error {
	addresses, err := h.addresses(link)
	for _, address := range addresses {
		if !address.Addr().IsLinkLocalUnicast() {
			return fmt.Errorf("%w: %s has the address %s of this machine, which it would lose as a port of a bridge: choose macvlan, or another parent",
				ErrImpossible, link.Attrs().Name, address)
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
		return nil, explain("listing addresses", "", err)
	}
	var all []address
	for i := range list {
		if ip, ok := netip.AddrFromSlice(list[i].IP); ok {
			length, _ := list[i].Mask.Size()
			all = append(all, address{netip.PrefixFrom(ip.Unmap(), length), list[i].LinkIndex})
		}
	}
	return all, nil
}

// ensureGateways adds the gateway addresses to a bridge, and removes others from their subnets. Duplicate address
// detection is disabled (RFC 4862, 5.4), because the address is exclusive and used at once.
func (h session) ensureGateways(bridge netlink.Link, gateways []netip.Prefix) error {
	there, err := h.addresses(bridge)
	if err != nil {
		return err
	}
	for _, a := range there {
		if slices.Contains(gateways, a.Prefix) || !slices.ContainsFunc(gateways, a.Overlaps) {
			continue
		}
		err := h.AddrDel(bridge, &netlink.Addr{IPNet: ipNet(a.Prefix)})
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return explain("removing the address "+a.String(), "", err)
		}
	}
	for _, gateway := range gateways {
		if slices.ContainsFunc(there, func(a address) bool { return a.Prefix == gateway }) {
			continue
		}
		err := h.AddrAdd(bridge, &netlink.Addr{IPNet: ipNet(gateway), Flags: unix.IFA_F_NODAD})
		switch {
		case errors.Is(err, unix.EEXIST):
		case gateway.Addr().Is6() && (errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EACCES)):
			return fmt.Errorf("setting the gateway %s: %w: this machine has IPv6 switched off: %w", gateway, ErrImpossible, err)
		case err != nil:
			return explain("setting the gateway "+gateway.String(), "", err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

const (
	// ipv6Settings is the directory with the IPv6 settings of interfaces. Netlink cannot change the needed ones.
	ipv6Settings = "/proc/sys/net/ipv6/conf"
	// hostSettings is the same directory of the host, mounted writable into a container in the host's network whose
	// own /proc/sys is read-only, such as a managed plugin of Docker (hack/plugin).
	hostSettings = "/host" + ipv6Settings
)

// refuseRouters disables router advertisements on a link, because any container on it could send them
// (CVE-2020-13401). It returns ErrImpossible if they are enabled and the setting cannot be written.
func refuseRouters(name string) error {
	file := filepath.Join(ipv6Settings, name, "accept_ra")
	refused := func() (bool, error) {
		text, err := os.ReadFile(file)
		return strings.TrimSpace(string(text)) == "0" || errors.Is(err, fs.ErrNotExist), err // IPv6 may be disabled
	}
	if ok, _ := refused(); ok {
		return nil
	}
	err := os.WriteFile(file, []byte("0"), 0)
	if err != nil && os.WriteFile(filepath.Join(hostSettings, name, "accept_ra"), []byte("0"), 0) == nil {
		if ok, _ := refused(); ok {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("refusing router advertisements, which containers could send to this machine: %w: %w: let this process write to %s"+
			" (a unit of systemd: ReadWritePaths=%s), or set net.ipv6.conf.default.accept_ra to 0", ErrImpossible, err, ipv6Settings, ipv6Settings)
	}
	return nil
}
