// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// CreateEndpoint creates an endpoint and chooses what the request leaves open: addresses if no IPAM driver
// allocates them, and the MAC address. A repeated request returns the same endpoint; a different one with the
// same identifier is an error. A failure is rolled back.
func (a *Driver) CreateEndpoint(ctx context.Context, e Endpoint) (Endpoint, error) {
	if err := checkIdentifiers(e.Network, e.ID); err != nil {
		return Endpoint{}, err
	}
	unlock, err := a.forEndpoint(ctx, e.Network, e.ID)
	if err != nil {
		return Endpoint{}, err
	}
	defer unlock()
	n, err := a.network(ctx, e.Network)
	if err != nil {
		return Endpoint{}, err
	}
	key := endpointKey(e.Network, e.ID)
	there, ok, err := a.endpoints.get(ctx, key)
	if err != nil {
		return Endpoint{}, err
	}
	if ok && there.State == ready {
		if differ := there.Asked.differences(askedOf(e)); differ != "" {
			return Endpoint{}, errDiffers("endpoint", e.ID, differ)
		}
		return a.repeat(ctx, n, there)
	}
	if ok { // its creation or removal was interrupted
		if err := a.detach(ctx, n, there); err != nil {
			return Endpoint{}, err
		}
	}
	return a.attach(ctx, n, e)
}

// repeat returns an existing endpoint and restores missing links.
func (a *Driver) repeat(ctx context.Context, n networkRow, row endpointRow) (Endpoint, error) {
	if row.Sandbox != "" {
		return row.Endpoint, nil
	}
	made, err := a.port(ctx, n, row)
	if err != nil {
		return Endpoint{}, err
	}
	return made.Endpoint, a.refresh(ctx, row, made)
}

// refresh writes a row if it changed.
func (a *Driver) refresh(ctx context.Context, was, is endpointRow) error {
	if was.Boot == is.Boot && slices.Equal(was.MAC, is.MAC) {
		return nil
	}
	return a.endpoints.put(ctx, is.key(), is)
}

// attach creates an endpoint without a row.
func (a *Driver) attach(ctx context.Context, n networkRow, e Endpoint) (Endpoint, error) {
	p, err := a.plan(ctx, n, e)
	if err != nil {
		return Endpoint{}, err
	}
	row := p.endpointRow
	if err := a.claim(ctx, n, row); err != nil {
		return Endpoint{}, err
	}
	written := false
	defer func() {
		if !written { // after an error or a panic, release the claims
			a.claims.free(row.key())
		}
	}()
	row.State, row.Since, row.Boot = making, a.options.Clock.Now(), a.options.Boot
	described := a.describe(ctx, p)
	err = a.endpoints.put(ctx, row.key(), row)
	described()
	if err != nil {
		return Endpoint{}, err
	}
	written = true
	made, err := a.make(ctx, n, p, row)
	if err != nil {
		a.undo(ctx, func(ctx context.Context) error { return a.detach(ctx, n, row) })
		return Endpoint{}, err
	}
	return made.Endpoint, nil
}

// describe sets the holders of the endpoint's leased addresses in the background, because stores combine
// concurrent writes. The result waits for it. Failures are only reported, because the holder is informational.
func (a *Driver) describe(ctx context.Context, p *plan) (wait func()) {
	var group sync.WaitGroup
	for _, owner := range p.leased {
		group.Go(func() {
			if err := a.options.Leases.Describe(ctx, owner, holderOf(p.Endpoint)); err != nil {
				a.options.Report(fmt.Errorf("describing the holder of what %s has: %w", owner, err))
			}
		})
	}
	return group.Wait
}

// holderOf returns the holder for an endpoint in the ledger.
func holderOf(e Endpoint) network.Holder {
	return network.Holder{Kind: "Endpoint", Name: e.ID, Device: link.InterfaceName(e.ID)}
}

// make allocates what is missing and creates the links.
func (a *Driver) make(ctx context.Context, n networkRow, p *plan, row endpointRow) (endpointRow, error) {
	if row.Owned {
		var err error
		if row, err = a.own(ctx, n, p, row); err != nil {
			return row, err
		}
		if err := a.claim(ctx, n, row); err != nil {
			return row, err
		}
	}
	row, err := a.port(ctx, n, row)
	if err != nil {
		return row, err
	}
	row.State = ready
	return row, a.endpoints.put(ctx, row.key(), row)
}

// port creates the links of an endpoint, and restores those of its network.
func (a *Driver) port(ctx context.Context, n networkRow, row endpointRow) (endpointRow, error) {
	s, err := a.segment(ctx, n)
	if err != nil {
		return row, err
	}
	want := link.Port{Endpoint: row.ID, MAC: row.MAC, VLAN: row.VLAN}
	err = a.kernel(ctx, func(ctx context.Context) error {
		made, err := a.options.Kernel.EnsurePort(ctx, s, want)
		if errors.Is(err, link.ErrNoSegment) {
			if err = a.ensure(ctx, n); err == nil {
				made, err = a.options.Kernel.EnsurePort(ctx, s, want)
			}
		}
		if err != nil {
			return fmt.Errorf("making the links of endpoint %s: %w", short(row.ID), err)
		}
		row.MAC, row.Boot = made.MAC, a.options.Boot
		return nil
	})
	return row, err
}

// claim claims the resources of an endpoint. It removes dead endpoints that have them, because the allocator
// has given them to this one.
func (a *Driver) claim(ctx context.Context, n networkRow, row endpointRow) error {
	for {
		holder, thing := a.claims.take(row.key(), row.things())
		if holder == "" {
			return nil
		}
		taken := fmt.Errorf("%w: another endpoint has %s", network.ErrTaken, thing)
		if !ofNetwork(holder, n.ID) {
			return taken
		}
		if gone, err := a.evict(ctx, n, holder); err != nil || !gone {
			return errors.Join(taken, err)
		}
	}
}

// evict removes a dead endpoint of the network. The caller shares the network's lock and holds that of an
// endpoint.
func (a *Driver) evict(ctx context.Context, n networkRow, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.Patience)
	defer cancel()
	unlock, err := a.locks.alone(ctx, endpointLock(key))
	if err != nil {
		return false, err
	}
	defer unlock()
	row, ok, err := a.endpoints.get(ctx, key)
	if err != nil || !ok {
		return err == nil, err
	}
	if row.State == ready && !a.dead(row) {
		return false, nil
	}
	if err := a.detach(ctx, n, row); err != nil {
		return false, err
	}
	a.note(Removed{Endpoints: []string{key}})
	return true, nil
}

// Endpoint returns an endpoint. The error wraps ErrUnknownNetwork or ErrUnknownEndpoint.
func (a *Driver) Endpoint(ctx context.Context, network, id string) (Endpoint, error) {
	if _, err := a.network(ctx, network); err != nil {
		return Endpoint{}, err
	}
	row, err := a.endpoint(ctx, network, id)
	return row.Endpoint, err
}

func (a *Driver) endpoint(ctx context.Context, network, id string) (endpointRow, error) {
	row, ok, err := a.endpoints.get(ctx, endpointKey(network, id))
	if err == nil && (!ok || row.State != ready) {
		err = fmt.Errorf("%w %s", ErrUnknownEndpoint, short(id))
	}
	return row, err
}

// DeleteEndpoint removes an endpoint, also from a sandbox. It ignores an unknown one.
func (a *Driver) DeleteEndpoint(ctx context.Context, network, id string) error {
	if err := checkIdentifiers(network, id); err != nil {
		return err
	}
	unlock, err := a.forEndpoint(ctx, network, id)
	if err != nil {
		return err
	}
	defer unlock()
	row, ok, err := a.endpoints.get(ctx, endpointKey(network, id))
	if err != nil || !ok {
		return err
	}
	n, _, err := a.networks.get(ctx, network)
	if err != nil {
		return err
	}
	return a.detach(ctx, n, row)
}

// detach removes an endpoint's links, allocation and row. The caller holds its lock, or that of its network.
func (a *Driver) detach(ctx context.Context, n networkRow, row endpointRow) error {
	// otherwise the row stays valid without links, which are restored on use
	if row.State == ready && (row.Owned || row.Sandbox != "") {
		if err := a.condemn(ctx, &row); err != nil {
			return err
		}
	}
	s, err := a.segment(ctx, n)
	if err != nil {
		return err
	}
	s.Network = row.Network
	err = a.kernel(ctx, func(ctx context.Context) error { return a.options.Kernel.RemovePort(ctx, s, row.ID) })
	if err != nil {
		err = fmt.Errorf("removing the links of endpoint %s: %w", short(row.ID), err)
		if row.State == ready {
			err = errors.Join(err, a.condemn(ctx, &row))
		}
		return err
	}
	if row.Owned {
		if err := a.options.Service.Release(ctx, ownerOf(row.Endpoint)); err != nil {
			return fmt.Errorf("releasing the addresses of endpoint %s: %w", short(row.ID), err)
		}
	}
	return a.endpoints.remove(ctx, row.key())
}

// condemn marks an endpoint for removal, which then continues after a crash.
func (a *Driver) condemn(ctx context.Context, row *endpointRow) error {
	row.State, row.Since = removing, a.options.Clock.Now()
	return a.endpoints.put(ctx, row.key(), *row)
}

// kinOf returns the common prefix of the owners in a network. A restarted container has a new endpoint.
func kinOf(id string) string { return "endpoint/" + id + "/" }

// ownerOf returns the owner of addresses that are allocated for the endpoint itself.
func ownerOf(e Endpoint) network.Owner {
	return network.Owner{Contract: ipam.Contract, Key: kinOf(e.Network) + e.ID}
}
