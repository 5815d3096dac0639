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

// The options of a user, and those of the client.
const (
	// OptionProfile chooses a profile, of pools as of networks.
	OptionProfile = "profile"
	optionPool    = "pool"
	// OwnOptions begins those that are the client's own.
	OwnOptions = "com.docker."
	// optionType says what an address is for: TypeGateway, or nothing. Swarm sends it with pools, too.
	optionType  = "RequestAddressType"
	TypeGateway = OwnOptions + "network.gateway"
	// optionSerial comes with all that Swarm's managers ask for, and with nothing else (moby, daemon/libnetwork/cnmallocator).
	optionSerial = OwnOptions + "network.ipam.serial"
)

// checkOptions is the error of an option that there is not.
func checkOptions(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if name != OptionProfile && name != optionPool && name != optionType && !strings.HasPrefix(name, OwnOptions) {
			return fmt.Errorf("%w: there is no option %q; there are %s and %s", ErrRequest, name, optionPool, OptionProfile)
		}
	}
	return nil
}

// mine are the options that a user has given.
func mine(options map[string]string) map[string]string {
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

// choice is what a user has chosen: the pools that it may be, in order.
type choice struct {
	profile string
	pools   []*policy.Pool
	// families are those of the profile, by their length in bits; nil: all.
	families []int
	// free says that nothing was chosen, so that a subnet must be named.
	free bool
	// what says it for people.
	what string
}

// choose finds what the options choose.
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

// subnets are those of the pools that are of the profile's families.
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
