// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// place finds the pools of the profile that have all addresses that are asked for, each with the length that the pool's addresses are written
// with; all pools when none is asked for.
func place(profile *policy.Profile, asked []netip.Prefix) ([]*policy.Pool, error) {
	if len(asked) == 0 {
		return profile.Pools, nil
	}
	for i, prefix := range asked {
		if err := placeOne(profile, prefix); err != nil {
			return nil, bad("interface.addresses[%d]: %s", i, err)
		}
		if slices.ContainsFunc(asked[:i], func(other netip.Prefix) bool { return other.Addr().BitLen() == prefix.Addr().BitLen() }) {
			return nil, bad("interface.addresses: a device is given one address of each family at most")
		}
	}
	var pools []*policy.Pool
	for _, pool := range profile.Pools {
		if !slices.ContainsFunc(asked, func(prefix netip.Prefix) bool { return !fits(pool, prefix) }) {
			pools = append(pools, pool)
		}
	}
	if len(pools) == 0 {
		return nil, bad("interface.addresses: they are of different pools of the profile %s", profile.Name)
	}
	return pools, nil
}

// fits reports whether an address belongs to a subnet of the pool, with its length.
func fits(pool *policy.Pool, asked netip.Prefix) bool {
	return slices.ContainsFunc(pool.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Contains(asked.Addr()) && s.Prefix.Bits() == asked.Bits() })
}

// placeOne returns the reason why no pool of the profile has an address.
func placeOne(profile *policy.Profile, asked netip.Prefix) error {
	if len(profile.Families) > 0 && !slices.Contains(profile.Families, asked.Addr().BitLen()) {
		return fmt.Errorf("the profile %s has no addresses of the family of %s", profile.Name, asked)
	}
	var subnets []string
	length := -1
	for _, pool := range profile.Pools {
		if fits(pool, asked) {
			return nil
		}
		for _, subnet := range pool.Subnets {
			if subnet.Prefix.Contains(asked.Addr()) {
				length = subnet.Prefix.Bits()
			}
			subnets = append(subnets, subnet.Prefix.String())
		}
	}
	switch {
	case length >= 0:
		return fmt.Errorf("%s must be written with the length of its subnet, as %s", asked, netip.PrefixFrom(asked.Addr(), length))
	case len(subnets) == 0:
		return fmt.Errorf("%s cannot be asked for: the cloud of the profile %s chooses addresses", asked, profile.Name)
	}
	return fmt.Errorf("%s is in no pool of the profile %s: %s", asked, profile.Name, strings.Join(subnets, ", "))
}

// check returns an error if the request conflicts with the profile. DRANET gives precedence to the user, so that
// conflicts can only be refused. Attributes of the device do not conflict, because the profile's author set them.
func (a *allocation) check(ctx context.Context, profile *policy.Profile, pool *policy.Pool, ours device.Config) error {
	asked := a.config()
	if asked.Interface.DHCP != nil && *asked.Interface.DHCP && len(profile.Pools) > 0 {
		return bad("interface.dhcp: the profile %s gives addresses; leave it out", profile.Name)
	}
	var facts device.Config
	mtu, mac := clash(asked.Interface.MTU, ours.Interface.MTU), clashMAC(asked.Interface.HardwareAddr, ours.Interface.HardwareAddr, pool, a.held != nil)
	if mtu || mac {
		var err error
		if facts, err = a.policy.DeviceConfig(ctx, a.subject.Device); err != nil {
			return fmt.Errorf("the facts of the device: %w", err)
		}
	}
	if mtu && (facts.Interface.MTU == nil || *facts.Interface.MTU != *asked.Interface.MTU) {
		return bad("interface.mtu: %d is asked for, and the profile %s has %d; leave it out", *asked.Interface.MTU, profile.Name, *ours.Interface.MTU)
	}
	if mac && (facts.Interface.HardwareAddr == nil || readMAC(*facts.Interface.HardwareAddr) != readMAC(*asked.Interface.HardwareAddr)) {
		return bad("interface.hardwareAddr: %s is asked for, and the profile %s gives its own; leave it out", *asked.Interface.HardwareAddr, profile.Name)
	}
	together := device.Merge(ours, asked)
	if err := together.Validate(); err != nil {
		return bad("the configuration is not valid together with the profile %s: %s", profile.Name, err)
	}
	return nil
}

func clash(asked, ours *int32) bool { return asked != nil && ours != nil && *asked != *ours }

// clashMAC reports whether the requested MAC address differs from the allocated one; before the allocation, any address
// differs.
func clashMAC(asked, ours *string, pool *policy.Pool, given bool) bool {
	if asked == nil {
		return false
	}
	if ours == nil {
		return len(pool.MACPrefix) > 0 && !given
	}
	return readMAC(*asked) != readMAC(*ours)
}
