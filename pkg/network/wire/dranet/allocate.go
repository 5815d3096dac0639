// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// allocation is one request for a device of a claim on its way.
type allocation struct {
	*handler
	*request
	policy  *policy.Policy
	subject policy.Subject
	claim   string
	search  search
	// owner is the owner of the device, and held its existing allocation; nil if there is none or it is being made.
	owner network.Owner
	held  *network.Allocation
	// created reports that this request made the allocation.
	created bool
}

// allocate allocates the resources of the device's profile, and returns the same when repeated. It allocates nothing
// for a configuration without a profile.
func (h *handler) allocate(ctx context.Context, r *request) (device.Config, error) {
	uid, err := r.uid()
	if err == nil {
		err = checkDevice(r.Device)
	}
	if err == nil {
		err = r.checkNames(uid)
	}
	if err != nil {
		return device.Config{}, err
	}
	config := r.config()
	if err := config.Validate(); err != nil {
		return device.Config{}, bad("the configuration is not valid: %s", err)
	}
	a := &allocation{handler: h, request: r, policy: h.Policy(), claim: uid, subject: r.subject(uid, r.node(h.Node))}
	if config.Profile == "" {
		return device.Config{}, a.denied(ctx)
	}
	a.search = search{who: identify(r.Device), as: config.Interface.Name, addresses: addresses(r.listed()), single: r.single()}
	// A request that identifies the same device differently must find this one's allocation.
	unlock, err := h.claims.Lock(ctx, uid)
	if err != nil {
		return device.Config{}, err
	}
	defer unlock()
	for range attempts {
		answer, err := a.decide(ctx, config.Profile)
		if !errors.Is(err, network.ErrNotHeld) {
			return answer, err
		}
	}
	return device.Config{}, fmt.Errorf("%w: it is released by other requests", network.ErrUnavailable)
}

// attempts limits how often a request is evaluated again because the device's allocation was released concurrently.
const attempts = 3

// decide finds the allocation of the device, evaluates the rules if there is none, and allocates.
func (a *allocation) decide(ctx context.Context, name string) (device.Config, error) {
	if err := a.find(ctx); err != nil {
		return device.Config{}, err
	}
	if a.held == nil {
		if err := a.denied(ctx); err != nil {
			return device.Config{}, err
		}
	}
	profile := a.policy.Profile(name)
	if profile == nil {
		return device.Config{}, unknown(name, a.policy.ProfileNames())
	}
	return a.give(ctx, profile)
}

// denied asks the rules of the author.
func (a *allocation) denied(ctx context.Context) error {
	denial, err := a.policy.Deny(ctx, a.subject)
	if denial == nil || err != nil {
		return err
	}
	return &wire.Problem{Status: denial.Code, Message: denial.Message}
}

// unknown returns the problem of an unknown profile.
func unknown(name string, known []string) error {
	return wire.Problemf(http.StatusNotFound, "there is no profile %q; %s", name, source.ThereAre(known))
}

// find finds the owner of the allocation, old or new.
func (a *allocation) find(ctx context.Context) error {
	a.owner, a.held = network.Owner{}, nil
	held, err := a.Service.Owned(ctx, ownerOf(a.claim+"/"))
	if err != nil {
		return err
	}
	found, err := a.search.allocated(candidates(held))
	if err != nil {
		return err
	}
	if found != nil {
		if a.owner = found.owner; found.held.State != network.Releasing {
			a.held = found.held
		}
		return nil
	}
	key, err := a.search.key(a.claim)
	a.owner = ownerOf(key)
	return err
}

func ownerOf(key string) network.Owner { return network.Owner{Contract: contract, Key: key} }
