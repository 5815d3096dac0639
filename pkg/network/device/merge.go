// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// Merge merges two configurations, as DRANET merges a user's with ours (pkg/apis/config_merge.go): single values of
// over have precedence, and lists are combined. For equal addresses, routes to one destination in one table, and
// entries for one neighbour, over has precedence. It changes neither argument.
func Merge(base, over Config) Config {
	return Config{
		Profile:   cmp.Or(over.Profile, base.Profile),
		Interface: mergeInterface(base.Interface, over.Interface),
		Routes: last(base.Routes, over.Routes, func(r Route) string {
			return fmt.Sprintf("%s %d", network(r.Destination), r.Table)
		}),
		Rules:     last(base.Rules, over.Rules, func(r Rule) string { return fmt.Sprint(r) }),
		Neighbors: last(base.Neighbors, over.Neighbors, func(n Neighbor) string { return host(n.Destination) }),
		Ethtool:   mergeEthtool(base.Ethtool, over.Ethtool),
	}
}

func mergeInterface(base, over Interface) Interface {
	return Interface{
		Name:                cmp.Or(over.Name, base.Name),
		Addresses:           last(base.Addresses, over.Addresses, canonical),
		DHCP:                cmp.Or(over.DHCP, base.DHCP),
		MTU:                 cmp.Or(over.MTU, base.MTU),
		HardwareAddr:        cmp.Or(over.HardwareAddr, base.HardwareAddr),
		GSOMaxSize:          cmp.Or(over.GSOMaxSize, base.GSOMaxSize),
		GROMaxSize:          cmp.Or(over.GROMaxSize, base.GROMaxSize),
		GSOIPv4MaxSize:      cmp.Or(over.GSOIPv4MaxSize, base.GSOIPv4MaxSize),
		GROIPv4MaxSize:      cmp.Or(over.GROIPv4MaxSize, base.GROIPv4MaxSize),
		DisableEBPFPrograms: cmp.Or(over.DisableEBPFPrograms, base.DisableEBPFPrograms),
		Forwarding:          cmp.Or(over.Forwarding, base.Forwarding),
		ARPIgnore:           cmp.Or(over.ARPIgnore, base.ARPIgnore),
		ARPAnnounce:         cmp.Or(over.ARPAnnounce, base.ARPAnnounce),
		VRF:                 mergeVRF(base.VRF, over.VRF),
	}
}

func mergeVRF(base, over *VRF) *VRF {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	return &VRF{Name: cmp.Or(over.Name, base.Name), Table: cmp.Or(over.Table, base.Table)}
}

func mergeEthtool(base, over *Ethtool) *Ethtool {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	return &Ethtool{Features: mergeSwitches(base.Features, over.Features), PrivateFlags: mergeSwitches(base.PrivateFlags, over.PrivateFlags)}
}

func mergeSwitches(base, over map[string]bool) map[string]bool {
	if len(base)+len(over) == 0 {
		return nil
	}
	merged := map[string]bool{}
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	return merged
}

// last puts lists together; of those that have the same key the last stays.
func last[T any](base, over []T, key func(T) string) []T {
	all := slices.Concat(base, over)
	seen := map[string]bool{}
	var kept []T
	for _, item := range slices.Backward(all) {
		if k := key(item); !seen[k] {
			seen[k] = true
			kept = append(kept, item)
		}
	}
	slices.Reverse(kept)
	return kept
}

// network returns the canonical form of a destination.
func network(cidr string) string {
	if prefix, err := ParsePrefix(cidr); err == nil {
		return prefix.Masked().String()
	}
	return cidr
}

// host returns the canonical form of an address.
func host(text string) string {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.String()
	}
	return text
}
