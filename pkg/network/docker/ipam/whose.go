// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"fmt"
	"slices"
	"strings"
)

// mostNamed limits the networks in a message. shortened is the length of identifiers in Docker's commands.
const (
	mostNamed = 3
	shortened = 12
)

// networksOf returns a phrase with the networks that lease the subnets, as far as they are known, or "".
func (s *space) networksOf(subnets []candidate, leases map[string]Pool) string {
	var names []string
	for _, of := range subnets {
		name := leases[s.id(of.pool.Name, of.prefix)].Network
		if name == "" || name == several {
			continue
		}
		if name = name[:min(len(name), shortened)]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch more := len(names) - mostNamed; {
	case len(names) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf(", by the networks %s and %d more", strings.Join(names[:mostNamed], ", "), more)
	case len(names) > 1:
		return ", by the networks " + strings.Join(names, ", ")
	default:
		return ", by the network " + names[0]
	}
}
