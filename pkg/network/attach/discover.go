// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/link"
)

// Discovered is told that there is a machine, or that it is gone. Each one but this is an end of every vxlan; this one says which address its own ends
// have where the network says none. It is remembered, as nobody says it again.
func (a *Attachments) Discovered(ctx context.Context, node netip.Addr, self, gone bool) error {
	node = node.Unmap()
	if !node.IsValid() || node.IsUnspecified() || node.IsMulticast() || node.Zone() != "" {
		return fmt.Errorf("%w: that is no address of a machine", ErrImpossible)
	}
	unlock, err := a.locks.alone(ctx, allNetworks)
	if err != nil {
		return err
	}
	defer unlock()
	if gone {
		err = a.nodes.remove(ctx, node.String())
	} else {
		err = a.nodes.put(ctx, node.String(), nodeRow{Self: self})
	}
	if err != nil {
		return err
	}
	return a.spread(ctx)
}

// spread brings what is known of other machines to all tunnels.
func (a *Attachments) spread(ctx context.Context) error {
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
	return 1 + binary.BigEndian.Uint32(sum[:])%maximumVNI
}
