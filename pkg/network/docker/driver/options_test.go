// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
)

// subnetCase is a subnet as an IPAM driver hands it over.
type subnetCase struct {
	Space   string `json:"space"`
	Prefix  string `json:"prefix"`
	Gateway string `json:"gateway"`
}

// optionCase is a requested network, and the expected one or the expected error.
type optionCase struct {
	About    string            `json:"about"`
	Options  map[string]string `json:"options"`
	Subnets  []subnetCase      `json:"subnets"`
	Internal bool              `json:"internal"`
	// Want is the network as JSON, without the requested values.
	Want map[string]any `json:"want"`
	// Bridge are the addresses of its bridge.
	Bridge []string `json:"bridge"`
	Error  string   `json:"error"`
}

// TestOptions checks the effect of each option.
func TestOptions(t *testing.T) {
	raw, err := os.ReadFile("testdata/options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []optionCase
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.About, func(t *testing.T) {
			w := newWorld(t)
			n := driver.Network{ID: "net", Options: c.Options, Internal: c.Internal}
			for _, s := range c.Subnets {
				subnet := driver.Subnet{Space: s.Space, Prefix: netip.MustParsePrefix(s.Prefix)}
				if s.Gateway != "" {
					subnet.Gateway = netip.MustParseAddr(s.Gateway)
				}
				n.Subnets = append(n.Subnets, subnet)
			}
			err := w.CreateNetwork(t.Context(), n)
			if c.Error != "" {
				if err == nil || err.Error() != c.Error {
					t.Errorf("got the error\n%v\nwant\n%s", err, c.Error)
				}
				w.same("rows", nil, w.rows())
				w.same("links", nil, w.kernel.has())
				return
			}
			w.must(err)
			made, err := w.Network(t.Context(), "net")
			w.must(err)
			if diff := cmp.Diff(c.Want, described(t, made)); diff != "" {
				t.Errorf("the network (-want +got):\n%s", diff)
			}
			var bridge []string
			for _, g := range w.kernel.segments["net"].Gateways {
				bridge = append(bridge, g.String())
			}
			w.same("addresses of the bridge", c.Bridge, bridge)
		})
	}
}

// described returns a network as JSON, without the requested values.
func described(t *testing.T, n driver.Network) map[string]any {
	t.Helper()
	raw, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"id", "options", "subnets", "internal"} {
		delete(tree, field)
	}
	return tree
}
