// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// allocation is the state of a request for one device of a claim.
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
func (h *handler) allocate(ctx context.Context, r *request) (any, error) {
	uid, field, err := r.uid()
	if err == nil {
		err = r.checkNames(uid, field)
	}
	if err != nil {
		return nil, err
	}
	if err := r.Config.Validate(); err != nil {
		return nil, badRequest("the configuration is not valid: %s", err)
	}
	nodes := r.nodes()
	node := h.Node
	if node == "" && len(nodes) > 0 {
		node = nodes[0]
	}
	a := &allocation{handler: h, request: r, policy: h.Policy(), claim: uid, subject: r.subject(uid, node)}
	if r.Config.Profile == "" {
		return device.Config{}, a.policy.Permit(ctx, a.subject)
	}
	a.search = search{who: identify(r.Device), as: r.Config.Interface.Name, addresses: r.addresses(), single: len(nodes) == 1}
	// A request that identifies the same device differently must find this one's allocation.
	unlock, err := h.claims.Lock(ctx, uid)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range attempts {
		answer, err := a.decide(ctx)
		if !errors.Is(err, network.ErrNotHeld) {
			return answer, err
		}
	}
	return nil, fmt.Errorf("%w: other requests release it", network.ErrUnavailable)
}

// attempts limits how often a request is evaluated again because the device's allocation was released concurrently.
const attempts = 3

// decide finds the allocation of the device, evaluates the rules if there is none, and allocates from the first pool of
// the profile that is not exhausted.
func (a *allocation) decide(ctx context.Context) (device.Config, error) {
	if err := a.find(ctx); err != nil {
		return device.Config{}, err
	}
	if a.held == nil {
		if err := a.policy.Permit(ctx, a.subject); err != nil {
			return device.Config{}, err
		}
	}
	profile := a.policy.Profile(a.Config.Profile)
	if profile == nil {
		_, err := a.policy.Choose(a.Config.Profile)
		return device.Config{}, api.Problemf(http.StatusNotFound, "%s", err)
	}
	pools, err := a.pools(profile)
	if err != nil {
		return device.Config{}, err
	}
	if len(pools) == 0 {
		return a.answerWithoutPools(ctx, profile)
	}
	var empty []string
	for _, pool := range pools {
		answer, err := a.allocateFrom(ctx, profile, pool)
		if !errors.Is(err, network.ErrExhausted) {
			return answer, err
		}
		empty = append(empty, err.Error())
	}
	return device.Config{}, fmt.Errorf("%w: the profile %s has no free resources: %s", network.ErrExhausted, profile.Name, strings.Join(empty, "; "))
}

// find sets the owner of the device: that of its existing allocation, or a new one.
func (a *allocation) find(ctx context.Context) error {
	a.owner, a.held = network.Owner{}, nil
	held, err := a.Service.Owned(ctx, ownerOf(a.claim+"/"))
	if err != nil {
		return err
	}
	found, err := a.search.allocated(held)
	if err != nil {
		return err
	}
	if found != nil {
		if a.owner = found.Owner; found.State != network.Releasing {
			a.held = found
		}
		return nil
	}
	key, err := a.search.key(a.claim)
	a.owner = ownerOf(key)
	return err
}

func ownerOf(key string) network.Owner { return network.Owner{Contract: contract, Key: key} }

// answerWithoutPools answers with the configuration of a profile that has no pools.
func (a *allocation) answerWithoutPools(ctx context.Context, profile *policy.Profile) (device.Config, error) {
	if profile.Elsewhere {
		return device.Config{}, api.Problemf(http.StatusNotFound, "the profile %s has no pool for this node", profile.Name)
	}
	answer, err := profile.Config(ctx, a.subject)
	if err != nil {
		return device.Config{}, err
	}
	return answer, a.check(ctx, profile, &policy.Pool{}, answer)
}

// pools returns the possible pools: the pool of the existing allocation, or the pools with the requested addresses.
func (a *allocation) pools(profile *policy.Profile) ([]*policy.Pool, error) {
	if a.held == nil {
		return matchPools(profile, a.listed())
	}
	pool := a.policy.Pool(a.held.Pool)
	if pool == nil {
		return nil, fmt.Errorf("%w %q, which already gave the device %s", network.ErrUnknownPool, a.held.Pool, a.held.Addresses)
	}
	if asked := a.missingAddress(*a.held); asked.IsValid() {
		return nil, api.Problemf(http.StatusConflict, "%s is requested, but the device has %s", asked, a.held.Addresses)
	}
	return []*policy.Pool{pool}, nil
}

func (a *allocation) allocateFrom(ctx context.Context, profile *policy.Profile, pool *policy.Pool) (device.Config, error) {
	s := a.subject
	s.Pool = pool.Name
	extra, err := profile.Config(ctx, s)
	if err != nil {
		return device.Config{}, err
	}
	if a.held == nil {
		if err := a.check(ctx, profile, pool, device.Merge(pool.Config(network.Allocation{Pool: pool.Name}), extra)); err != nil {
			return device.Config{}, err
		}
	}
	got, err := a.callService(ctx, profile, pool, s)
	if err != nil {
		return device.Config{}, err
	}
	if got.Pool != pool.Name || a.missingAddress(got).IsValid() {
		return device.Config{}, network.ErrNotHeld // a concurrent request has allocated it: find it, and compare it with this request
	}
	answer := a.keepNotation(device.Merge(pool.Config(got), extra))
	if err = answer.Validate(); err != nil {
		err = invalidResponse("the profile "+profile.Name, err)
	} else {
		err = a.check(ctx, profile, pool, answer)
	}
	if err != nil {
		if a.created {
			a.retract(ctx, got)
		}
		return device.Config{}, err
	}
	if !a.created { // another request created it, and may fail before it answers
		if err := a.Service.MarkAnswered(ctx, got); err != nil {
			return device.Config{}, err
		}
	}
	return answer, a.addAliases(ctx, got)
}

// retract releases an allocation that this request made but cannot return, unless another request has received it.
func (a *allocation) retract(ctx context.Context, got network.Allocation) {
	if err := a.Service.Retract(context.WithoutCancel(ctx), got); err != nil {
		a.Log.Error(err, "Releasing an allocation that could not be returned failed", "claim", a.claim)
	}
}

// missingAddress returns a requested address that is not part of the allocation, or the zero address.
func (a *allocation) missingAddress(held network.Allocation) netip.Addr {
	for _, asked := range a.search.addresses {
		if !slices.Contains(held.Addresses, asked) {
			return asked
		}
	}
	return netip.Addr{}
}

// callService allocates from a pool. It checks quotas only for a new allocation.
func (a *allocation) callService(ctx context.Context, profile *policy.Profile, pool *policy.Pool, s policy.Subject) (network.Allocation, error) {
	r := service.Request{
		Owner: a.owner, Pool: pool.Name, Addresses: a.search.addresses, Families: profile.Families,
		Holder: a.holder(a.claim, s.Node, a.search), Trunk: network.Trunk{Node: s.Node, MAC: a.search.who[kindMAC]},
		MustHold: a.held != nil, Created: &a.created,
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

// keepNotation writes the requested addresses as the request wrote them, because DRANET compares their texts when it
// merges the lists.
func (a *allocation) keepNotation(answer device.Config) device.Config {
	asked := map[netip.Prefix]string{}
	for _, text := range a.Config.Interface.Addresses {
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

// mostAliases limits the stored names of a device, so that requests with new names cannot grow its row without bound.
const mostAliases = 16

// addAliases records further names of the device, so that a release can use them.
func (a *allocation) addAliases(ctx context.Context, got network.Allocation) error {
	more := a.holder(a.claim, a.subject.Node, a.search)
	add := func(h *network.Holder) error {
		if aliases := union(h.Aliases, more.Aliases); len(aliases) <= mostAliases {
			h.Aliases = aliases
		}
		if h.Name == "" {
			h.Namespace, h.Name = more.Namespace, more.Name
		}
		h.Node = cmp.Or(h.Node, more.Node)
		return nil
	}
	holder := got.Holder
	if _ = add(&holder); reflect.DeepEqual(holder, got.Holder) {
		return nil
	}
	_, err := a.Service.Claim(ctx, a.owner, add)
	if errors.Is(err, network.ErrNotHeld) {
		return fmt.Errorf("%w: it was released at the same time; retry", network.ErrUnavailable)
	}
	return err
}

// matchPools returns the pools of the profile that have all requested addresses with the prefix lengths of their
// subnets. Without requested addresses, it returns all pools.
func matchPools(profile *policy.Profile, asked []netip.Prefix) ([]*policy.Pool, error) {
	var subnets []string
	for _, pool := range profile.Pools {
		for _, s := range pool.Subnets {
			if len(profile.Families) == 0 || slices.Contains(profile.Families, s.Prefix.Addr().BitLen()) {
				subnets = append(subnets, s.Prefix.String())
			}
		}
	}
	pools := slices.Clone(profile.Pools)
	for i, prefix := range asked {
		subnet := prefix.Masked()
		if !slices.Contains(subnets, subnet.String()) {
			if len(subnets) == 0 {
				return nil, badRequest("interface.addresses[%d]: the cloud of the profile %s chooses its addresses", i, profile.Name)
			}
			return nil, badRequest("interface.addresses[%d]: %s must be an address of the profile %s with the length of its subnet: %s",
				i, prefix, profile.Name, strings.Join(subnets, ", "))
		}
		if slices.ContainsFunc(asked[:i], func(other netip.Prefix) bool { return other.Addr().BitLen() == prefix.Addr().BitLen() }) {
			return nil, badRequest("interface.addresses: a device gets at most one address of each family")
		}
		pools = slices.DeleteFunc(pools, func(pool *policy.Pool) bool {
			return !slices.ContainsFunc(pool.Subnets, func(s ledger.Subnet) bool { return s.Prefix == subnet })
		})
	}
	if len(asked) > 0 && len(pools) == 0 {
		return nil, badRequest("interface.addresses: they are of different pools of the profile %s", profile.Name)
	}
	return pools, nil
}

// check returns an error if the request conflicts with the profile. DRANET gives precedence to the user, so that a
// conflict can only be rejected. Attributes of the device do not conflict, because the profile's author set them.
func (a *allocation) check(ctx context.Context, profile *policy.Profile, pool *policy.Pool, ours device.Config) error {
	asked := a.Config
	if asked.Interface.DHCP != nil && *asked.Interface.DHCP && len(profile.Pools) > 0 {
		return badRequest("interface.dhcp: the profile %s allocates addresses; remove it", profile.Name)
	}
	var facts device.Config
	mtu := asked.Interface.MTU != nil && ours.Interface.MTU != nil && *asked.Interface.MTU != *ours.Interface.MTU
	mac := macConflicts(asked.Interface.HardwareAddr, ours.Interface.HardwareAddr, pool, a.held != nil)
	if mtu || mac {
		var err error
		if facts, err = a.configuration(ctx, a.subject.Device); err != nil {
			return fmt.Errorf("reading the facts of the device: %w", err)
		}
	}
	if mtu && !ptr.Equal(facts.Interface.MTU, asked.Interface.MTU) {
		return badRequest("interface.mtu: %d is requested, but the profile %s has %d; remove it", *asked.Interface.MTU, profile.Name, *ours.Interface.MTU)
	}
	if mac && (facts.Interface.HardwareAddr == nil || readMAC(*facts.Interface.HardwareAddr) != readMAC(*asked.Interface.HardwareAddr)) {
		return badRequest("interface.hardwareAddr: %s is requested, but the profile %s sets MAC addresses; remove it", *asked.Interface.HardwareAddr, profile.Name)
	}
	together := device.Merge(ours, asked)
	if err := together.Validate(); err != nil {
		return badRequest("the configuration is not valid together with the profile %s: %s", profile.Name, err)
	}
	return nil
}

// macConflicts reports whether the requested MAC address differs from the allocated one; before the allocation, any address
// differs.
func macConflicts(asked, ours *string, pool *policy.Pool, given bool) bool {
	if asked == nil {
		return false
	}
	if ours == nil {
		return len(pool.MACPrefix) > 0 && !given
	}
	return readMAC(*asked) != readMAC(*ours)
}
