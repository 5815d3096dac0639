// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// noVLAN is the error of a trunk that has no VLAN of the pool left: it says where, and how many are about to be free. The mutex is held.
func (l *Ledger) noVLAN(of *pool, t network.Trunk) error {
	rest := 0
	for id := of.FirstVLAN; id <= of.LastVLAN; id++ {
		if _, rests := l.resting.rows[vlanKey(t, id)]; rests {
			rest++
		}
	}
	where := ""
	if t.MAC != "" {
		where += " on the interface " + t.MAC
	}
	if t.Node != "" {
		where += " of the node " + t.Node
	}
	return &network.Exhausted{
		Pool: of.Name, Of: network.OfVLAN, Text: fmt.Sprintf("all VLANs of the pool %s are taken%s; %d of them rest", of.Name, where, rest),
	}
}
