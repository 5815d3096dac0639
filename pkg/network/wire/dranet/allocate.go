// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
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
	// owner is who holds it, and held what it holds already; nil: nothing, or it is being made.
	owner network.Owner
	held  *network.Allocation
	// making is the part of all requests that are underway for the owner.
	making *making
}

// allocate gives the device of a claim what its profile has, and the same again. A configuration without a profile is given nothing.
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
	end, err := a.find(ctx)
	if err != nil {
		return device.Config{}, err
	}
	defer end()
	if a.held == nil {
		if err := a.denied(ctx); err != nil {
			return device.Config{}, err
		}
	}
	profile := a.policy.Profile(config.Profile)
	if profile == nil {
		return device.Config{}, unknown(config.Profile, a.policy.ProfileNames())
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

// unknown is the problem of a profile that there is not.
func unknown(name string, known []string) error {
	return wire.Problemf(http.StatusNotFound, "there is no profile %q; %s", name, source.ThereAre(known))
}

// find finds the owner of the allocation, old or new. It is known to others until end is called.
func (a *allocation) find(ctx context.Context) (end func(), err error) {
	w, err := a.underway.enter(ctx, a.claim)
	if err != nil {
		return nil, err
	}
	defer w.pass()
	defer func() {
		if err != nil {
			a.underway.leave(a.claim, w)
		}
	}()
	held, err := a.Service.Owned(ctx, ownerOf(a.claim+"/"))
	if err != nil {
		return nil, err
	}
	found, err := a.search.allocated(a.underway.candidates(w, held))
	if err != nil {
		return nil, err
	}
	if found != nil {
		a.owner, a.held = found.owner, found.held
		if a.held != nil && a.held.State == network.Releasing {
			a.held = nil // it is given anew
		}
	} else {
		key, err := a.search.key(a.claim)
		if err != nil {
			return nil, err
		}
		a.owner = ownerOf(key)
	}
	a.making = a.underway.begin(w, a.owner, a.search)
	return func() { a.end(ctx, w) }, nil
}

func ownerOf(key string) network.Owner { return network.Owner{Contract: contract, Key: key} }
