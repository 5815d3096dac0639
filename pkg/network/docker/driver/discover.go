// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// Discovered is told that there is a machine, or that it is gone. Each one but this is an end of every vxlan; this one says which address its own ends
// have where the network says none. It is remembered, as nobody says it again: a plugin that Docker loads later than it comes into a Swarm is told of
// this machine alone. That is why another address of this machine takes the place of the one before, which nobody takes back, and leaves the others:
// one too many costs some packets that nobody is there for, and one too few the way to it.
func (a *Driver) Discovered(ctx context.Context, node netip.Addr, self, gone bool) error {
	node = node.Unmap()
	if !node.IsValid() || node.IsUnspecified() || node.IsMulticast() || node.Zone() != "" {
		return fmt.Errorf("%w: that is no address of a machine", ErrImpossible)
	}
	unlock, err := a.locks.alone(ctx, allNetworks)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.know(ctx, node, self, gone); err != nil {
		return err
	}
	return a.spread(ctx)
}

// know takes down that there is a machine, or that it is gone. This one has one address: that which was said last.
func (a *Driver) know(ctx context.Context, node netip.Addr, self, gone bool) error {
	if gone {
		return a.nodes.remove(ctx, node.String())
	}
	rows, err := a.nodes.all(ctx)
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(rows)) {
		if !self || !rows[address].Self || address == node.String() {
			continue
		}
		if err := a.nodes.remove(ctx, address); err != nil {
			return err
		}
	}
	return a.nodes.put(ctx, node.String(), nodeRow{Self: self})
}

// spread brings what is known of other machines to all tunnels.
func (a *Driver) spread(ctx context.Context) error {
	rows, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if rows[id].Link.Kind == link.VXLAN {
			errs = append(errs, a.again(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// derivedVNI is the number of a vxlan that follows from a network's identifier, which all machines of a cluster know.
func derivedVNI(id string) uint32 {
	sum := sha256.Sum256([]byte(id))
	return 1 + binary.BigEndian.Uint32(sum[:])%link.MaxVNI
}
