// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"maps"
	"slices"
	"time"
)

// together is the time in which leases of both families are attributed to one network. The client requests them
// one after the other, but does not name the network.
const together = time.Minute

// siblings returns the subnets of the pool from which the client just leased the other family, with the same
// options and without naming a network since. Of several such pools the last lease counts, so that networks
// created in sequence use one pool each. The pool is only preferred: if it lacks the family or the subnet is
// leased, any other candidate is used.
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
