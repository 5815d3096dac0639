// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Recover is called once, before anybody asks: what a crash has left is brought to its end, and the links of networks are made again where they have
// gone, as with a restart of the machine. The error says that the rows cannot be read. What the kernel does not do now is reported, and is done when it
// is needed, or by the next sweep.
func (a *Driver) Recover(ctx context.Context) error {
	for _, load := range []func(context.Context) error{a.networks.load, a.endpoints.load, a.nodes.load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	if err := a.clean(ctx); err != nil {
		a.options.Report(fmt.Errorf("sweeping at the start: %w", err))
	}
	if err := a.tellOverlaps(ctx); err != nil {
		return err
	}
	rows, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if err := a.again(ctx, id); err != nil {
			a.options.Report(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// Usage is what there is.
type Usage struct {
	// Networks and Endpoints are how many there are, and Joined how many of the endpoints are in a sandbox.
	Networks, Endpoints, Joined int
	// Removed are how many stale ones were removed since the start.
	Removed Removed
}

// Usage counts what there is, for metrics.
func (a *Driver) Usage(ctx context.Context) (Usage, error) {
	networks, err := a.networks.keys(ctx)
	if err != nil {
		return Usage{}, err
	}
	endpoints, err := a.endpoints.all(ctx)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Networks: len(networks), Endpoints: len(endpoints)}
	for _, row := range endpoints {
		if row.Sandbox != "" {
			u.Joined++
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	u.Removed = a.removed
	return u, nil
}
