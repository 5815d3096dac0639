// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// CreateEndpoint creates an endpoint and selects everything that the request omits: addresses if no IPAM driver
// allocates them, and the MAC address. For an existing endpoint it returns the same. A failure is rolled back.
func (d *Driver) CreateEndpoint(ctx context.Context, e Endpoint) (Endpoint, error) {
	if err := checkIdentifier(e.ID); err != nil {
		return Endpoint{}, err
	}
	unlock, err := d.lock(ctx, endpointLocks(e.Network, e.ID)...)
	if err != nil {
		return Endpoint{}, err
	}
	defer unlock()
	n, err := d.network(ctx, e.Network)
	if err != nil {
		return Endpoint{}, err
	}
	row, ok, err := d.endpoints.Get(ctx, endpointKey(e.Network, e.ID))
	switch {
	case err != nil:
		return Endpoint{}, err
	case ok && row.State == ready:
		if row.Sandbox == "" {
			if err = d.ensurePort(ctx, n, &row); err == nil {
				err = d.endpoints.Put(ctx, row.key(), row)
			}
		}
		return row.Endpoint, err
	case ok: // its creation or removal was interrupted
		if err := d.removeEndpoint(ctx, n, row); err != nil {
			return Endpoint{}, err
		}
	}
	p, err := d.options.plan(ctx, n, e)
	if err != nil {
		return Endpoint{}, err
	}
	return d.create(ctx, p)
}

// create creates an endpoint without a row.
func (d *Driver) create(ctx context.Context, p *plan) (Endpoint, error) {
	p.State, p.Since, p.Boot = making, d.options.Clock.Now(), d.options.Boot
	err := d.reserve(ctx, p)
	if err != nil {
		return Endpoint{}, err
	}
	for _, g := range p.grants { // the holder is informational
		if err := d.options.Leases.Describe(ctx, g.Owner, holderOf(p.Endpoint)); err != nil {
			d.options.Report(fmt.Errorf("describing the holder of what %s has: %w", g.Owner, err))
		}
	}
	if p.Owned {
		if err = p.allocate(ctx, &d.options); err == nil {
			err = d.reserve(ctx, p)
		}
	}
	row := p.endpointRow
	if err == nil {
		err = d.ensurePort(ctx, p.network, &row)
	}
	if err == nil {
		row.State = ready
		err = d.endpoints.Put(ctx, row.key(), row)
	}
	if err != nil {
		d.undo(ctx, func(ctx context.Context) error { return d.removeEndpoint(ctx, p.network, row) })
		return Endpoint{}, err
	}
	return row.Endpoint, nil
}

// reserve writes the row of an endpoint, unless another endpoint has one of its addresses, its MAC address or its VLAN.
// It removes dead endpoints of the network that have them, because the allocator has given them to this one.
func (d *Driver) reserve(ctx context.Context, p *plan) error {
	for {
		other, thing, err := d.putUnlessUsed(ctx, p.endpointRow)
		if err != nil || thing == "" {
			return err
		}
		taken := fmt.Errorf("%w: another endpoint has %s", network.ErrTaken, thing)
		if other.Network != p.Network {
			return taken
		}
		if gone, err := d.removeDead(ctx, p.network, other.key()); err != nil || !gone {
			return errors.Join(taken, err)
		}
	}
}

// putUnlessUsed writes a row unless user returns another endpoint. One at a time does so.
func (d *Driver) putUnlessUsed(ctx context.Context, row endpointRow) (other endpointRow, thing string, err error) {
	d.reserving.Lock()
	defer d.reserving.Unlock()
	if other, thing, err = d.user(ctx, row); err == nil && thing == "" {
		err = d.endpoints.Put(ctx, row.key(), row)
	}
	return other, thing, err
}

// user returns another endpoint with an address, the MAC address or the VLAN of an endpoint, and the name of the shared
// resource. The name is "" if there is none.
func (d *Driver) user(ctx context.Context, row endpointRow) (other endpointRow, thing string, err error) {
	rows, err := d.endpoints.Rows(ctx)
	for key, other := range rows {
		if thing := row.shares(other); err == nil && thing != "" && key != row.key() {
			return other, thing, nil
		}
	}
	return other, "", err
}

// shares returns the name of an exclusive resource that both endpoints have, or "".
func (r endpointRow) shares(other endpointRow) string {
	if r.Trunk != "" && r.Trunk == other.Trunk && r.VLAN != 0 && r.VLAN == other.VLAN {
		return "the VLAN " + strconv.Itoa(int(r.VLAN)) + " of " + r.Trunk
	}
	if r.Network != other.Network {
		return ""
	}
	for _, address := range r.Addresses {
		for _, others := range other.Addresses {
			if address.Addr() == others.Addr() {
				return "the address " + address.Addr().String() + " in network " + r.Network
			}
		}
	}
	if len(r.MAC) > 0 && bytes.Equal(r.MAC, other.MAC) {
		return "the MAC address " + r.MAC.String() + " in network " + r.Network
	}
	return ""
}

// removeDead removes an endpoint of the network that is dead or incomplete. The caller shares the network's lock and
// holds that of an endpoint.
func (d *Driver) removeDead(ctx context.Context, n networkRow, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, d.options.Patience)
	defer cancel()
	unlock, err := d.lock(ctx, endpointLock(key))
	if err != nil {
		return false, err
	}
	defer unlock()
	row, ok, err := d.endpoints.Get(ctx, key)
	if err != nil || !ok {
		return err == nil, err
	}
	if row.State == ready && !d.isDead(row) {
		return false, nil
	}
	if err := d.removeEndpoint(ctx, n, row); err != nil {
		return false, err
	}
	d.options.Removed(Removed{Endpoints: []string{key}})
	return true, nil
}

// Endpoint returns an endpoint. The error wraps ErrUnknownNetwork or ErrUnknownEndpoint.
func (d *Driver) Endpoint(ctx context.Context, network, id string) (Endpoint, error) {
	if _, err := d.network(ctx, network); err != nil {
		return Endpoint{}, err
	}
	row, err := d.endpoint(ctx, network, id)
	return row.Endpoint, err
}

func (d *Driver) endpoint(ctx context.Context, network, id string) (endpointRow, error) {
	row, ok, err := d.endpoints.Get(ctx, endpointKey(network, id))
	if err == nil && (!ok || row.State != ready) {
		err = fmt.Errorf("%w %s", ErrUnknownEndpoint, short(id))
	}
	return row, err
}

// DeleteEndpoint removes an endpoint, also from a sandbox. It ignores an unknown one.
func (d *Driver) DeleteEndpoint(ctx context.Context, network, id string) error {
	unlock, err := d.lock(ctx, endpointLocks(network, id)...)
	if err != nil {
		return err
	}
	defer unlock()
	row, ok, err := d.endpoints.Get(ctx, endpointKey(network, id))
	if err != nil || !ok {
		return err
	}
	n, _, err := d.networks.Get(ctx, network)
	if err != nil {
		return err
	}
	return d.removeEndpoint(ctx, n, row)
}

// Join puts an endpoint into a sandbox and ensures that its interface exists to be moved. A repeated call
// returns the same.
func (d *Driver) Join(ctx context.Context, network, id, sandbox string) (Endpoint, Network, error) {
	if sandbox == "" {
		return Endpoint{}, Network{}, fmt.Errorf("%w: no sandbox is named", ErrImpossible)
	}
	unlock, err := d.lock(ctx, endpointLocks(network, id)...)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	defer unlock()
	n, err := d.network(ctx, network)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	row, err := d.endpoint(ctx, network, id)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	if row.Sandbox == sandbox && row.Boot == d.options.Boot {
		return row.Endpoint, n.Network, nil // the interface is in the sandbox, or still here
	}
	if err := d.ensurePort(ctx, n, &row); err != nil {
		return Endpoint{}, Network{}, err
	}
	row.Sandbox, row.Since = sandbox, d.options.Clock.Now()
	return row.Endpoint, n.Network, d.endpoints.Put(ctx, row.key(), row)
}

// Leave takes an endpoint out of its sandbox. Docker returns the interface after the response. It ignores an
// unknown endpoint.
func (d *Driver) Leave(ctx context.Context, network, id string) error {
	unlock, err := d.lock(ctx, endpointLocks(network, id)...)
	if err != nil {
		return err
	}
	defer unlock()
	row, err := d.endpoint(ctx, network, id)
	if errors.Is(err, ErrUnknownEndpoint) || err == nil && row.Sandbox == "" {
		return nil
	}
	if err != nil {
		return err
	}
	row.Sandbox, row.Since = "", d.options.Clock.Now()
	return d.endpoints.Put(ctx, row.key(), row)
}
