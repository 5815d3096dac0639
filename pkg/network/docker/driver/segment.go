// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// ensure creates the missing links of a network.
func (a *Driver) ensure(ctx context.Context, row networkRow) error {
	s, err := a.segment(ctx, row)
	if err != nil {
		return err
	}
	return a.kernel(ctx, func(ctx context.Context) error {
		if err := a.options.Kernel.EnsureSegment(ctx, s); err != nil {
			return fmt.Errorf("making the links of network %s: %w", short(row.ID), err)
		}
		return nil
	})
}

// again repairs the links of a network that is ready.
func (a *Driver) again(ctx context.Context, id string) error {
	unlock, err := a.locks.alone(ctx, networkLock(id))
	if err != nil {
		return err
	}
	defer unlock()
	return a.renew(ctx, id)
}

// renew is again for a caller that holds the network's lock.
func (a *Driver) renew(ctx context.Context, id string) error {
	row, ok, err := a.networks.get(ctx, id)
	if err != nil || !ok || row.State != ready {
		return err
	}
	return a.ensure(ctx, row)
}

// segment returns the network's desired state in the kernel.
func (a *Driver) segment(ctx context.Context, row networkRow) (link.Segment, error) {
	s := row.segment()
	if s.Kind != link.VXLAN {
		return s, nil
	}
	rows, err := a.nodes.all(ctx)
	if err != nil {
		return s, err
	}
	nodes := map[netip.Addr]nodeRow{}
	for text, node := range rows {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return s, fmt.Errorf("reading the address of a node: %w", err)
		}
		nodes[address] = node
	}
	for _, left := range between(&s, nodes) {
		a.once("leaving "+left.String()+" out of "+row.ID, fmt.Errorf("the network %s leaves out the machine %s: its tunnel is of the other family, which all "+
			"ends of it have", short(row.ID), left))
	}
	return s, nil
}

// between adds machines as peers of a tunnel, and returns those of the wrong address family. The family is that
// of the network, or else of this machine, or else IPv4 if any machine has it.
func between(s *link.Segment, nodes map[netip.Addr]nodeRow) (left []netip.Addr) {
	all := slices.SortedFunc(maps.Keys(nodes), netip.Addr.Compare) // IPv4 comes first
	self := slices.IndexFunc(all, func(address netip.Addr) bool { return nodes[address].Self })
	var family netip.Addr
	switch {
	case s.Local.IsValid():
		family = s.Local.Unmap()
	case len(s.Peers) > 0:
		family = s.Peers[0].Unmap()
	case self >= 0:
		family = all[self]
	case len(all) > 0:
		family = all[0]
	}
	s.Peers = slices.Clone(s.Peers)
	if !s.Local.IsValid() && self >= 0 && all[self].BitLen() == family.BitLen() {
		s.Local = all[self]
	}
	for i, address := range all {
		switch {
		case address == s.Local, i == self && s.Local.IsValid(), slices.Contains(s.Peers, address):
		case address.BitLen() != family.BitLen():
			left = append(left, address)
		case !nodes[address].Self:
			s.Peers = append(s.Peers, address)
		}
	}
	return left
}

// once reports a persistent condition a single time.
func (a *Driver) once(key string, err error) {
	a.mutex.Lock()
	known := a.reported[key]
	a.reported[key] = true
	a.mutex.Unlock()
	if !known {
		a.options.Report(err)
	}
}
