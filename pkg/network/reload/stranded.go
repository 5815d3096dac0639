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
	// Pools are how many allocations of each pool would be.
	Pools   map[string]int
	message string
}

// shown is the number of allocations that a message names.
const shown = 20

// newStranded returns the error for allocations. It names the first of them, and the possible actions.
func newStranded(all []network.Allocation, next *policy.Policy) *Stranded {
	s := &Stranded{Pools: map[string]int{}}
	var lines []string
	for i, a := range all {
		s.Pools[a.Pool]++
		if i < shown {
			addresses := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Addresses), "[]"), " ", ", ")
			holder := cmp.Or(a.Holder.String(), "an unknown owner of "+a.Owner.Contract)
			lines = append(lines, fmt.Sprintf("  %s of the pool %s, held by %s", addresses, a.Pool, holder))
		}
	}
	if more := len(all) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	names := slices.Sorted(maps.Keys(s.Pools))
	gone := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return next.Pool(name) != nil })
	if len(gone) > 0 {
		lines = append(lines, "Allocations of a removed pool cannot be released: write "+strings.Join(gone, ", ")+" again until nothing of it is held.")
	}
	if len(gone) < len(names) {
		lines = append(lines, "Either restore the addresses of the pool, or release the allocations first;",
			"or write whenShrunk: drain in the pool: then owners keep them, and they are not allocated again after their release.")
	}
	s.message = fmt.Sprintf("held allocations would be outside of their pools (%s): %d\n%s",
		strings.Join(names, ", "), len(all), strings.Join(lines, "\n"))
	return s
}

// Error implements error.
func (s *Stranded) Error() string { return s.message }
