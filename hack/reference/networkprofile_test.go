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
		"an empty document":                 "",
		"a misspelt field":                  "pool: {}",
		"a cloud with two kinds":            "clouds: {a: {http: {url: x}, cni: {configuration: x}}}",
		"an unknown IP family":              "profiles: {a: {pools: [a], families: [IPv5]}}",
		"a condition that is no expression": "deny: [{name: a, when: maybe}]",
		"a range of VLANs in words":         "pools: {a: {vlans: 1 to 9}}",
		"a VLAN above 4094":                 "pools: {a: {vlans: 4095}}",
		"an attribute that is a list":       "devices: [{attributes: {a: [b]}}]",
		"an unknown interface setting":      "profiles: {a: {config: {interface: {mut: 1}}}}",
		"an MTU that is no number":          "profiles: {a: {config: {interface: {mtu: large}}}}",
		"a quota without a limit":           "pools: {a: {quotas: [{by: x}]}}",
		"an unknown kind of link":           "profiles: {a: {link: {kind: bond}}}",
		"a macvlan without a parent":        "profiles: {a: {link: {kind: macvlan}}}",
		"an ipvlan with a mode of macvlan":  "profiles: {a: {link: {kind: ipvlan, parent: eth0, mode: vepa}}}",
		"a field of another kind of link":   "profiles: {a: {link: {vni: 7}}}",
		"a prefix that starts with a digit": "profiles: {a: {link: {prefix: 1net}}}",
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
