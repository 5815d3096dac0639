// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// give allocates from the first pool of the profile that has something left.
func (a *allocation) give(ctx context.Context, profile *policy.Profile) (device.Config, error) {
	pools, err := a.pools(profile)
	if err != nil {
		return device.Config{}, err
	}
	if len(pools) == 0 {
		return a.giveNothing(ctx, profile)
	}
	var empty []string
	for _, pool := range pools {
		answer, err := a.giveFrom(ctx, profile, pool)
		if !errors.Is(err, network.ErrExhausted) {
			return answer, err
		}
		empty = append(empty, err.Error())
	}
	return device.Config{}, fmt.Errorf("%w: the profile %s has nothing left: %s", network.ErrExhausted, profile.Name, strings.Join(empty, "; "))
}

// giveNothing answers with the configuration of a profile that has no pools.
func (a *allocation) giveNothing(ctx context.Context, profile *policy.Profile) (device.Config, error) {
	if profile.Elsewhere {
		return device.Config{}, wire.Problemf(http.StatusNotFound, "the profile %s has no pool that is served on this node", profile.Name)
	}
	answer, err := a.extra(ctx, profile, a.subject)
	if err != nil {
		return device.Config{}, err
	}
	return answer, a.check(ctx, profile, &policy.Pool{}, answer)
}

// extra returns the settings of the profile without those of its pools.
func (a *allocation) extra(ctx context.Context, profile *policy.Profile, s policy.Subject) (device.Config, error) {
	extra, err := profile.Config(ctx, s)
	if err != nil {
		return device.Config{}, err
	}
	extra.Profile = ""
	if err := extra.Validate(); err != nil {
		return device.Config{}, broken("the profile "+profile.Name, err)
	}
	return extra, nil
}

// pools returns the possible pools: that of the existing allocation, or those with the requested addresses.
func (a *allocation) pools(profile *policy.Profile) ([]*policy.Pool, error) {
	if a.held == nil {
		return place(profile, a.listed())
	}
	pool := a.policy.Pool(a.held.Pool)
	if pool == nil {
		return nil, fmt.Errorf("%w %q, of which the device holds %s", network.ErrUnknownPool, a.held.Pool, a.held.Addresses)
	}
	if asked := a.lacks(*a.held); asked.IsValid() {
		return nil, wire.Problemf(http.StatusConflict, "%s is asked for, and the device holds %s already", asked, a.held.Addresses)
	}
	return []*policy.Pool{pool}, nil
}

func (a *allocation) giveFrom(ctx context.Context, profile *policy.Profile, pool *policy.Pool) (device.Config, error) {
	s := a.subject
	s.Pool = pool.Name
	extra, err := a.extra(ctx, profile, s)
	if err != nil {
		return device.Config{}, err
	}
	if a.held == nil {
		if err := a.check(ctx, profile, pool, device.Merge(pool.Config(network.Allocation{Pool: pool.Name}), extra)); err != nil {
			return device.Config{}, err
		}
	}
	got, err := a.take(ctx, profile, pool, s)
	if err != nil {
		return device.Config{}, err
	}
	if got.Pool != pool.Name || a.lacks(got).IsValid() {
		return a.giveOther(ctx, profile, got)
	}
	answer := a.echo(device.Merge(pool.Config(got), extra))
	if err = answer.Validate(); err != nil {
		err = broken("the profile "+profile.Name, err)
	} else {
		err = a.check(ctx, profile, pool, answer)
	}
	if err != nil {
		if a.created {
			a.retract(ctx, got)
		}
		return device.Config{}, err
	}
	if !a.created { // another request has made it, and may not be able to answer with it
		if err := a.Service.MarkAnswered(ctx, got); err != nil {
			return device.Config{}, err
		}
	}
	return answer, a.learn(ctx, got)
}

// retract releases an allocation that this request made but cannot return, unless another request has received it.
func (a *allocation) retract(ctx context.Context, got network.Allocation) {
	if err := a.Service.Retract(context.WithoutCancel(ctx), got); err != nil {
		a.Log.Error(err, "What cannot be given is not released either", "claim", a.claim)
	}
}

// giveOther returns the allocation that a concurrent request for the device made, if it matches this request.
func (a *allocation) giveOther(ctx context.Context, profile *policy.Profile, got network.Allocation) (device.Config, error) {
	a.held = &got
	pools, err := a.pools(profile)
	if err != nil {
		return device.Config{}, err
	}
	return a.giveFrom(ctx, profile, pools[0])
}

// lacks returns a requested address that is not part of the allocation, or the zero address.
func (a *allocation) lacks(held network.Allocation) netip.Addr {
	for _, asked := range a.search.addresses {
		if !slices.Contains(held.Addresses, asked) {
			return asked
		}
	}
	return netip.Addr{}
}

// take asks the service.
func (a *allocation) take(ctx context.Context, profile *policy.Profile, pool *policy.Pool, s policy.Subject) (network.Allocation, error) {
	r := service.Request{
		Owner: a.owner, Pool: pool.Name, Addresses: a.search.addresses, Families: profile.Families,
		Holder: a.holder(a.claim, s.Node, a.search), Trunk: network.Trunk{Node: s.Node, MAC: a.search.who.mac},
		Held: a.held != nil, Created: &a.created,
	}
	var err error
	if a.held == nil {
		if r.Quotas, err = pool.Quotas(ctx, s); err != nil {
			return network.Allocation{}, err
		}
	}
	got, err := a.Service.Allocate(ctx, r)
	if err != nil {
		return got, fmt.Errorf("allocating from the pool %s: %w", pool.Name, err)
	}
	return got, nil
}

// echo writes the addresses that were asked for as they were asked for: DRANET puts the lists together by their text.
func (a *allocation) echo(answer device.Config) device.Config {
	asked := map[netip.Prefix]string{}
	for _, text := range a.config().Interface.Addresses {
		if prefix, err := device.ParsePrefix(text); err == nil {
			asked[prefix] = text
		}
	}
	answer.Interface.Addresses = slices.Clone(answer.Interface.Addresses)
	for i, text := range answer.Interface.Addresses {
		if prefix, err := device.ParsePrefix(text); err == nil && asked[prefix] != "" {
			answer.Interface.Addresses[i] = asked[prefix]
		}
	}
	return answer
}

// mostAliases bounds by how many names a device is remembered.
const mostAliases = 16

// learn records further names of the device, so that a release can use them.
func (a *allocation) learn(ctx context.Context, got network.Allocation) error {
	more := a.holder(a.claim, a.subject.Node, a.search)
	h := got.Holder
	aliases := union(h.Aliases, more.Aliases)
	if (len(aliases) == len(h.Aliases) || len(aliases) > mostAliases) && (h.Name != "" || more.Name == "") && (h.Node != "" || more.Node == "") {
		return nil
	}
	err := a.Service.Describe(ctx, a.owner, func(h *network.Holder) {
		if aliases := union(h.Aliases, more.Aliases); len(aliases) <= mostAliases {
			h.Aliases = aliases
		}
		if h.Name == "" {
			h.Namespace, h.Name = more.Namespace, more.Name
		}
		if h.Node == "" {
			h.Node = more.Node
		}
	})
	if errors.Is(err, network.ErrNotHeld) {
		return fmt.Errorf("%w: it was released meanwhile", network.ErrUnavailable)
	}
	return err
}
