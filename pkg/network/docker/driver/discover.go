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

// Discovered records that a machine joined or left. All other machines are peers of each vxlan; this machine's
// address is the local end if the network has none. The record is persistent, because Docker does not repeat
// it: a plugin that is loaded after the machine joined a Swarm learns only about this machine. Therefore a new
// address of this machine replaces the old one, but other machines stay. A superfluous peer costs a few
// packets; a missing one breaks connections.
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

// know writes or deletes the row of a machine. This machine has one address, the last one.
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

// spread updates the peers of all tunnels.
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

// derivedVNI returns a vxlan's number that all machines of a cluster derive from the network's identifier.
func derivedVNI(id string) uint32 {
	sum := sha256.Sum256([]byte(id))
	return 1 + binary.BigEndian.Uint32(sum[:])%link.MaxVNI
}
