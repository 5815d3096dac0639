// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// NetworkLink configures the kernel links of a profile's Docker networks.
type NetworkLink struct {
	// Kind is bridge (the default), macvlan, ipvlan, vlan or vxlan.
	Kind string `json:"kind,omitempty" oneOf:"bridge,macvlan,ipvlan,vlan,vxlan"`
	// Parent is the machine's external interface, such as eth0; optional for bridge and vxlan.
	Parent source.Text `json:"parent,omitempty"`
	// VLAN is the VLAN of the parent's sub-interface, created if missing. By default, the kind vlan uses the VLAN of the
	// allocation.
	VLAN int `json:"vlan,omitempty" between:"1,4094"`
	// Mode is bridge (the default), private, vepa or passthru for macvlan; l2 (the default), l3 or l3s for ipvlan.
	Mode string `json:"mode,omitempty" oneOf:"bridge,private,vepa,passthru,l2,l3,l3s"`
	// VNI is the number of the vxlan, equal on all machines; by default the user or Swarm sets it.
	VNI int `json:"vni,omitempty" between:"1,16777215"`
	// Port is the UDP port of a vxlan; 4789 by default.
	Port int `json:"port,omitempty" between:"1,65535"`
	// Local is this machine's tunnel address of a vxlan; by default the kernel chooses.
	Local source.Text `json:"local,omitempty"`
	// Peers are tunnel addresses of other machines of a vxlan. Docker adds discovered ones.
	Peers []source.Text `json:"peers,omitempty"`
	// Gateway sets the owner of the gateway addresses: machine for the bridge (the default without a parent), outside
	// for external routers.
	Gateway string `json:"gateway,omitempty" oneOf:"machine,outside"`
	// Isolated prevents a gateway through another network of Docker.
	Isolated bool `json:"isolated,omitempty"`
	// Prefix is the prefix of interface names in containers; eth by default.
	Prefix source.Text `json:"prefix,omitempty"`
}

// Hint implements source.Hinter for settings of interfaces, which are not fields of the link.
func (NetworkLink) Hint(field string) string {
	switch field {
	case "mtu":
		return "config.interface.mtu of the profile"
	case "routes":
		return "config.routes of the profile"
	}
	return ""
}

// The values of NetworkLink.Gateway.
const (
	GatewayMachine = "machine"
	GatewayOutside = "outside"
)

// JSONSchema returns the schema of links in addition to their fields.
func (NetworkLink) JSONSchema() string {
	return `{
		"allOf": [
			{"properties": {"peers": {"uniqueItems": true}, "prefix": {"pattern": "^[A-Za-z_][-A-Za-z0-9_.]{0,11}$"}}},
			{"if": {"properties": {"kind": {"enum": ["macvlan", "ipvlan", "vlan"]}}, "required": ["kind"]}, "then": {"required": ["parent"]}},
			{"if": {"properties": {"kind": {"const": "vxlan"}}, "required": ["kind"]},
				"else": {"properties": {"vni": false, "port": false, "local": false, "peers": false}}},
			{"if": {"properties": {"kind": {"const": "macvlan"}}, "required": ["kind"]},
				"then": {"properties": {"mode": {"enum": ["bridge", "private", "vepa", "passthru"]}}}},
			{"if": {"properties": {"kind": {"const": "ipvlan"}}, "required": ["kind"]},
				"then": {"properties": {"mode": {"enum": ["l2", "l3", "l3s"]}}}}
		]
	}`
}
