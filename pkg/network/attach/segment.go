// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/link"
)

// ensure makes the links of a network, where they are not there.
func (a *Attachments) ensure(ctx context.Context, row networkRow) error {
	s, err := a.segment(ctx, row)
	if err != nil {
		return err
	}
	return a.kernel(ctx, func(ctx context.Context) error {
		if err := a.options.Kernel.EnsureSegment(ctx, s); err != nil {
			return fmt.Errorf("making the links of network %s: %w", short(row.ID), err)
		}
		return a.tell(ctx, s)
	})
}

// tell tells a tunnel of its other ends.
func (a *Attachments) tell(ctx context.Context, s link.Segment) error {
	if s.Kind != link.VXLAN {
		return nil
	}
	if err := a.options.Kernel.SetPeers(ctx, s, s.Peers); err != nil {
		return fmt.Errorf("setting the peers of network %s: %w", short(s.Network), err)
	}
	return nil
}

// again makes the links of a network that is ready as they are to be.
func (a *Attachments) again(ctx context.Context, id string) error {
	unlock, err := a.locks.alone(ctx, networkLock(id))
	if err != nil {
		return err
	}
	defer unlock()
	row, ok, err := a.networks.get(ctx, id)
	if err != nil || !ok || row.State != ready {
		return err
	}
	return a.ensure(ctx, row)
}

// segment is a network as the kernel is to have it.
func (a *Attachments) segment(ctx context.Context, row networkRow) (link.Segment, error) {
	s := row.segment()
	if s.Kind != link.VXLAN {
		return s, nil
	}
	nodes, err := a.nodes.all(ctx)
	if err != nil {
		return s, err
	}
	s.Peers = slices.Clone(s.Peers)
	for _, text := range slices.Sorted(maps.Keys(nodes)) {
		address, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			return s, fmt.Errorf("reading the address of a node: %w", err)
		case nodes[text].Self && !s.Local.IsValid():
			s.Local = address
		case !nodes[text].Self && address != s.Local && !slices.Contains(s.Peers, address):
			s.Peers = append(s.Peers, address)
		}
	}
	return s, nil
}
