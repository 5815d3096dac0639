// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Check returns the network that the options describe, without its subnets.
func (a *Driver) Check(ctx context.Context, n Network) (Network, error) {
	c, err := a.compose(ctx, n)
	if err != nil {
		return Network{}, err
	}
	if err := c.settle(); err != nil {
		return Network{}, err
	}
	return c.Network, c.policy.Permit(ctx, c.subject)
}

// Allocate returns the options for creating a network on all machines of a cluster: the user's, and values that
// must be equal everywhere.
func (a *Driver) Allocate(ctx context.Context, n Network) (map[string]string, error) {
	if err := checkIdentifiers(n.ID); err != nil {
		return nil, err
	}
	options := map[string]string{}
	maps.Copy(options, n.Options)
	n.Options = options
	c, err := a.compose(ctx, n)
	if err != nil {
		return nil, err
	}
	if c.Link.Kind == link.VXLAN && c.Link.VNI == 0 {
		options[optionVNI] = strconv.Itoa(int(derivedVNI(n.ID)))
	}
	_, err = a.Check(ctx, n)
	return options, err
}

// Free undoes Allocate, which stores nothing.
func (a *Driver) Free(_ context.Context, id string) error { return checkIdentifiers(id) }

// CreateNetwork creates a network. A repeated call does nothing; a different network with the same identifier
// is an error.
func (a *Driver) CreateNetwork(ctx context.Context, n Network) error {
	if err := checkIdentifiers(n.ID); err != nil {
		return err
	}
	unlock, err := a.forNetworks(ctx, n.ID)
	if err != nil {
		return err
	}
	defer unlock()
	there, ok, err := a.networks.get(ctx, n.ID)
	if err != nil {
		return err
	}
	if ok && there.State == ready {
		if differ := there.differences(n); differ != "" {
			return errDiffers("network", n.ID, differ)
		}
		return a.ensure(ctx, there)
	}
	if ok { // its creation or removal was interrupted
		if err := a.dissolve(ctx, there); err != nil {
			return err
		}
	}
	return a.create(ctx, n)
}

// create creates a network without a row.
func (a *Driver) create(ctx context.Context, n Network) error {
	c, err := a.compose(ctx, n)
	if err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.policy.Permit(ctx, c.subject); err != nil {
		return err
	}
	if err := a.clear(ctx, c); err != nil {
		return err
	}
	for _, left := range c.unfit() {
		a.options.Report(left)
	}
	row := c.networkRow
	row.State, row.Since = making, a.options.Clock.Now()
	if err := a.networks.put(ctx, row.ID, row); err != nil {
		return err
	}
	err = a.ensure(ctx, row)
	if err == nil {
		row.State = ready
		err = a.networks.put(ctx, row.ID, row)
	}
	if err != nil {
		a.undo(ctx, func(ctx context.Context) error { return a.dissolve(ctx, row) })
	}
	return err
}

// unfit returns an error for each setting of the network's pools that Docker does not support.
func (c *composed) unfit() []error {
	pools := map[string]*policy.Pool{}
	if c.owns(c.profile) {
		for _, pool := range c.profile.Pools {
			pools[pool.Name] = pool
		}
	}
	for _, s := range c.Subnets {
		if pool := c.policy.PoolOf(s.Prefix); pool != nil && s.leased() {
			pools[pool.Name] = pool
		}
	}
	var left []error
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		pool := pools[name]
		if len(pool.Rules)+len(pool.Neighbors) > 0 {
			left = append(left, fmt.Errorf("the network %s does without rules and neighbors of the pool %s, which Docker cannot be given", short(c.ID), name))
		}
		for i, route := range pool.Routes {
			if _, err := routeOf(route); err != nil {
				left = append(left, fmt.Errorf("the network %s does without routes[%d] of the pool %s, which Docker cannot be given: %w", short(c.ID), i, name, err))
			}
		}
	}
	return left
}

// clear fails if another network conflicts with a new one. It removes a network that Docker has forgotten,
// which is proven by its addresses being allocated again.
func (a *Driver) clear(ctx context.Context, c *composed) error {
	rows, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if id == c.ID {
			continue
		}
		same, err := c.neighbour(rows[id])
		if err != nil && same {
			err = a.supersede(ctx, id, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// supersede removes a network that another one replaces. It fails with reason if the network has endpoints in
// use.
func (a *Driver) supersede(ctx context.Context, id string, reason error) error {
	unlock, err := a.locks.alone(ctx, networkLock(id))
	if err != nil {
		return err
	}
	defer unlock()
	row, ok, err := a.networks.get(ctx, id)
	if err != nil || !ok {
		return err
	}
	endpoints, err := a.of(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if e.State == ready && !a.dead(e) {
			return reason
		}
	}
	if err := a.dissolve(ctx, row); err != nil {
		return err
	}
	a.note(Removed{Networks: []string{id}})
	return nil
}

// of returns the endpoints of a network, sorted by key.
func (a *Driver) of(ctx context.Context, id string) ([]endpointRow, error) {
	rows, err := a.endpoints.all(ctx)
	if err != nil {
		return nil, err
	}
	var all []endpointRow
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if ofNetwork(key, id) {
			all = append(all, rows[key])
		}
	}
	return all, nil
}

// DeleteNetwork removes a network and its remaining endpoints. It ignores an unknown one. The reconciler
// retries what fails.
func (a *Driver) DeleteNetwork(ctx context.Context, id string) error {
	if err := checkIdentifiers(id); err != nil {
		return err
	}
	unlock, err := a.forNetworks(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	row, ok, err := a.networks.get(ctx, id)
	if err != nil || !ok {
		return err
	}
	return a.dissolve(ctx, row)
}

// sharesVLAN reports whether another network is on the same VLAN of the same parent.
func (a *Driver) sharesVLAN(ctx context.Context, row networkRow) (bool, error) {
	rows, err := a.networks.all(ctx)
	for id, other := range rows {
		if id != row.ID && other.Link.Parent == row.Link.Parent && other.Link.VLAN == row.Link.VLAN {
			return true, nil
		}
	}
	return false, err
}

// dissolve removes a network with its endpoints. The caller holds its lock, and that of all networks.
func (a *Driver) dissolve(ctx context.Context, row networkRow) error {
	if row.State != removing {
		row.State, row.Since = removing, a.options.Clock.Now()
		if err := a.networks.put(ctx, row.ID, row); err != nil {
			return err
		}
	}
	endpoints, err := a.of(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if err := a.detach(ctx, row, e); err != nil {
			return err
		}
	}
	s, err := a.segment(ctx, row)
	if err != nil {
		return err
	}
	keepVLAN, err := a.sharesVLAN(ctx, row)
	if err != nil {
		return err
	}
	err = a.kernel(ctx, func(ctx context.Context) error { return a.options.Kernel.RemoveSegment(ctx, s, keepVLAN) })
	if err != nil {
		return fmt.Errorf("removing the links of network %s: %w", short(row.ID), err)
	}
	return a.networks.remove(ctx, row.ID)
}

// Network returns a network. The error wraps ErrUnknownNetwork.
func (a *Driver) Network(ctx context.Context, id string) (Network, error) {
	row, err := a.network(ctx, id)
	return row.Network, err
}

func (a *Driver) network(ctx context.Context, id string) (networkRow, error) {
	row, ok, err := a.networks.get(ctx, id)
	if err == nil && (!ok || row.State == removing) {
		err = fmt.Errorf("%w %s", ErrUnknownNetwork, short(id))
	}
	return row, err
}

// undo rolls back a failure, even if the caller disconnected. The reconciler retries what fails.
func (a *Driver) undo(ctx context.Context, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.options.Patience)
	defer cancel()
	if err := do(ctx); err != nil {
		a.options.Report(fmt.Errorf("undoing what failed: %w", err))
	}
}
