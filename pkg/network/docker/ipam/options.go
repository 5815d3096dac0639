// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options of the user and of the client.
const (
	// OptionProfile selects a profile, for pools and networks.
	OptionProfile = "profile"
	optionPool    = "pool"
	// OwnOptions is the prefix of the client's own options.
	OwnOptions = "com.docker."
	// optionType is the purpose of an address: TypeGateway or none. Swarm also sends it with pools.
	optionType  = "RequestAddressType"
	TypeGateway = OwnOptions + "network.gateway"
	// optionSerial is sent with all requests of Swarm's managers and only with these (moby,
	// daemon/libnetwork/cnmallocator).
	optionSerial = OwnOptions + "network.ipam.serial"
)

// checkOptions returns an error for an unknown option.
func checkOptions(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if name != OptionProfile && name != optionPool && name != optionType && !strings.HasPrefix(name, OwnOptions) {
			return fmt.Errorf("%w: there is no option %q; there are %s and %s", ErrRequest, name, optionPool, OptionProfile)
		}
	}
	return nil
}

// ourOptions returns the user's options.
func ourOptions(options map[string]string) map[string]string {
	users := map[string]string{}
	for _, name := range []string{OptionProfile, optionPool} {
		if value := options[name]; value != "" {
			users[name] = value
		}
	}
	if len(users) == 0 {
		return nil
	}
	return users
}

// choice is the user's selection: the candidate pools, in order.
type choice struct {
	profile string
	pools   []*policy.Pool
	// families lists the address lengths of the profile in bits; nil means all.
	families []int
	// free means that nothing was selected, so that a subnet must be named.
	free bool
	// what describes the selection in messages.
	what string
}

// choose returns the selection of the options.
func choose(p *policy.Policy, options map[string]string) (choice, error) {
	c := choice{profile: options[OptionProfile]}
	name := options[optionPool]
	if c.profile == "" && name == "" {
		c.free = true
		return c, nil
	}
	if c.profile != "" {
		profile, err := p.Choose(c.profile)
		if err != nil {
			return c, fmt.Errorf("%w: %w", ErrRequest, err)
		}
		if len(profile.Pools) == 0 {
			return c, fmt.Errorf("%w: the profile %s has no pools", ErrRequest, c.profile)
		}
		c.pools, c.families, c.what = profile.Pools, profile.Families, "the profile "+c.profile
	}
	if name == "" {
		return c, nil
	}
	pool := p.Pool(name)
	switch {
	case pool == nil:
		return c, fmt.Errorf("%w: there is no pool %q; %s", ErrRequest, name, source.ThereAre(slices.Sorted(maps.Keys(p.Pools))))
	case c.profile != "" && !slices.Contains(c.pools, pool):
		return c, fmt.Errorf("%w: the pool %s is not one of the profile %s", ErrRequest, name, c.profile)
	}
	c.pools, c.what = []*policy.Pool{pool}, "the pool "+name
	return c, nil
}

// subnets returns the subnets of the pools in the profile's families.
func (c choice) subnets() []candidate {
	var all []candidate
	for _, pool := range c.pools {
		for _, subnet := range pool.Subnets {
			if c.families == nil || slices.Contains(c.families, subnet.Prefix.Addr().BitLen()) {
				all = append(all, candidate{pool, subnet.Prefix, c.profile})
			}
		}
	}
	return all
}
