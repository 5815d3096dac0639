// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Beyond is a field of Config that Docker's responses cannot express (libnetwork, drivers/remote/api: JoinResponse),
// with the reason. A field of list items is written as routes[].table.
type Beyond struct{ Field, Why string }

// BeyondDocker returns those fields. Docker supports the name of the interface, its MTU, and routes of the main table
// through a router or over the link.
func BeyondDocker() []Beyond {
	const interfaces = "Docker configures the interface itself"
	fields := []Beyond{
		{"interface.addresses", "addresses come out of pools"},
		{"interface.dhcp", "Docker's containers have addresses before they run"},
		{"interface.hardwareAddr", "all containers would have the same MAC address"},
		{"interface.vrf", "Docker does not support VRFs"},
		{"routes[].source", "Docker's routes have no source address"},
		{"routes[].table", "Docker's routes are in the main table"},
		{"rules", "Docker has no rules of routing"},
		{"neighbors", "Docker sets no neighbours"},
		{"ethtool", "Docker sets no features of cards"},
	}
	for _, name := range []string{
		"gsoMaxSize", "groMaxSize", "gsoIPv4MaxSize", "groIPv4MaxSize", "disableEbpfPrograms", "forwarding", "arpIgnore", "arpAnnounce",
	} {
		fields = append(fields, Beyond{"interface." + name, interfaces})
	}
	return fields
}

// BeyondDocker returns the parts of the configuration that Docker's containers cannot get, as Problems, or nil.
func (c *Config) BeyondDocker() error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("reading a configuration: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return fmt.Errorf("reading a configuration: %w", err)
	}
	var p Problems
	for _, beyond := range BeyondDocker() {
		list, inner, items := strings.Cut(beyond.Field, "[].")
		if !items {
			if isSet(tree, beyond.Field) {
				p.add(beyond.Field, "%s", beyond.Why)
			}
			continue
		}
		all, _ := tree[list].([]any)
		for i, of := range all {
			if members, ok := of.(map[string]any); ok && isSet(members, inner) && !IsMainTable(fmt.Sprint(members[inner])) {
				p.add(fmt.Sprintf("%s[%d].%s", list, i, inner), "%s", beyond.Why)
			}
		}
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return p.err()
}

// IsMainTable reports whether a text is the number of the main routing table.
func IsMainTable(text string) bool { return text == "254" }

// isSet reports whether a value is set at a path of mappings; false and zero values count as unset.
func isSet(tree map[string]any, path string) bool {
	first, rest, deeper := strings.Cut(path, ".")
	value, ok := tree[first]
	if !deeper {
		return ok && value != nil && value != false
	}
	inner, _ := value.(map[string]any)
	return isSet(inner, rest)
}
