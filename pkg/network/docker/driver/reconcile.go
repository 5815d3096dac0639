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
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

const (
	// reconcileTimeout limits a reconciliation.
	reconcileTimeout = 2 * time.Minute
	// joinTimeout is the time for which an endpoint without a sandbox counts as joining if another endpoint needs its
	// address.
	joinTimeout = 30 * time.Second
)

// Recover prepares the driver before its first request: it reconciles. It fails only if the rows cannot be read. Errors
// of the kernel are reported and retried later.
func (d *Driver) Recover(ctx context.Context) error {
	_, reading := d.networks.Rows(ctx)
	if _, err := d.endpoints.Rows(ctx); err != nil || reading != nil {
		return errors.Join(reading, err)
	}
	if err := d.Reconcile(ctx); err != nil {
		d.options.Report(err)
	}
	return ctx.Err()
}

// Run reconciles networks, endpoints and leases once per period until the context ends.
func (d *Driver) Run(ctx context.Context) {
	ticker := d.options.Clock.NewTicker(d.options.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if err := errors.Join(d.Reconcile(ctx), d.options.Leases.Sweep(ctx)); err != nil && ctx.Err() == nil {
			d.options.Report(fmt.Errorf("reconciling: %w", err))
		}
	}
}

// Reconcile makes the kernel links of this machine match the rows:
//
//  1. it removes links with our mark that have had no row for the grace period;
//  2. it recreates missing or different links of each network, and removes networks that a crash or a failure left
//     unfinished;
//  3. it removes endpoints that a crash or a failure left unfinished, and those with a container that disappeared before
//     the grace period, or before the machine started, and repairs the ports of the rest.
//
// It continues after a failure and returns all errors. Links without our mark are never changed.
func (d *Driver) Reconcile(ctx context.Context) error {
	d.reconciling.Lock()
	defer d.reconciling.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	links, listErr := d.options.Kernel.Marked(ctx)
	networks, err := d.networks.Rows(ctx)
	if err != nil {
		return err
	}
	endpoints, err := d.endpoints.Rows(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if listErr != nil {
		errs = append(errs, fmt.Errorf("listing the links with our mark: %w", listErr))
	}
	found := map[string]time.Time{} // replaces d.seen
	names := map[string][]string{}
	for _, m := range links {
		if m.Endpoint != "" {
			key := endpointKey(m.Network, m.Endpoint)
			names[key] = append(names[key], m.Name)
		}
		errs = append(errs, d.reconcileLink(ctx, m, len(networks) > 0, found))
	}
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		errs = append(errs, d.reconcileNetwork(ctx, id))
	}
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		errs = append(errs, d.reconcileEndpoint(ctx, endpoints[key], names[key], listErr == nil, found))
	}
	d.seen = found
	return errors.Join(append(errs, d.reportDisabledPools(ctx))...)
}

// firstSeen returns when a finding was seen first, and remembers it.
func (d *Driver) firstSeen(key string, found map[string]time.Time) (first time.Time, isNew bool) {
	first, known := d.seen[key]
	if !known {
		first = d.options.Clock.Now()
	}
	found[key] = first
	return first, !known
}

// reconcileLink removes a link that has had no row for the grace period. Rows are written before links, so a crash
// leaves no such link: it belongs to another ledger, which may be the right one. Therefore nothing is removed while
// this ledger has no network.
func (d *Driver) reconcileLink(ctx context.Context, m link.Marked, hasNetworks bool, found map[string]time.Time) error {
	return d.locked(ctx, func() error {
		if known, err := d.hasRow(ctx, m); known || err != nil {
			return err
		}
		since, isNew := d.firstSeen("link/"+m.Name, found)
		if isNew {
			return nil // it may have been removed with its row since it was listed
		}
		d.reportOnce(fmt.Errorf("the link %s has Graft's mark, but the ledger has no network for it: is it the right ledger?",
			m.Name))
		if !hasNetworks || d.options.Clock.Since(since) < d.options.Grace {
			return nil
		}
		s := link.Segment{Network: m.Network, Spec: link.Spec{Parent: m.Parent, VLAN: m.VLAN}}
		remove := func() error { return d.options.Kernel.RemovePort(ctx, s, m.Endpoint) }
		if m.Endpoint == "" {
			remove = func() error { return d.options.Kernel.RemoveSegment(ctx, s, false) }
		}
		if err := remove(); err != nil {
			return fmt.Errorf("removing the link %s, which has no row: %w", m.Name, err)
		}
		d.options.Removed("link", m.Name)
		return nil
	})
}

// hasRow reports whether the network or the endpoint of a link has a row.
func (d *Driver) hasRow(ctx context.Context, m link.Marked) (known bool, err error) {
	switch {
	case m.Endpoint != "":
		_, known, err = d.endpoints.Get(ctx, endpointKey(m.Network, m.Endpoint))
	case m.Network != "":
		_, known, err = d.networks.Get(ctx, m.Network)
	default:
		known, err = d.needsVLAN(ctx, m.Parent, m.VLAN, "")
	}
	return known, err
}

// needsVLAN reports whether a network other than one is on a VLAN of a parent.
func (d *Driver) needsVLAN(ctx context.Context, parent string, vlan int, except string) (bool, error) {
	rows, err := d.networks.Rows(ctx)
	for id, row := range rows {
		if id != except && row.Link.Parent == parent && row.Link.VLAN == vlan {
			return true, nil
		}
	}
	return false, err
}

// reconcileNetwork makes the links of a network match, or removes an unfinished one.
func (d *Driver) reconcileNetwork(ctx context.Context, id string) error {
	return d.withNetwork(ctx, id, func(row networkRow) error {
		switch row.State {
		case "":
			return nil
		case ready:
			return d.ensureNetwork(ctx, row)
		}
		if err := d.removeNetwork(ctx, row); err != nil {
			return err
		}
		d.options.Removed("network", id)
		return nil
	})
}

// reconcileEndpoint removes an endpoint that is incomplete or whose container no longer exists, and repairs the port of
// any other. names are the endpoint's links on this machine; listed is true if they are known.
func (d *Driver) reconcileEndpoint(ctx context.Context, before endpointRow, names []string, listed bool,
	found map[string]time.Time) error {
	return d.withEndpoint(ctx, before.Network, before.ID, func(n networkRow, row endpointRow) error {
		switch {
		case !row.Since.Equal(before.Since): // a request has changed it
			return nil
		case row.State != ready || listed && d.isGone(row, n.Link, names) && d.isGraceOver(row, found):
			if err := d.removeEndpoint(ctx, n, row); err != nil {
				return err
			}
			d.options.Removed("endpoint", row.key())
		case n.State == ready && slices.Contains(names, link.PortName(row.ID)): // without it, the container does not exist any more
			return d.ensurePort(ctx, n, &row)
		}
		return nil
	})
}

// isGone reports whether an endpoint is in no container, or its links here show that it has left. names are those.
func (d *Driver) isGone(row endpointRow, spec link.Spec, names []string) bool {
	if row.Sandbox == "" || d.isDead(row) || slices.Contains(names, link.InterfaceName(row.ID)) {
		return true
	}
	return spec.Bridged() && len(names) == 0 // one end of a veth pair is here while the other one exists
}

// isGraceOver reports whether an endpoint has been gone for the grace period, or since before the machine started.
func (d *Driver) isGraceOver(row endpointRow, found map[string]time.Time) bool {
	since := row.Since // time of leaving its sandbox
	if row.Sandbox != "" {
		since, _ = d.firstSeen("endpoint/"+row.key(), found)
	}
	return d.isBeforeBoot(row) || d.options.Clock.Since(since) >= d.options.Grace
}

// isDead reports whether an endpoint certainly has no container, without a check of links: the machine was restarted,
// its sandbox does not exist, or it never joined one.
func (d *Driver) isDead(row endpointRow) bool {
	switch {
	case d.isBeforeBoot(row):
		return true
	case row.Sandbox == "":
		return d.options.Clock.Since(row.Since) >= joinTimeout
	default:
		return d.options.Lives != nil && strings.HasPrefix(row.Sandbox, "/") && !d.options.Lives(row.Sandbox)
	}
}

// isBeforeBoot reports whether the machine was restarted since the endpoint was created, which ended all sandboxes
// and links.
func (d *Driver) isBeforeBoot(row endpointRow) bool {
	return row.Boot != d.options.Boot && row.Boot != "" && d.options.Boot != ""
}

// locked calls do while it holds the driver's lock. Each step of do has a time limit. The error wraps
// network.ErrUnavailable if another operation has the lock until the context ends.
func (d *Driver) locked(ctx context.Context, do func() error) error {
	if err := d.lock.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: another operation is in progress: %w", network.ErrUnavailable, err)
	}
	defer d.lock.Release(1)
	return do()
}

// withNetwork calls do with the row of a network, holding the lock. A missing row has no state.
func (d *Driver) withNetwork(ctx context.Context, id string, do func(networkRow) error) error {
	return d.locked(ctx, func() error {
		row, _, err := d.networks.Get(ctx, id)
		if err != nil {
			return err
		}
		return do(row)
	})
}

// withEndpoint calls do with the rows of an endpoint and its network, holding the lock. A missing row has no state.
func (d *Driver) withEndpoint(ctx context.Context, network, id string, do func(networkRow, endpointRow) error) error {
	return d.locked(ctx, func() error {
		n, row, err := d.rows(ctx, network, id)
		if err != nil {
			return err
		}
		return do(n, row)
	})
}

// rows returns the rows of an endpoint and its network. A missing row has no state.
func (d *Driver) rows(ctx context.Context, network, id string) (n networkRow, row endpointRow, err error) {
	if n, _, err = d.networks.Get(ctx, network); err == nil {
		row, _, err = d.endpoints.Get(ctx, endpointKey(network, id))
	}
	return n, row, err
}

// ensureNetwork makes the links of a network match its row. The caller holds the lock.
func (d *Driver) ensureNetwork(ctx context.Context, row networkRow) error {
	s, err := d.segment(ctx, row)
	if err != nil {
		return err
	}
	if err := d.options.Kernel.EnsureSegment(ctx, s); err != nil {
		return fmt.Errorf("making the links of network %s: %w", short(row.ID), err)
	}
	return nil
}

// removeNetwork removes a network with its endpoints. The caller holds the lock.
func (d *Driver) removeNetwork(ctx context.Context, row networkRow) error {
	if row.State == ready {
		row.State, row.Since = unfinished, d.options.Clock.Now()
		if err := d.networks.Put(ctx, row.ID, row); err != nil {
			return err
		}
	}
	endpoints, err := d.endpointsOf(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if err := d.removeEndpoint(ctx, row, e); err != nil {
			return err
		}
	}
	keepVLAN, err := d.needsVLAN(ctx, row.Link.Parent, row.Link.VLAN, row.ID)
	if err != nil {
		return err
	}
	if err := d.options.Kernel.RemoveSegment(ctx, row.segment(), keepVLAN); err != nil {
		return fmt.Errorf("removing the links of network %s: %w", short(row.ID), err)
	}
	return d.networks.Delete(ctx, row.ID)
}

// ensurePort makes the links of an endpoint match its row, and those of its network if they are missing. It sets the
// MAC address that the kernel has chosen.
func (d *Driver) ensurePort(ctx context.Context, n networkRow, row *endpointRow) error {
	s, err := d.segment(ctx, n)
	if err != nil {
		return err
	}
	want := link.Port{Endpoint: row.ID, MAC: row.MAC, VLAN: row.VLAN}
	made, err := d.options.Kernel.EnsurePort(ctx, s, want)
	if errors.Is(err, link.ErrNoSegment) {
		if err = d.ensureNetwork(ctx, n); err == nil {
			made, err = d.options.Kernel.EnsurePort(ctx, s, want)
		}
	}
	if err != nil {
		return fmt.Errorf("making the links of endpoint %s: %w", short(row.ID), err)
	}
	row.MAC, row.Boot = made.MAC, d.options.Boot
	return nil
}

// removeEndpoint removes an endpoint's links and row. The caller holds the lock.
func (d *Driver) removeEndpoint(ctx context.Context, n networkRow, row endpointRow) error {
	if row.State == ready {
		row.State, row.Since = unfinished, d.options.Clock.Now()
		if err := d.endpoints.Put(ctx, row.key(), row); err != nil {
			return err
		}
	}
	s := n.segment()
	s.Network = row.Network // the network may have no row
	if err := d.options.Kernel.RemovePort(ctx, s, row.ID); err != nil {
		return fmt.Errorf("removing the links of endpoint %s: %w", short(row.ID), err)
	}
	return d.endpoints.Delete(ctx, row.key())
}

// segment returns the network's desired state in the kernel. Machines that Docker announced are peers of a tunnel, if
// they are of its address family: the network's, or else this machine's, or else IPv4 if any machine has it.
func (d *Driver) segment(ctx context.Context, row networkRow) (link.Segment, error) {
	s := row.segment()
	if s.Kind != link.VXLAN {
		return s, nil
	}
	rows, err := d.nodes.Rows(ctx)
	if err != nil {
		return s, err
	}
	var self netip.Addr
	var nodes []netip.Addr
	for text, node := range rows {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return s, fmt.Errorf("reading the address of a node: %w", err)
		}
		if nodes = append(nodes, address); node.Self {
			self = address
		}
	}
	slices.SortFunc(nodes, netip.Addr.Compare) // IPv4 comes first
	candidates := slices.Concat([]netip.Addr{s.Local}, s.Peers, []netip.Addr{self}, nodes)
	i := slices.IndexFunc(candidates, netip.Addr.IsValid)
	if i < 0 {
		return s, nil
	}
	family := candidates[i].Unmap()
	if !s.Local.IsValid() && self.BitLen() == family.BitLen() {
		s.Local = self
	}
	s.Peers = slices.Clone(s.Peers)
	for _, node := range nodes {
		switch {
		case node == s.Local || node == self && s.Local.IsValid() || slices.Contains(s.Peers, node):
		case node.BitLen() != family.BitLen():
			d.reportOnce(fmt.Errorf("the network %s leaves out the machine %s: its tunnel is of the other family, "+
				"which all ends of it have", short(row.ID), node))
		case node != self:
			s.Peers = append(s.Peers, node)
		}
	}
	return s, nil
}

// reportOnce reports a persistent condition a single time.
func (d *Driver) reportOnce(err error) {
	if _, known := d.reported.LoadOrStore(err.Error(), true); !known {
		d.options.Report(err)
	}
}
