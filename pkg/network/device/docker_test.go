// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// TestSettingsThatDockerLacks checks which settings of a configuration Docker does not support.
func TestSettingsThatDockerLacks(t *testing.T) {
	no, yes, size, table := false, true, int32(9000), 7
	tests := map[string]struct {
		of   device.Config
		want string
	}{
		"an empty configuration": {},
		"settings that Docker supports": {of: device.Config{
			Profile: "acme.com/overlay", Interface: device.Interface{Name: "net0", MTU: &size, Forwarding: &no},
			Routes: []device.Route{{Destination: "0.0.0.0/0", Gateway: "10.0.0.2"}, {Destination: "10.1.0.0/16", Scope: 253, Table: 254}},
		}},
		"settings that Docker does not support": {
			of: device.Config{
				Interface: device.Interface{Addresses: []string{"10.0.0.1/8"}, DHCP: &yes, GSOMaxSize: &size, VRF: &device.VRF{Name: "red", Table: &table}},
				Routes:    []device.Route{{Destination: "10.0.0.0/8"}, {Destination: "10.0.0.0/8", Table: 7, Source: "10.0.0.1"}},
				Neighbors: []device.Neighbor{{Destination: "10.0.0.2"}},
				Rules:     []device.Rule{{Table: 7}},
				Ethtool:   &device.Ethtool{},
			},
			want: "ethtool: Docker sets no features of cards; interface.addresses: addresses come out of pools; interface.dhcp: Docker's containers have addresses before they run; " +
				"interface.gsoMaxSize: Docker configures the interface itself; " +
				"interface.vrf: Docker does not support VRFs; " +
				"neighbors: Docker sets no neighbours; routes[1].source: Docker's routes have no source address; " +
				"routes[1].table: Docker's routes are in the main table; rules: Docker has no rules of routing",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.of.BeyondDocker(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
