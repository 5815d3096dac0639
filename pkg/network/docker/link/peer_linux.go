// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// SetPeers sets the peers of a network's tunnel to those of s and the given ones, without this machine's
// addresses. It also removes learned entries of removed peers. It returns ErrNoSegment if the tunnel is
// missing.
func (k *Kernel) SetPeers(ctx context.Context, s Segment, peers []netip.Addr) error {
	if s.Kind != VXLAN {
		return nil
	}
	return k.do(ctx, "setting the peers of the tunnel", s.keys(), func(ctx context.Context, c *conn) error {
		tunnel, err := c.own(ctx, tunnelName(s.Network), mark{network: s.Network})
		if err != nil {
			return err
		}
		if tunnel == nil {
			return ErrNoSegment
		}
		return c.flood(ctx, tunnel, slices.Concat(s.Peers, peers), true)
	})
}

// everything is the MAC address of the entries for unknown destinations.
var everything = make(net.HardwareAddr, 6)

// flood adds the peers as destinations of packets with unknown destination. With exact, it removes others. It
// skips this machine's addresses.
func (c *conn) flood(ctx context.Context, tunnel netlink.Link, peers []netip.Addr, exact bool) error {
	index := tunnel.Attrs().Index
	entries, err := c.entries(ctx, index)
	if err != nil {
		return err
	}
	peers, err = c.others(ctx, peers)
	if err != nil {
		return err
	}
	there := map[netip.Addr]bool{}
	for i := range entries {
		peer, ok := netip.AddrFromSlice(entries[i].IP)
		peer = peer.Unmap()
		if !ok || entries[i].Flags&netlink.NTF_SELF == 0 {
			continue
		}
		if exact && !slices.Contains(peers, peer) {
			err := c.ask(ctx, func(h *netlink.Handle) error { return h.NeighDel(entry(index, entries[i].HardwareAddr, peer)) })
			if err != nil && !errors.Is(err, unix.ENOENT) {
				return fault("removing the peer "+peer.String(), err)
			}
		} else if slices.Equal(entries[i].HardwareAddr, everything) {
			there[peer] = true
		}
	}
	var errs []error
	for _, peer := range peers {
		if there[peer] {
			continue
		}
		if err := c.ask(ctx, func(h *netlink.Handle) error { return h.NeighAppend(entry(index, everything, peer)) }); err != nil {
			errs = append(errs, peerFault(peer, err)) // continue with the other peers
		}
	}
	return errors.Join(errs...)
}

// others returns the peers without this machine's addresses and without duplicates.
func (c *conn) others(ctx context.Context, peers []netip.Addr) ([]netip.Addr, error) {
	if len(peers) == 0 {
		return nil, nil
	}
	own, err := c.addresses(ctx, nil)
	if err != nil {
		return nil, err
	}
	var others []netip.Addr
	for _, peer := range peers {
		peer = peer.Unmap()
		if peer.IsValid() && !slices.Contains(others, peer) && !slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Addr() == peer }) {
			others = append(others, peer)
		}
	}
	return others, nil
}

func peerFault(peer netip.Addr, err error) error {
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("adding the peer %s: %w: the tunnel is of the other family: %w", peer, ErrImpossible, err)
	}
	return fault("adding the peer "+peer.String(), err)
}

// entry returns the entry for a MAC address behind a peer.
func entry(index int, mac net.HardwareAddr, peer netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: index, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF,
		HardwareAddr: mac, IP: peer.AsSlice()}
}

// entries returns the forwarding entries of an interface: the peers of a tunnel, or its own MAC addresses.
func (c *conn) entries(ctx context.Context, index int) ([]netlink.Neigh, error) {
	var entries []netlink.Neigh
	for range dumps {
		answers, err := c.exchange(ctx, unix.RTM_GETNEIGH, unix.NLM_F_DUMP,
			[]nl.NetlinkRequestData{&netlink.Ndmsg{Family: unix.AF_BRIDGE, Index: uint32(index)}})
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fault("listing MAC addresses", err)
		}
		entries = entries[:0]
		for _, answer := range answers {
			if entry, err := netlink.NeighDeserialize(answer); err == nil && entry.LinkIndex == index {
				entries = append(entries, *entry)
			}
		}
		if err == nil {
			break
		}
	}
	return entries, nil
}
