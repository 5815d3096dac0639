// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// Merge merges two configurations, as DRANET merges a user's with ours (pkg/apis/config_merge.go): single values of
// over have precedence, and lists are combined. For equal addresses, routes to one destination in one table, and
// entries for one neighbour, over has precedence. It changes neither argument.
func Merge(base, over Config) Config {
	var merged Config
	for _, c := range []Config{base, over} {
		if raw, err := json.Marshal(c); err == nil { // decoding sets only what the text has
			_ = json.Unmarshal(raw, &merged)
		}
	}
	merged.Interface.Addresses = last(base.Interface.Addresses, over.Interface.Addresses, canonical)
	merged.Routes = last(base.Routes, over.Routes, func(r Route) string {
		return fmt.Sprintf("%s %d", network(r.Destination), r.Table)
	})
	merged.Rules = last(base.Rules, over.Rules, func(r Rule) string { return fmt.Sprint(r) })
	merged.Neighbors = last(base.Neighbors, over.Neighbors, func(n Neighbor) string { return host(n.Destination) })
	return merged
}

// last joins lists. Of items with the same key, the last one stays.
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
