// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
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
	lines := []string{fmt.Sprintf("%s would be outside of %s:", number(s.Count, "held allocation"), describePools(s.Pools))}
	lines = append(lines, s.Lines()...)
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

// Lines returns the named allocations, one per line.
func (s *Stranded) Lines() []string {
	var lines []string
	for _, a := range s.First {
		addresses := make([]string, len(a.Addresses))
		for i, address := range a.Addresses {
			addresses[i] = address.String()
		}
		holder := a.Holder.String()
		if holder == "" {
			holder = "an unknown owner of " + a.Owner.Contract
		}
		lines = append(lines, fmt.Sprintf("  %s of the pool %s, held by %s", strings.Join(addresses, ", "), a.Pool, holder))
	}
	return lines
}

func number(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

func describePools(pools map[string]int) string {
	names := slices.Sorted(maps.Keys(pools))
	if len(names) == 1 {
		return "the pool " + names[0]
	}
	return "the pools " + strings.Join(names, ", ")
}
