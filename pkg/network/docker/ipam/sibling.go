// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"maps"
	"slices"
	"time"
)

// together is how long after a lease of one family that of the other is taken for the same network's: the client asks for one right after the other, and
// says nothing of which network they are.
const together = time.Minute

// siblings are those of subnets that are of the pool of which the client, with the same options, has just leased the other family, and not named the
// network yet; of several such pools that of the last lease counts, so that networks which are made one after the other have one pool each. That pool
// is only preferred: where it has not the family, or that is on lease, any other will do.
func (l *Driver) siblings(s *space, c choice, r PoolRequest, subnets []candidate, leases map[string]Pool) []candidate {
	var last Pool
	for _, of := range c.subnets() {
		p, on := leases[s.id(of.pool.Name, of.prefix)]
		if !on || of.prefix.Addr().Is6() == r.Six || p.Network != "" || !maps.Equal(p.Options, mine(r.Options)) {
			continue
		}
		if l.options.Clock.Since(p.Since) < together && !p.Since.Before(last.Since) {
			last = p
		}
	}
	var of []candidate
	for _, subnet := range subnets {
		if subnet.pool.Name == last.Pool {
			of = append(of, subnet)
		}
	}
	return slices.Clip(of)
}
