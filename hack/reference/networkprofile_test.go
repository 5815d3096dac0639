// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestNetworkProfiles checks that the schema accepts the examples and rejects wrong documents.
func TestNetworkProfiles(t *testing.T) {
	validator := compiled(t, networkProfile)
	for _, path := range glob(t, "example/network/*.yaml") {
		for _, document := range documents(t, path) {
			if err := validator.Validate(document); err != nil {
				t.Errorf("%s: %s", path, err)
			}
		}
	}
	const head = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\n"
	for name, text := range map[string]string{
		"nothing":         "",
		"misspelt":        "pool: {}",
		"two clouds":      "clouds: {a: {http: {url: x}, cni: {configuration: x}}}",
		"no family":       "profiles: {a: {pools: [a], families: [IPv5]}}",
		"no code":         "deny: [{name: a, when: '${ true }', code: 418}]",
		"no condition":    "deny: [{name: a, when: maybe}]",
		"no VLANs":        "pools: {a: {vlans: 1 to 9}}",
		"large VLAN":      "pools: {a: {vlans: 4095}}",
		"no attribute":    "devices: [{attributes: {a: [b]}}]",
		"unknown setting": "profiles: {a: {config: {interface: {mut: 1}}}}",
		"wrong setting":   "profiles: {a: {config: {interface: {mtu: large}}}}",
		"no limit":        "pools: {a: {quotas: [{by: x}]}}",
		"no kind":         "profiles: {a: {link: {kind: bond}}}",
		"no parent":       "profiles: {a: {link: {kind: macvlan}}}",
		"another's mode":  "profiles: {a: {link: {kind: ipvlan, parent: eth0, mode: vepa}}}",
		"a foreign field": "profiles: {a: {link: {vni: 7}}}",
		"no prefix":       "profiles: {a: {link: {prefix: 1net}}}",
	} {
		var document any
		if err := yaml.NewDecoder(strings.NewReader(head + text)).Decode(&document); err != nil {
			t.Fatal(err)
		}
		if validator.Validate(document) == nil {
			t.Errorf("%s is valid", name)
		}
	}
}
