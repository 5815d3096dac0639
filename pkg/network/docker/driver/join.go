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

// Join says that an endpoint is to be in a sandbox, and sees to it that its interface is there to be moved. The same again gives the same; an endpoint
// whose interface is in another sandbox is an error.
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
	if !inside { // else its interface is in the sandbox, or still here
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

// isBack says whether the interface of an endpoint is in this namespace.
func (a *Driver) isBack(ctx context.Context, row endpointRow) (bool, error) {
	marked, err := a.marked(ctx)
	is := func(m link.Marked) bool { return m.Name == link.InterfaceName(row.ID) && m.Endpoint == row.ID }
	return slices.ContainsFunc(marked, is), err
}

// marked are the links here that bear our mark. The kernel bounds each of the lists that this takes, so that thousands of links do not come too late;
// all together have half of the time of a step.
func (a *Driver) marked(ctx context.Context) ([]link.Marked, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout/2)
	defer cancel()
	marked, err := a.options.Kernel.Marked(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the links with our mark: %w", err)
	}
	return marked, nil
}

// Leave says that an endpoint is in no sandbox any more. Its interface is, until this is answered, and comes back then. An unknown one is no error.
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

// settled is how long an endpoint that is in no sandbox may be on its way into one, while somebody else wants what it has.
const settled = 30e9 // nanoseconds

// dead says that an endpoint is gone for certain, as far as that can be known without looking at links: the machine was started since, its
// sandbox is gone, or it never came into one.
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

// rebooted says that the machine was started since an endpoint was made, which has ended all sandboxes and links.
func (a *Driver) rebooted(row endpointRow) bool {
	return row.Boot != a.options.Boot && row.Boot != "" && a.options.Boot != ""
}

// lives says whether a sandbox is there; where nobody knows, it may be.
func (a *Driver) lives(sandbox string) bool {
	return a.options.Lives == nil || !strings.HasPrefix(sandbox, "/") || a.options.Lives(sandbox)
}
