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

// beyondDocker maps fields of Config that Docker's responses cannot express (libnetwork, drivers/remote/api:
// JoinResponse) to the reason. A field of list items is written as routes[].table. Docker supports the name of the
// interface, its MTU, and routes of the main table through a router or over the link.
var beyondDocker = map[string]string{
	"interface.addresses":    "addresses come out of pools",
	"interface.dhcp":         "Docker's containers have addresses before they run",
	"interface.hardwareAddr": "all containers would have the same MAC address",
	"interface.vrf":          "Docker does not support VRFs",
	"routes[].source":        "Docker's routes have no source address",
	"routes[].table":         "Docker's routes are in the main table",
	"rules":                  "Docker has no rules of routing",
	"neighbors":              "Docker sets no neighbours",
	"ethtool":                "Docker sets no features of cards",

	"interface.gsoMaxSize":          ownInterface,
	"interface.groMaxSize":          ownInterface,
	"interface.gsoIPv4MaxSize":      ownInterface,
	"interface.groIPv4MaxSize":      ownInterface,
	"interface.disableEbpfPrograms": ownInterface,
	"interface.forwarding":          ownInterface,
	"interface.arpIgnore":           ownInterface,
	"interface.arpAnnounce":         ownInterface,
}

const ownInterface = "Docker configures the interface itself"

// BeyondDocker returns the parts of a configuration that Docker's containers cannot get, ordered by field. tree is the
// configuration as JSON, which may have expressions as values; false counts as unset.
func BeyondDocker(tree map[string]any) Problems {
	var p Problems
	for field, reason := range beyondDocker {
		list, inner, items := strings.Cut(field, "[].")
		if !items {
			if isSet(tree, field) {
				p.add(field, "%s", reason)
			}
			continue
		}
		all, _ := tree[list].([]any)
		for i, item := range all {
			const mainTable = "254"
			if members, ok := item.(map[string]any); ok && isSet(members, inner) && fmt.Sprint(members[inner]) != mainTable {
				p.add(fmt.Sprintf("%s[%d].%s", list, i, inner), "%s", reason)
			}
		}
	}
	slices.SortFunc(p, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return p
}

// BeyondDocker returns the parts of the configuration that Docker's containers cannot get, as Problems, or nil.
func (c *Config) BeyondDocker() error {
	var tree map[string]any
	raw, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	if err != nil {
		return fmt.Errorf("reading a configuration: %w", err)
	}
	return BeyondDocker(tree).err()
}

// isSet reports whether a value is set at a path of mappings.
func isSet(tree map[string]any, path string) bool {
	first, rest, deeper := strings.Cut(path, ".")
	value, ok := tree[first]
	if !deeper {
		return ok && value != nil && value != false
	}
	inner, _ := value.(map[string]any)
	return isSet(inner, rest)
}
