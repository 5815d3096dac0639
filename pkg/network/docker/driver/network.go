// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// Check returns the network that the options describe. It fails with link.ErrImpossible for options that contradict each
// other or the profile, and with policy.ErrDenied if a rule denies the network.
func (d *Driver) Check(ctx context.Context, n Network) (Network, error) {
	c, err := d.check(ctx, n)
	if err != nil {
		return Network{}, err
	}
	return c.Network, nil
}

// check composes a network and checks its subnets and rules.
func (d *Driver) check(ctx context.Context, n Network) (*composed, error) {
	c, err := d.options.compose(ctx, n)
	if err == nil {
		err = c.complete()
	}
	if err == nil {
		err = c.policy.Permit(ctx, c.subject)
	}
	return c, err
}

// Allocate returns the options for creating a network on all machines of a cluster: the user's, and values that
// must be equal everywhere. It stores nothing. It fails like Check.
func (d *Driver) Allocate(ctx context.Context, n Network) (map[string]string, error) {
	options := map[string]string{}
	maps.Copy(options, n.Options)
	n.Options = options
	c, err := d.options.compose(ctx, n)
	if err != nil {
		return nil, err
	}
	if c.Link.Kind == link.VXLAN && c.Link.VNI == 0 { // all machines derive it from the identifier
		sum := sha256.Sum256([]byte(n.ID))
		options[optionVNI] = strconv.Itoa(int(1 + binary.BigEndian.Uint32(sum[:])%link.MaxVNI))
	}
	_, err = d.Check(ctx, n)
	return options, err
}

// CreateNetwork creates a network. For an existing one it restores missing links. It fails like Check, or with the
// error of the ledger or the kernel.
func (d *Driver) CreateNetwork(ctx context.Context, n Network) error {
	return d.withNetwork(ctx, n.ID, func(row networkRow) error {
		if row.State == ready {
			return d.ensureNetwork(ctx, row)
		}
		if row.State != "" { // its creation or removal was interrupted
			if err := d.removeNetwork(ctx, row); err != nil {
				return err
			}
		}
		c, err := d.check(ctx, n)
		if err == nil {
			err = c.checkIPAM(c.profile)
		}
		if err == nil {
			err = d.removeForgotten(ctx, c)
		}
		if err != nil {
			return err
		}
		return d.makeNetwork(ctx, c.networkRow)
	})
}

// makeNetwork writes the row of a new network and makes its links.
func (d *Driver) makeNetwork(ctx context.Context, row networkRow) error {
	row.State, row.Since = unfinished, d.options.Clock.Now()
	if err := d.networks.Put(ctx, row.ID, row); err != nil {
		return err
	}
	err := d.ensureNetwork(ctx, row)
	if err == nil {
		row.State = ready
		err = d.networks.Put(ctx, row.ID, row)
	}
	if err != nil {
		d.undo(ctx, func(ctx context.Context) error { return d.removeNetwork(ctx, row) })
	}
	return err
}

// undo rolls back a failure, even if the caller disconnected. The reconciler retries failed rollbacks.
func (d *Driver) undo(ctx context.Context, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.options.Patience)
	defer cancel()
	if err := do(ctx); err != nil {
		d.options.Report(fmt.Errorf("undoing the failed call: %w", err))
	}
}

// removeForgotten removes networks that Docker has forgotten, which is proven by their addresses being allocated
// again for the new network. It fails if another network conflicts with the new one, or if a forgotten one has endpoints
// in use. The caller holds the lock.
func (d *Driver) removeForgotten(ctx context.Context, c *composed) error {
	rows, err := d.networks.Rows(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		forgotten, conflict := c.conflict(rows[id])
		if id == c.ID || conflict == nil {
			continue
		}
		if !forgotten {
			return conflict
		}
		endpoints, err := d.endpointsOf(ctx, id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(endpoints, func(e endpointRow) bool { return e.State == ready && !d.isDead(e) }) {
			return conflict
		}
		if err := d.removeNetwork(ctx, rows[id]); err != nil {
			return err
		}
		d.options.Removed("network", id)
	}
	return nil
}

// endpointsOf returns the endpoints of a network, sorted by key.
func (d *Driver) endpointsOf(ctx context.Context, id string) ([]endpointRow, error) {
	rows, err := d.endpoints.Rows(ctx)
	var all []endpointRow
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if rows[key].Network == id {
			all = append(all, rows[key])
		}
	}
	return all, err
}

// DeleteNetwork removes a network and its remaining endpoints. It ignores an unknown network. The reconciler retries
// failed steps. It fails if the ledger does.
func (d *Driver) DeleteNetwork(ctx context.Context, id string) error {
	return d.withNetwork(ctx, id, func(row networkRow) error {
		if row.State == "" {
			return nil
		}
		return d.removeNetwork(ctx, row)
	})
}

// Network returns a network. The error wraps ErrUnknownNetwork.
func (d *Driver) Network(ctx context.Context, id string) (Network, error) {
	row, _, err := d.networks.Get(ctx, id)
	if err == nil {
		err = row.exists(id)
	}
	return row.Network, err
}

// HasNetwork reports whether a complete network with a subnet of the address space exists. has reports whether the
// address is the gateway, an auxiliary address or that of an endpoint, in any network with the subnet, complete
// or not. It fails if the ledger does.
func (d *Driver) HasNetwork(
	ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr,
) (there, has bool, err error) {
	networks, err := d.networks.Rows(ctx)
	if err != nil {
		return false, false, err
	}
	endpoints, err := d.endpoints.Rows(ctx)
	for _, n := range networks {
		for _, s := range n.Subnets {
			if s.Space != space || s.Prefix != subnet {
				continue
			}
			there = there || n.ID == network && n.State == ready
			has = has || s.Gateway == address || slices.Contains(slices.Collect(maps.Values(s.Auxiliary)), address)
			for _, e := range endpoints {
				has = has || e.Network == n.ID && e.hasAddress(address)
			}
		}
	}
	return there, has, err
}

// CheckPool returns an error if the pool is disabled because another IPAM driver allocates the same addresses for
// an existing network. It wraps network.ErrUnavailable, because the condition ends with the network, or with
// another subnet of the pool.
func (d *Driver) CheckPool(ctx context.Context, pool string) error {
	of := d.options.Policy().Pool(pool)
	networks, err := d.networks.Rows(ctx)
	if err != nil || of == nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		for _, s := range networks[id].Subnets {
			if prefix, overlaps := s.overlap(of); overlaps {
				return fmt.Errorf("%w: the pool %s is not used while its %s overlaps %s of Docker's network %s, whose addresses "+
					"another IPAM driver allocates: change the subnet of the pool, or remove the network", network.ErrUnavailable, pool,
					prefix, s.Prefix, short(id))
			}
		}
	}
	return nil
}

// reportDisabledPools reports once that a change of the profiles has disabled a pool. It fails if the ledger does.
func (d *Driver) reportDisabledPools(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(d.options.Policy().Pools)) {
		err := d.CheckPool(ctx, name)
		if errors.Is(err, network.ErrUnavailable) {
			d.reportOnce(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Discovered records that a machine joined or left. All other machines are peers of each vxlan; this machine's
// address is the local end if the network has none. The record is persistent, because Docker does not repeat
// it: a plugin that is loaded after the machine joined a Swarm learns only about this machine. Therefore a new
// address of this machine replaces the old one, but other machines stay. A superfluous peer costs a few
// packets; a missing one breaks connections. It fails with link.ErrImpossible for an address that no machine has.
func (d *Driver) Discovered(ctx context.Context, node netip.Addr, self, gone bool) error {
	node = node.Unmap()
	if !node.IsValid() || node.IsUnspecified() || node.IsMulticast() || node.Zone() != "" {
		return fmt.Errorf("%w: it is not an address of a machine", link.ErrImpossible)
	}
	return d.locked(ctx, func() error {
		if err := d.storeNode(ctx, node.String(), self, gone); err != nil {
			return err
		}
		networks, err := d.networks.Rows(ctx)
		errs := []error{err}
		for _, id := range slices.Sorted(maps.Keys(networks)) {
			if networks[id].Link.Kind == link.VXLAN && networks[id].State == ready {
				errs = append(errs, d.ensureNetwork(ctx, networks[id]))
			}
		}
		return errors.Join(errs...)
	})
}

// storeNode writes or deletes the row of a machine. This machine has one address, the last one.
func (d *Driver) storeNode(ctx context.Context, node string, self, gone bool) error {
	if gone {
		return d.nodes.Delete(ctx, node)
	}
	nodes, err := d.nodes.Rows(ctx)
	if err != nil {
		return err
	}
	for address, row := range nodes {
		if self && row.Self && address != node {
			if err := d.nodes.Delete(ctx, address); err != nil {
				return err
			}
		}
	}
	return d.nodes.Put(ctx, node, nodeRow{Self: self})
}

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
