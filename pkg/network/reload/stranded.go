// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Stranded is the error of profiles that would leave held addresses outside of their pools.
type Stranded struct {
	// Pools are how many allocations of each pool would be, and Count how many all are.
	Pools map[string]int
	Count int
	// First are the first allocations, and Gone the removed pools.
	First []network.Allocation
	Gone  []string
}

// shown is the number of allocations that a message names.
const shown = 20

func newStranded(all []network.Allocation, next *policy.Policy) *Stranded {
	s := &Stranded{Pools: map[string]int{}, Count: len(all), First: all[:min(shown, len(all))]}
	for _, a := range all {
		s.Pools[a.Pool]++
	}
	for _, name := range slices.Sorted(maps.Keys(s.Pools)) {
		if next.Pool(name) == nil {
			s.Gone = append(s.Gone, name)
		}
	}
	return s
}

// Error names the addresses and the possible actions.
func (s *Stranded) Error() string {
	noun, pools := "allocations", "pools"
	if s.Count == 1 {
		noun = "allocation"
	}
	if len(s.Pools) == 1 {
		pools = "pool"
	}
	names := strings.Join(slices.Sorted(maps.Keys(s.Pools)), ", ")
	lines := []string{fmt.Sprintf("%d held %s would be outside of the %s %s:", s.Count, noun, pools, names)}
	for _, a := range s.First {
		addresses := make([]string, len(a.Addresses))
		for i, address := range a.Addresses {
			addresses[i] = address.String()
		}
		holder := cmp.Or(a.Holder.String(), "an unknown owner of "+a.Owner.Contract)
		lines = append(lines, fmt.Sprintf("  %s of the pool %s, held by %s", strings.Join(addresses, ", "), a.Pool, holder))
	}
	if more := s.Count - len(s.First); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	if len(s.Gone) > 0 {
		lines = append(lines, "Allocations of a removed pool cannot be released: write "+strings.Join(s.Gone, ", ")+" again until nothing of it is held.")
	}
	if len(s.Gone) == len(s.Pools) { // there is nothing to write whenShrunk in
		return strings.Join(append(lines, "whenShrunk: drain works only for existing pools: a pool can be removed when it has no allocations."), "\n")
	}
	return strings.Join(append(lines,
		"Either restore the addresses of the pool, or release the allocations first;",
		"or write whenShrunk: drain in the pool: then owners keep them, and they are not allocated again after their release."), "\n")
}
