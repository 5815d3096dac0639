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

// Sweep is what was removed since nobody needs it: networks by their identifiers, endpoints by <network>/<endpoint>, links by their names.
type Sweep struct {
	Networks, Endpoints, Links []string
}

func (s Sweep) empty() bool { return len(s.Networks)+len(s.Endpoints)+len(s.Links) == 0 }

// Removed are how many of a kind were removed since the start.
type Removed struct{ Networks, Endpoints, Links int }

// note counts what was removed, and tells of it.
func (a *Driver) note(s Sweep) {
	if s.empty() {
		return
	}
	a.mutex.Lock()
	a.removed.Networks += len(s.Networks)
	a.removed.Endpoints += len(s.Endpoints)
	a.removed.Links += len(s.Links)
	a.mutex.Unlock()
	a.options.Swept(s)
}

// sweepFor bounds each half of a sweep, and busyFor how long it waits for what is being used.
const (
	sweepFor = time.Minute
	busyFor  = time.Second
)

// Run sweeps each period, until the context ends.
func (a *Driver) Run(ctx context.Context) {
	ticker := a.options.Clock.NewTicker(a.options.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if err := a.Sweep(ctx); err != nil && ctx.Err() == nil {
			a.options.Report(fmt.Errorf("sweeping: %w", err))
		}
	}
}

// Sweep brings to its end what was not, and removes what is stale: endpoints that are gone for longer than the grace, or since the machine was started,
// and links with our mark that no row knows. Links without the mark are never touched. Then it makes again what networks have lost in the kernel: a tunnel,
// the port of a bridge that leads outside, or what could not be made at the start.
func (a *Driver) Sweep(ctx context.Context) error {
	return errors.Join(a.clean(ctx), a.restore(ctx))
}

// clean is the part of a sweep that removes.
func (a *Driver) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepFor)
	defer cancel()
	marked, err := a.marked(ctx)
	if err != nil {
		return errors.Join(err, a.finish(ctx))
	}
	return errors.Join(a.strays(ctx, marked), a.finish(ctx), a.stale(ctx, seen(marked)))
}

// restore makes the links of all networks as they are to be. Where they are, the kernel is only asked.
func (a *Driver) restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepFor)
	defer cancel()
	ids, err := a.networks.keys(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		unlock, err := a.idle(ctx, func(ctx context.Context) (func(), error) { return a.locks.together(ctx, networkLock(id)) })
		if unlock == nil || err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, a.renew(ctx, id))
		unlock()
	}
	return errors.Join(errs...)
}

// seen are the names of the links with our mark, by endpoint.
func seen(marked []link.Marked) map[string][]string {
	names := map[string][]string{}
	for _, m := range marked {
		if m.Endpoint != "" {
			key := endpointKey(m.Network, m.Endpoint)
			names[key] = append(names[key], m.Name)
		}
	}
	return names
}

// finish removes the networks and endpoints of which a crash or a failure has left only a part.
func (a *Driver) finish(ctx context.Context) error {
	networks, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	endpoints, err := a.endpoints.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		if endpoints[key].State != ready {
			errs = append(errs, a.drop(ctx, key, func(row endpointRow) bool { return row.State != ready }))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(networks)) {
		if networks[id].State != ready {
			errs = append(errs, a.finishNetwork(ctx, id))
		}
	}
	return errors.Join(errs...)
}

func (a *Driver) finishNetwork(ctx context.Context, id string) error {
	unlock, err := a.idle(ctx, func(ctx context.Context) (func(), error) { return a.locks.alone(ctx, networkLock(id)) })
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	row, ok, err := a.networks.get(ctx, id)
	if err != nil || !ok || row.State == ready {
		return err
	}
	if err := a.dissolve(ctx, row); err != nil {
		return err
	}
	a.note(Sweep{Networks: []string{id}})
	return nil
}

// idle takes a lock that is not used for long. What is used is no work for a sweep: nil.
func (a *Driver) idle(ctx context.Context, lock func(context.Context) (func(), error)) (func(), error) {
	short, cancel := context.WithTimeout(ctx, busyFor)
	defer cancel()
	unlock, err := lock(short)
	if err != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilnil // that somebody uses it is no error
	}
	return unlock, err
}

// drop removes an endpoint of which still holds what was seen of it.
func (a *Driver) drop(ctx context.Context, key string, holds func(endpointRow) bool) error {
	row, ok, err := a.endpoints.get(ctx, key)
	if err != nil || !ok {
		return err
	}
	unlock, err := a.idle(ctx, func(ctx context.Context) (func(), error) { return a.forEndpoint(ctx, row.Network, row.ID) })
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	if row, ok, err = a.endpoints.get(ctx, key); err != nil || !ok || !holds(row) {
		return err
	}
	n, _, err := a.networks.get(ctx, row.Network)
	if err != nil {
		return err
	}
	if err := a.detach(ctx, n, row); err != nil {
		return err
	}
	a.note(Sweep{Endpoints: []string{key}})
	return nil
}

// stale removes endpoints that are gone for longer than the grace. names are the links here, by endpoint.
func (a *Driver) stale(ctx context.Context, names map[string][]string) error {
	endpoints, err := a.endpoints.all(ctx)
	if err != nil {
		return err
	}
	networks, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	gone := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(endpoints)) {
		row := endpoints[key]
		if row.State != ready || !a.gone(row, networks[row.Network].Link.Kind, names[key]) {
			continue
		}
		gone[key] = true
		if since := a.since(key, row); a.rebooted(row) || a.options.Clock.Since(since) >= a.options.Grace {
			errs = append(errs, a.drop(ctx, key, func(now endpointRow) bool { return now.State == ready && now.Since.Equal(row.Since) }))
		}
	}
	a.forget(gone)
	return errors.Join(errs...)
}

// gone says whether an endpoint seems to be: it is in no sandbox, or it cannot be where it says that it is.
func (a *Driver) gone(row endpointRow, kind link.Kind, names []string) bool {
	if row.Sandbox == "" || a.dead(row) || slices.Contains(names, link.InterfaceName(row.ID)) {
		return true
	}
	paired := kind == link.Bridge || kind == link.VXLAN // one end of the pair is here as long as the other is anywhere
	return paired && len(names) == 0
}

// since is when an endpoint seemed to be gone first. One that has left its sandbox has said it itself.
func (a *Driver) since(key string, row endpointRow) time.Time {
	if row.Sandbox == "" {
		return row.Since
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if _, known := a.missing[key]; !known {
		a.missing[key] = a.options.Clock.Now()
	}
	return a.missing[key]
}

// forget forgets when endpoints seemed to be gone that do not any more.
func (a *Driver) forget(gone map[string]bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	maps.DeleteFunc(a.missing, func(key string, _ time.Time) bool { return !gone[key] })
}
