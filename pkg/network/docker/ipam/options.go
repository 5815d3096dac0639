// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
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
			return fmt.Errorf("%w: there is no option %q; there are %s and %s", link.ErrImpossible, name, optionPool, OptionProfile)
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

// candidate is a subnet to lease, with the profile that allows it.
type candidate struct {
	pool    *policy.Pool
	prefix  netip.Prefix
	profile string
}

// candidates returns the subnets that a request allows, in order, and the selection of the options for messages. It
// fails if there is none.
//
//nolint:cyclop,funlen // one list of checks
func candidates(p *policy.Policy, r PoolRequest) (subnets []candidate, what string, err error) {
	var pools []*policy.Pool
	for _, name := range slices.Sorted(maps.Keys(p.Pools)) {
		pools = append(pools, p.Pools[name])
	}
	chosen, name := r.Options[OptionProfile], r.Options[optionPool]
	if chosen == "" && name == "" && !r.named() {
		return nil, "", fmt.Errorf("%w: name the addresses: --ipam-opt profile=NAME, --ipam-opt pool=NAME, or --subnet",
			link.ErrImpossible)
	}
	var families []int // the address lengths of the profile in bits; nil means all
	if chosen != "" {
		profile, err := p.Choose(chosen)
		if err != nil {
			return nil, "", fmt.Errorf("%w: %w", link.ErrImpossible, err)
		}
		if len(profile.Pools) == 0 {
			return nil, "", fmt.Errorf("%w: the profile %s has no pools", link.ErrImpossible, chosen)
		}
		pools, families, what = profile.Pools, profile.Families, "the profile "+chosen
	}
	if name != "" {
		pool := p.Pool(name)
		switch {
		case pool == nil:
			return nil, "", fmt.Errorf("%w: there is no pool %q; %s", link.ErrImpossible, name,
				source.ListKnown(slices.Sorted(maps.Keys(p.Pools))))
		case !slices.Contains(pools, pool):
			return nil, "", fmt.Errorf("%w: the pool %s is not one of the profile %s", link.ErrImpossible, name, chosen)
		}
		pools, what = []*policy.Pool{pool}, "the pool "+name
	}
	var all []string
	for _, pool := range pools {
		for _, subnet := range pool.Subnets {
			if families != nil && !slices.Contains(families, subnet.Prefix.Addr().BitLen()) {
				continue
			}
			all = append(all, subnet.Prefix.String())
			if r.matches(subnet.Prefix) {
				subnets = append(subnets, candidate{pool, subnet.Prefix, chosen})
			}
		}
	}
	slices.Sort(all)
	family := "IPv4"
	if r.Six {
		family = "IPv6"
	}
	switch {
	case len(subnets) > 0:
		return subnets, what, nil
	case r.named() && what == "":
		err = fmt.Errorf("%w: no pool has the subnet %s; %s", network.ErrOutside, r.Subnet, source.ListKnown(all))
	case r.named():
		err = fmt.Errorf("%w: %s has no subnet %s; %s", network.ErrOutside, what, r.Subnet, source.ListKnown(all))
	case len(all) > 0:
		err = fmt.Errorf("%w: %s has no matching %s subnet; %s", network.ErrOutside, what, family, source.ListKnown(all))
	default:
		err = fmt.Errorf("%w: %s has no subnet: addresses that its cloud chooses cannot be leased", network.ErrOutside, what)
	}
	return nil, what, err
}

// subnetOf returns the subnet of a pool with a prefix.
func subnetOf(pool *policy.Pool, prefix netip.Prefix) (ledger.Subnet, bool) {
	if pool != nil {
		for _, subnet := range pool.Subnets {
			if subnet.Prefix == prefix {
				return subnet, true
			}
		}
	}
	return ledger.Subnet{}, false
}

// checkRange validates the range for the selection of addresses.
func checkRange(pool *policy.Pool, prefix, part netip.Prefix) error {
	if !part.IsValid() {
		return nil
	}
	if part.Bits() < prefix.Bits() || !prefix.Contains(part.Addr()) {
		return fmt.Errorf("%w: the range %s is not in the subnet %s", network.ErrOutside, part, prefix)
	}
	subnet, has := subnetOf(pool, prefix)
	if !has {
		return nil
	}
	of := netipx.RangeOfPrefix(part)
	if _, _, ok := allocator.NewSpace(subnet.Dynamic).Between(of.From(), of.To()); !ok {
		return fmt.Errorf("%w: the pool %s has no free choice of addresses in the range %s", network.ErrOutside, pool.Name, part)
	}
	return nil
}

// gatewayOf returns the gateway that a pool declares in a subnet, or the zero Addr.
func gatewayOf(pool *policy.Pool, prefix netip.Prefix) netip.Addr {
	if pool != nil {
		for _, gateway := range pool.Gateways {
			if prefix.Contains(gateway) {
				return gateway
			}
		}
	}
	return netip.Addr{}
}
