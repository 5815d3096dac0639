// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// overlap is the first pool of a policy, by name, with a subnet that another IPAM driver gives addresses of, too; nil: there is none.
func (s Subnet) overlap(p *policy.Policy) (of *policy.Pool, prefix netip.Prefix) {
	for _, name := range slices.Sorted(maps.Keys(p.Pools)) {
		if prefix, is := s.overlaps(p.Pools[name]); is {
			return p.Pools[name], prefix
		}
	}
	return nil, prefix
}

// overlaps gives the prefix of a pool with addresses that another IPAM driver gives, too.
func (s Subnet) overlaps(pool *policy.Pool) (prefix netip.Prefix, is bool) {
	if pool == nil || s.leased() || !s.Gives() {
		return prefix, false
	}
	for _, ours := range pool.Subnets {
		if ours.Prefix.Overlaps(s.Prefix) {
			return ours.Prefix, true
		}
	}
	return prefix, false
}

// Guard does what puts another policy in force, unless a pool would come over a subnet of a network that is there, whose addresses another IPAM driver
// gives: both would give the same. No network is made meanwhile. What overlaps under the policy in force already is in nobody's way.
func (a *Driver) Guard(ctx context.Context, next *policy.Policy, put func() error) error {
	unlock, err := a.locks.alone(ctx, allNetworks)
	if err != nil {
		return err
	}
	defer unlock()
	already, err := a.overlaps(ctx, a.options.Policy())
	if err != nil {
		return err
	}
	found, err := a.overlaps(ctx, next)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(line string) bool { return slices.Contains(already, line) })
	if len(found) > 0 {
		return fmt.Errorf("addresses of Docker's networks would be given twice:\n  %s\nGive the pool another subnet, or remove the network first",
			strings.Join(found, "\n  "))
	}
	return put()
}

// overlaps are the pools of a policy that are over subnets of networks whose addresses another IPAM driver gives, a line for each subnet.
func (a *Driver) overlaps(ctx context.Context, p *policy.Policy) ([]string, error) {
	networks, err := a.networks.all(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		for _, s := range networks[id].Subnets {
			if pool, prefix := s.overlap(p); pool != nil {
				lines = append(lines, fmt.Sprintf("the subnet %s of the network %s overlaps %s of the pool %s", s.Prefix, short(id), prefix, pool.Name))
			}
		}
	}
	return lines, nil
}

// tellOverlaps reports what overlaps since a profile was changed while nobody looked.
func (a *Driver) tellOverlaps(ctx context.Context) error {
	lines, err := a.overlaps(ctx, a.options.Policy())
	if a.overlapping.Store(len(lines) > 0); len(lines) > 0 {
		a.options.Report(errors.New("addresses would be given twice: " + strings.Join(lines, "; ") +
			"; such networks are given no more endpoints, and such pools give nothing: give the pool another subnet, or remove the network"))
	}
	return err
}

// Barred says why a pool gives nothing to anybody: another IPAM driver gives the same addresses to a network that is there. It wraps
// network.ErrUnavailable, as it ends with the network, or when the pool has another subnet. Only what overlapped at the start is looked at: Guard and
// CreateNetwork let nothing follow.
func (a *Driver) Barred(ctx context.Context, pool string) error {
	if !a.overlapping.Load() {
		return nil
	}
	p, found := a.options.Policy(), false
	networks, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		for _, s := range networks[id].Subnets {
			if of, _ := s.overlap(p); of == nil {
				continue
			}
			found = true
			if prefix, is := s.overlaps(p.Pool(pool)); is {
				return fmt.Errorf("%w: the pool %s gives nothing while its %s overlaps %s of Docker's network %s, whose addresses another IPAM driver gives: "+
					"give the pool another subnet, or remove the network", network.ErrUnavailable, pool, prefix, s.Prefix, short(id))
			}
		}
	}
	if !found {
		a.overlapping.Store(false)
	}
	return nil
}
