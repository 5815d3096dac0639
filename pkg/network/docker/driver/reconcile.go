// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

const (
	// stepTimeout bounds each step of a reconciliation, and busyTimeout how long one waits for what a request is using.
	stepTimeout = time.Minute
	busyTimeout = time.Second
)

// Removed lists what the reconciler removed: networks by their identifiers, endpoints by <network>/<endpoint>, links
// by their names.
type Removed struct {
	Networks, Endpoints, Links []string
}

// Recover prepares the driver before its first request: it reads the rows, reconciles, and reports pools that overlap
// networks. It fails only if the rows cannot be read. What the kernel refuses now is reported and tried again later.
func (d *Driver) Recover(ctx context.Context) error {
	for _, load := range []func(context.Context) error{d.networks.load, d.endpoints.load, d.nodes.load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	for _, err := range d.reconcile(ctx) {
		if err != nil {
			d.options.Report(err)
		}
	}
	if err := d.tellOverlaps(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// Run reconciles once per period until the context ends.
func (d *Driver) Run(ctx context.Context) {
	ticker := d.options.Clock.NewTicker(d.options.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if err := d.Reconcile(ctx); err != nil && ctx.Err() == nil {
			d.options.Report(fmt.Errorf("reconciling: %w", err))
		}
	}
}

// Reconcile makes the kernel links of this machine match the rows, in this order:
//
//  1. remove links that bear our mark and have had no row for the grace period;
//  2. finish networks and endpoints that a crash or a failure left half made or half removed;
//  3. remove endpoints whose container has been gone for the grace period, or since before the machine started;
//  4. make the links of each network again where they are missing or different;
//  5. repair the ends of veth pairs that are ports of bridges.
//
// A failing step does not stop the next ones. Steps 1, 3 and 5 need the list of links. Links without our mark are
// never touched. A request that creates or joins an endpoint makes its missing links by itself (see port).
func (d *Driver) Reconcile(ctx context.Context) error { return errors.Join(d.reconcile(ctx)...) }

// reconcile runs the steps of Reconcile and returns the result of each.
func (d *Driver) reconcile(ctx context.Context) []error {
	links, listErr := d.marked(ctx)
	errs := []error{listErr}
	for _, step := range []struct {
		needsLinks bool
		run        func(context.Context, []link.Marked) error
	}{
		{true, d.removeUnknownLinks},
		{false, d.finishRows},
		{true, d.removeGoneEndpoints},
		{false, d.ensureNetworks},
		{true, d.repairPorts},
	} {
		if step.needsLinks && listErr != nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		errs = append(errs, step.run(bounded, links))
		cancel()
	}
	return errs
}

// removeUnknownLinks is step 1. Rows are written before links, so a crash leaves no such link: it belongs to another
// ledger, which may be the right one. Therefore nothing is removed while this ledger has no network.
func (d *Driver) removeUnknownLinks(ctx context.Context, links []link.Marked) error {
	networks, err := d.networks.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	unknown := slices.DeleteFunc(slices.Clone(links), func(m link.Marked) bool {
		known, err := d.hasRow(ctx, m)
		errs = append(errs, err)
		return known || err != nil
	})
	if len(unknown) > 0 { // some links may have been removed since, with their rows
		again, err := d.marked(ctx)
		errs = append(errs, err)
		unknown = slices.DeleteFunc(unknown, func(m link.Marked) bool { return !slices.Contains(again, m) })
	}
	seen := map[string]bool{}
	for _, m := range unknown {
		seen[m.Name] = true
		since, isNew := d.unknownLinks.since(m.Name, d.options.Clock.Now())
		if isNew {
			d.options.Report(fmt.Errorf("the link %s bears our mark, and this ledger has no network of it: is it the right ledger?", m.Name))
		}
		if len(networks) > 0 && d.options.Clock.Since(since) >= d.options.Grace {
			errs = append(errs, d.removeUnknownLink(ctx, m))
		}
	}
	d.unknownLinks.keep(seen)
	return errors.Join(errs...)
}

// removeUnknownLink removes one link unless it has got a row. No link is made without a row, so none can follow.
func (d *Driver) removeUnknownLink(ctx context.Context, m link.Marked) error {
	unlock, err := d.tryLock(ctx, func(ctx context.Context) (func(), error) {
		switch {
		case m.Endpoint != "":
			return d.forEndpoint(ctx, m.Network, m.Endpoint)
		case m.Network != "":
			return d.locks.alone(ctx, networkLock(m.Network))
		default:
			return d.locks.alone(ctx, allNetworks)
		}
	})
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	if known, err := d.hasRow(ctx, m); known || err != nil {
		return err
	}
	if err := d.kernel(ctx, func(ctx context.Context) error { return d.options.Kernel.Remove(ctx, m) }); err != nil {
		return fmt.Errorf("removing the link %s, which has no row: %w", m.Name, err)
	}
	d.note(Removed{Links: []string{m.Name}})
	return nil
}

// hasRow reports whether the network or the endpoint of a link has a row.
func (d *Driver) hasRow(ctx context.Context, m link.Marked) (known bool, err error) {
	if m.Endpoint != "" {
		_, known, err = d.endpoints.get(ctx, endpointKey(m.Network, m.Endpoint))
	} else if m.Network != "" {
		_, known, err = d.networks.get(ctx, m.Network)
	} else {
		known, err = d.sharesVLAN(ctx, networkRow{Network: Network{Link: link.Spec{Parent: m.Parent, VLAN: m.VLAN}}})
	}
	return known, err
}

// finishRows is step 2: it removes all that is not ready, endpoints before their networks. What was half made had no
// answer yet, and what was half removed is wanted by no caller.
func (d *Driver) finishRows(ctx context.Context, _ []link.Marked) error {
	networks, err := d.networks.all(ctx)
	if err != nil {
		return err
	}
	endpoints, err := d.endpoints.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		if endpoints[key].State != ready {
			errs = append(errs, d.removeEndpointIf(ctx, key, func(row endpointRow) bool { return row.State != ready }))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		if networks[id].State != ready {
			errs = append(errs, d.finishNetwork(ctx, id))
		}
	}
	return errors.Join(errs...)
}

func (d *Driver) finishNetwork(ctx context.Context, id string) error {
	unlock, err := d.tryLock(ctx, func(ctx context.Context) (func(), error) { return d.forNetworks(ctx, id) })
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	row, ok, err := d.networks.get(ctx, id)
	if err != nil || !ok || row.State == ready {
		return err
	}
	if err := d.dissolve(ctx, row); err != nil {
		return err
	}
	d.note(Removed{Networks: []string{id}})
	return nil
}

// removeGoneEndpoints is step 3.
func (d *Driver) removeGoneEndpoints(ctx context.Context, links []link.Marked) error {
	names := map[string][]string{}
	for _, m := range links {
		if m.Endpoint != "" {
			key := endpointKey(m.Network, m.Endpoint)
			names[key] = append(names[key], m.Name)
		}
	}
	endpoints, err := d.endpoints.all(ctx)
	if err != nil {
		return err
	}
	networks, err := d.networks.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	gone := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		row := endpoints[key]
		if row.State != ready || !d.isGone(row, networks[row.Network].Link.Kind, names[key]) {
			continue
		}
		gone[key] = true
		since := row.Since // time of leaving its sandbox
		if row.Sandbox != "" {
			since, _ = d.goneEndpoints.since(key, d.options.Clock.Now())
		}
		if d.rebooted(row) || d.options.Clock.Since(since) >= d.options.Grace {
			unchanged := func(now endpointRow) bool { return now.State == ready && now.Since.Equal(row.Since) }
			errs = append(errs, d.removeEndpointIf(ctx, key, unchanged))
		}
	}
	d.goneEndpoints.keep(gone)
	return errors.Join(errs...)
}

// isGone reports whether an endpoint is in no container, or its links here show that it has left. names are those.
func (d *Driver) isGone(row endpointRow, kind link.Kind, names []string) bool {
	if row.Sandbox == "" || d.dead(row) || slices.Contains(names, link.InterfaceName(row.ID)) {
		return true
	}
	hasPair := kind == link.Bridge || kind == link.VXLAN // one end of a veth pair is here while the other one exists
	return hasPair && len(names) == 0
}

// removeEndpointIf removes an endpoint if a condition holds for its row once it is locked.
func (d *Driver) removeEndpointIf(ctx context.Context, key string, condition func(endpointRow) bool) error {
	row, ok, err := d.endpoints.get(ctx, key)
	if err != nil || !ok {
		return err
	}
	unlock, err := d.tryLock(ctx, func(ctx context.Context) (func(), error) { return d.forEndpoint(ctx, row.Network, row.ID) })
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	if row, ok, err = d.endpoints.get(ctx, key); err != nil || !ok || !condition(row) {
		return err
	}
	n, _, err := d.networks.get(ctx, row.Network)
	if err != nil {
		return err
	}
	if err := d.detach(ctx, n, row); err != nil {
		return err
	}
	d.note(Removed{Endpoints: []string{key}})
	return nil
}

// ensureNetworks is step 4. For links that are as they should be, the kernel is only asked.
func (d *Driver) ensureNetworks(ctx context.Context, _ []link.Marked) error {
	ids, err := d.networks.keys(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		unlock, err := d.tryLock(ctx, func(ctx context.Context) (func(), error) { return d.locks.together(ctx, networkLock(id)) })
		if unlock == nil || err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, d.renew(ctx, id))
		unlock()
	}
	return errors.Join(errs...)
}

// repairPorts is step 5. A port that somebody took out of its bridge, set down or changed cuts a running container off.
// Only ends that are in this namespace are looked at: without one, the container is gone (see isGone).
func (d *Driver) repairPorts(ctx context.Context, links []link.Marked) error {
	var errs []error
	for _, m := range links {
		if m.Endpoint == "" || m.Name != link.PortName(m.Endpoint) {
			continue
		}
		unlock, err := d.tryLock(ctx, func(ctx context.Context) (func(), error) {
			return d.forEndpoint(ctx, m.Network, m.Endpoint)
		})
		if unlock == nil || err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, d.repairPort(ctx, m))
		unlock()
	}
	return errors.Join(errs...)
}

func (d *Driver) repairPort(ctx context.Context, m link.Marked) error {
	row, ok, err := d.endpoints.get(ctx, endpointKey(m.Network, m.Endpoint))
	if err != nil || !ok || row.State != ready || d.rebooted(row) {
		return err
	}
	n, ok, err := d.networks.get(ctx, m.Network)
	if err != nil || !ok || n.State != ready {
		return err
	}
	s, err := d.segment(ctx, n)
	if err != nil {
		return err
	}
	err = d.kernel(ctx, func(ctx context.Context) error {
		_, err := d.options.Kernel.EnsurePort(ctx, s, link.Port{Endpoint: row.ID, MAC: row.MAC, VLAN: row.VLAN})
		return err
	})
	if err != nil {
		return fmt.Errorf("repairing the port of endpoint %s: %w", short(m.Endpoint), err)
	}
	return nil
}

// tryLock takes a lock that is free within busyTimeout. It returns nil if a request holds it for longer: the next
// reconciliation looks again.
func (d *Driver) tryLock(ctx context.Context, lock func(context.Context) (func(), error)) (func(), error) {
	short, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	unlock, err := lock(short)
	if err != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilnil // a lock that is in use is no error
	}
	return unlock, err
}

// note counts what was removed, and reports it.
func (d *Driver) note(r Removed) {
	d.mutex.Lock()
	d.removed.Networks += len(r.Networks)
	d.removed.Endpoints += len(r.Endpoints)
	d.removed.Links += len(r.Links)
	d.mutex.Unlock()
	d.options.Removed(r)
}

// RemovedCount counts the networks, endpoints and links that the reconciler removed since the start.
type RemovedCount struct{ Networks, Endpoints, Links int }

// Usage is the number of networks, of endpoints, and of endpoints in a sandbox (Joined), for metrics.
type Usage struct {
	Networks, Endpoints, Joined int
	Removed                     RemovedCount
}

// Usage counts the rows.
func (d *Driver) Usage(ctx context.Context) (Usage, error) {
	networks, err := d.networks.keys(ctx)
	if err != nil {
		return Usage{}, err
	}
	endpoints, err := d.endpoints.all(ctx)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Networks: len(networks), Endpoints: len(endpoints)}
	for _, row := range endpoints {
		if row.Sandbox != "" {
			u.Joined++
		}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	u.Removed = d.removed
	return u, nil
}
