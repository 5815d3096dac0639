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

// strays removes links with our mark that no row has known for longer than the grace. As rows are written before links, a crash leaves none: they are of
// another ledger, which may be the right one. Where there is no network at all, none is removed.
func (a *Driver) strays(ctx context.Context, marked []link.Marked) error {
	networks, err := a.networks.all(ctx)
	if err != nil {
		return err
	}
	unknown, err := a.unknown(ctx, marked)
	if len(unknown) > 0 { // some may have gone since they were listed, and then their rows
		again, listErr := a.marked(ctx)
		err = errors.Join(err, listErr)
		unknown = slices.DeleteFunc(unknown, func(m link.Marked) bool { return !slices.Contains(again, m) })
	}
	errs := []error{err}
	strange := map[string]bool{}
	for _, m := range unknown {
		strange[m.Name] = true
		if since := a.strangeSince(m); len(networks) > 0 && a.options.Clock.Since(since) >= a.options.Grace {
			errs = append(errs, a.stray(ctx, m))
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	maps.DeleteFunc(a.strange, func(name string, _ time.Time) bool { return !strange[name] })
	return errors.Join(errs...)
}

// unknown are those of links that no row knows.
func (a *Driver) unknown(ctx context.Context, marked []link.Marked) (unknown []link.Marked, err error) {
	var errs []error
	for _, m := range marked {
		known, err := a.knows(ctx, m)
		if errs = append(errs, err); !known && err == nil {
			unknown = append(unknown, m)
		}
	}
	return unknown, errors.Join(errs...)
}

// strangeSince is when a link was seen first that no row knows.
func (a *Driver) strangeSince(m link.Marked) time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	since, before := a.strange[m.Name]
	if !before {
		since = a.options.Clock.Now()
		a.strange[m.Name] = since
		a.options.Report(fmt.Errorf("the link %s bears our mark, and this ledger has no network of it: is it the right ledger?", m.Name))
	}
	return since
}

// stray removes a link unless a row knows it. As rows are written before links are made, none can follow.
func (a *Driver) stray(ctx context.Context, m link.Marked) error {
	known, err := a.knows(ctx, m)
	if known || err != nil {
		return err
	}
	unlock, err := a.idle(ctx, func(ctx context.Context) (func(), error) {
		if m.Endpoint != "" {
			return a.forEndpoint(ctx, m.Network, m.Endpoint)
		}
		if m.Network != "" {
			return a.locks.alone(ctx, networkLock(m.Network))
		}
		return a.locks.alone(ctx, allNetworks)
	})
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	if known, err := a.knows(ctx, m); known || err != nil {
		return err
	}
	if err := a.kernel(ctx, func(ctx context.Context) error { return a.options.Kernel.Remove(ctx, m) }); err != nil {
		return fmt.Errorf("removing the link %s, which nobody knows: %w", m.Name, err)
	}
	a.note(Sweep{Links: []string{m.Name}})
	return nil
}

// knows says whether there is a row of what a link is for.
func (a *Driver) knows(ctx context.Context, m link.Marked) (known bool, err error) {
	if m.Endpoint != "" {
		_, known, err = a.endpoints.get(ctx, endpointKey(m.Network, m.Endpoint))
	} else if m.Network != "" {
		_, known, err = a.networks.get(ctx, m.Network)
	}
	return known, err
}
