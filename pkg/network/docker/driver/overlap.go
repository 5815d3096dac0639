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

// overlap returns the first pool of a policy, by name, that overlaps a subnet from which another IPAM driver
// allocates, or nil.
func (s Subnet) overlap(p *policy.Policy) (of *policy.Pool, prefix netip.Prefix) {
	for _, name := range slices.Sorted(maps.Keys(p.Pools)) {
		if prefix, is := s.overlaps(p.Pools[name]); is {
			return p.Pools[name], prefix
		}
	}
	return nil, prefix
}

// overlaps returns the prefix of the pool that overlaps a subnet from which another IPAM driver allocates.
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

// Guard activates a policy with put, unless a pool would overlap a subnet of an existing network from which
// another IPAM driver allocates: both would allocate the same addresses. No network is created during the
// check. Overlaps of the current policy are ignored.
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

// overlaps returns a line for each pool that overlaps a subnet from which another IPAM driver allocates.
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

// tellOverlaps reports overlaps from changes of profiles while the server was stopped.
func (a *Driver) tellOverlaps(ctx context.Context) error {
	lines, err := a.overlaps(ctx, a.options.Policy())
	if a.overlapping.Store(len(lines) > 0); len(lines) > 0 {
		a.options.Report(errors.New("addresses would be given twice: " + strings.Join(lines, "; ") +
			"; such networks are given no more endpoints, and such pools give nothing: give the pool another subnet, or remove the network"))
	}
	return err
}

// Barred returns an error if the pool is disabled because another IPAM driver allocates the same addresses for
// an existing network. It wraps network.ErrUnavailable, because the condition ends with the network, or with
// another subnet of the pool. Only overlaps found at the start are checked: Guard and CreateNetwork prevent new
// ones.
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
