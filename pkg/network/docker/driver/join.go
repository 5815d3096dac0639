// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// Join puts an endpoint into a sandbox and ensures that its interface exists to be moved. A repeated call
// returns the same; it fails if the endpoint is in another sandbox.
func (a *Driver) Join(ctx context.Context, network, id, sandbox string) (Endpoint, Network, error) {
	if err := checkIdentifiers(network, id); err != nil {
		return Endpoint{}, Network{}, err
	}
	if sandbox == "" {
		return Endpoint{}, Network{}, fmt.Errorf("%w: no sandbox is named", ErrImpossible)
	}
	unlock, err := a.forEndpoint(ctx, network, id)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	defer unlock()
	n, err := a.network(ctx, network)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	row, err := a.endpoint(ctx, network, id)
	if err != nil {
		return Endpoint{}, Network{}, err
	}
	inside := row.Sandbox != "" && row.Boot == a.options.Boot
	if inside && row.Sandbox != sandbox {
		if back, err := a.isBack(ctx, row); err != nil || !back {
			return Endpoint{}, Network{}, cannotJoin(row, err)
		}
	}
	if !inside { // otherwise the interface is in the sandbox, or still here
		if row, err = a.port(ctx, n, row); err != nil {
			return Endpoint{}, Network{}, err
		}
	}
	if row.Sandbox != sandbox || !inside {
		row.Sandbox, row.Since = sandbox, a.options.Clock.Now()
		if err := a.endpoints.put(ctx, row.key(), row); err != nil {
			return Endpoint{}, Network{}, err
		}
	}
	return row.Endpoint, n.Network, nil
}

func cannotJoin(row endpointRow, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: endpoint %s is in another sandbox", ErrImpossible, short(row.ID))
}

// isBack reports whether the endpoint's interface is in this network namespace.
func (a *Driver) isBack(ctx context.Context, row endpointRow) (bool, error) {
	marked, err := a.marked(ctx)
	is := func(m link.Marked) bool { return m.Name == link.InterfaceName(row.ID) && m.Endpoint == row.ID }
	return slices.ContainsFunc(marked, is), err
}

// marked lists the links with our mark. The kernel limits each of the lists that this needs, so that thousands
// of links fit; all together have half of stepTimeout.
func (a *Driver) marked(ctx context.Context) ([]link.Marked, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout/2)
	defer cancel()
	marked, err := a.options.Kernel.Marked(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the links with our mark: %w", err)
	}
	return marked, nil
}

// Leave takes an endpoint out of its sandbox. Docker returns the interface after the response. It ignores an
// unknown endpoint.
func (a *Driver) Leave(ctx context.Context, network, id string) error {
	if err := checkIdentifiers(network, id); err != nil {
		return err
	}
	unlock, err := a.forEndpoint(ctx, network, id)
	if err != nil {
		return err
	}
	defer unlock()
	row, err := a.endpoint(ctx, network, id)
	if isUnknown(err) || err == nil && row.Sandbox == "" {
		return nil
	}
	if err != nil {
		return err
	}
	row.Sandbox, row.Since = "", a.options.Clock.Now()
	return a.endpoints.put(ctx, row.key(), row)
}

// settled is the time for which an endpoint without a sandbox counts as joining, while another one needs its
// resources.
const settled = 30e9 // nanoseconds

// dead reports whether an endpoint is certainly gone, without looking at links: the machine was restarted, its
// sandbox is gone, or it never joined one.
func (a *Driver) dead(row endpointRow) bool {
	switch {
	case a.rebooted(row):
		return true
	case row.Sandbox == "":
		return a.options.Clock.Since(row.Since) >= settled
	default:
		return !a.lives(row.Sandbox)
	}
}

// rebooted reports whether the machine was restarted since the endpoint was created, which ended all sandboxes
// and links.
func (a *Driver) rebooted(row endpointRow) bool {
	return row.Boot != a.options.Boot && row.Boot != "" && a.options.Boot != ""
}

// lives reports whether a sandbox may exist.
func (a *Driver) lives(sandbox string) bool {
	return a.options.Lives == nil || !strings.HasPrefix(sandbox, "/") || a.options.Lives(sandbox)
}
