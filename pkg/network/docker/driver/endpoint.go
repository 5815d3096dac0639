// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// CreateEndpoint creates an endpoint and selects its MAC address if the request omits it. For an existing endpoint it
// returns the same. A failure is rolled back. It fails with link.ErrImpossible for a wrong request, or with the error of
// the ledger or the kernel.
func (d *Driver) CreateEndpoint(ctx context.Context, e Endpoint) (made Endpoint, err error) {
	err = d.withEndpoint(ctx, e.Network, e.ID, func(n networkRow, row endpointRow) error {
		switch {
		case n.State != ready:
			return n.exists(e.Network)
		case row.State == ready && row.Sandbox != "":
			made = row.Endpoint
			return nil
		case row.State == ready:
			made, err = d.storePort(ctx, n, row)
			return err
		case row.State != "":
			if err := d.removeEndpoint(ctx, n, row); err != nil {
				return err
			}
		}
		p, err := d.options.plan(ctx, n, e)
		if err == nil {
			made, err = d.create(ctx, p)
		}
		return err
	})
	return made, err
}

// storePort makes the links of an endpoint match its row, and writes the row.
func (d *Driver) storePort(ctx context.Context, n networkRow, row endpointRow) (Endpoint, error) {
	err := d.ensurePort(ctx, n, &row)
	if err == nil {
		err = d.endpoints.Put(ctx, row.key(), row)
	}
	return row.Endpoint, err
}

// create creates an endpoint without a row.
func (d *Driver) create(ctx context.Context, p *plan) (Endpoint, error) {
	p.State, p.Since, p.Boot = unfinished, d.options.Clock.Now(), d.options.Boot
	if err := d.reserve(ctx, p); err != nil {
		return Endpoint{}, err
	}
	p.State = ready
	made, err := d.storePort(ctx, p.network, p.endpointRow)
	if err != nil {
		d.undo(ctx, func(ctx context.Context) error { return d.removeEndpoint(ctx, p.network, p.endpointRow) })
		return Endpoint{}, err
	}
	return made, nil
}

// reserve writes the row of an endpoint, unless another endpoint has one of its addresses, its MAC address or its VLAN.
// It removes dead endpoints of the network with these resources, because the allocator has allocated them to this one.
// The caller holds the lock.
func (d *Driver) reserve(ctx context.Context, p *plan) error {
	rows, err := d.endpoints.Rows(ctx)
	if err != nil {
		return err
	}
	for key, other := range rows {
		resource := p.shares(other)
		if resource == "" {
			continue
		}
		taken := fmt.Errorf("%w: another endpoint has %s", network.ErrTaken, resource)
		if other.Network != p.Network || other.State == ready && !d.isDead(other) {
			return taken
		}
		if err := d.removeEndpoint(ctx, p.network, other); err != nil {
			return errors.Join(taken, err)
		}
		d.options.Removed("endpoint", key)
	}
	return d.endpoints.Put(ctx, p.key(), p.endpointRow)
}

// shares returns the name of an exclusive resource that both endpoints have, or "".
func (r endpointRow) shares(other endpointRow) string {
	if r.Trunk != "" && r.Trunk == other.Trunk && r.VLAN != 0 && r.VLAN == other.VLAN {
		return "the VLAN " + strconv.Itoa(r.VLAN) + " of " + r.Trunk
	}
	if r.Network != other.Network {
		return ""
	}
	for _, address := range r.Addresses {
		if other.hasAddress(address.Addr()) {
			return "the address " + address.Addr().String() + " in network " + r.Network
		}
	}
	if len(r.MAC) > 0 && bytes.Equal(r.MAC, other.MAC) {
		return "the MAC address " + r.MAC.String() + " in network " + r.Network
	}
	return ""
}

// Endpoint returns an endpoint and its network. The error wraps ErrUnknownNetwork or ErrUnknownEndpoint.
func (d *Driver) Endpoint(ctx context.Context, network, id string) (Endpoint, Network, error) {
	n, row, err := d.rows(ctx, network, id)
	if err == nil {
		err = cmp.Or(n.exists(network), row.exists(id))
	}
	return row.Endpoint, n.Network, err
}

// DeleteEndpoint removes an endpoint, also from a sandbox. It ignores an unknown one. It fails if the ledger or the
// kernel does; the reconciler then continues.
func (d *Driver) DeleteEndpoint(ctx context.Context, network, id string) error {
	return d.withEndpoint(ctx, network, id, func(n networkRow, row endpointRow) error {
		if row.State == "" {
			return nil
		}
		return d.removeEndpoint(ctx, n, row)
	})
}

// Join puts an endpoint into a sandbox and ensures that its interface exists to be moved. A repeated call
// returns the same. It fails for an unknown endpoint.
func (d *Driver) Join(ctx context.Context, network, id, sandbox string) (joined Endpoint, of Network, err error) {
	err = d.withEndpoint(ctx, network, id, func(n networkRow, row endpointRow) error {
		if err := cmp.Or(n.exists(network), row.exists(id)); err != nil {
			return err
		}
		joined, of = row.Endpoint, n.Network
		if row.Sandbox == sandbox && row.Boot == d.options.Boot {
			return nil // the interface is in the sandbox, or still here
		}
		row.Sandbox, row.Since = sandbox, d.options.Clock.Now()
		joined, err = d.storePort(ctx, n, row)
		return err
	})
	return joined, of, err
}

// Leave takes an endpoint out of its sandbox. Docker returns the interface after the response. It ignores an
// unknown endpoint. It fails if the ledger does.
func (d *Driver) Leave(ctx context.Context, network, id string) error {
	return d.withEndpoint(ctx, network, id, func(_ networkRow, row endpointRow) error {
		if row.State != ready || row.Sandbox == "" {
			return nil
		}
		row.Sandbox, row.Since = "", d.options.Clock.Now()
		return d.endpoints.Put(ctx, row.key(), row)
	})
}
