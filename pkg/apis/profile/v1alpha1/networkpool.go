// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// NetworkPool has the address ranges of a pool, and the routes of an address.
type NetworkPool struct {
	// Subnets are at most one of each family; by default the cloud of the pool chooses the addresses.
	Subnets []NetworkSubnet `json:"subnets,omitempty"`
	// Routes are set with each address.
	Routes []NetworkRoute `json:"routes,omitempty"`
	// MTU is the MTU of the interface, in bytes; unchanged by default.
	MTU int32 `json:"mtu,omitempty" between:"68,65535"`
	// VLANs are the range of VLANs, such as 100-4000; none by default. A VLAN is unique on an interface, not in the
	// pool.
	VLANs NetworkVLANs `json:"vlans,omitempty"`
	// MACPrefix is the prefix of allocated MAC addresses, one to five bytes such as "0a:58"; by default none are allocated.
	MACPrefix source.Text `json:"macPrefix,omitempty"`
	// Quarantine is the time between release and reuse, except for the last owner by name and for Pods of Spiderpool; 0s by
	// default.
	Quarantine source.Duration `json:"quarantine,omitempty"`
	// Quotas bound the number of allocations of some owners.
	Quotas []NetworkQuota `json:"quotas,omitempty"`
	// WhenShrunk handles a change that moves allocated addresses out of the pool: refuse (the default) keeps the
	// active profile, drain activates the new one and does not allocate these addresses again.
	WhenShrunk string `json:"whenShrunk,omitempty" oneOf:"refuse,drain"`
	// Nodes are the nodes whose servers serve the pool; all by default. A server with its own ledger serves only
	// pools of its node and exclusive ones.
	Nodes []source.Text `json:"nodes,omitempty"`
	// Exclusive declares that exactly one server serves the pool.
	Exclusive bool `json:"exclusive,omitempty"`
	// Cloud is the name of the cloud behind the pool; builtin by default, which changes nothing outside of the machine.
	Cloud source.Text `json:"cloud,omitempty"`
}

// The values of NetworkPool.WhenShrunk.
const (
	WhenShrunkRefuse = "refuse"
	WhenShrunkDrain  = "drain"
)

// CloudBuiltin is the default cloud of a pool.
const CloudBuiltin = "builtin"

// NetworkSubnet is one family of a pool. Network, broadcast and gateway addresses are never allocated.
type NetworkSubnet struct {
	// Prefix is the subnet, such as 10.64.0.0/16.
	Prefix source.Text `json:"prefix"`
	// Ranges are allocated: addresses, prefixes, and ranges such as 10.64.1.0-10.64.1.99; by default the whole prefix.
	Ranges []source.Text `json:"ranges,omitempty"`
	// Exclude are never allocated.
	Exclude []source.Text `json:"exclude,omitempty"`
	// Reserved are allocated only if requested by name; they need not be in a range.
	Reserved []source.Text `json:"reserved,omitempty"`
	// Gateway is the address of the router. It creates no route.
	Gateway source.Text `json:"gateway,omitempty"`
}

// NetworkRoute is a route over the interface.
type NetworkRoute struct {
	// Destination is a prefix, such as 0.0.0.0/0.
	Destination source.Text `json:"destination"`
	// Gateway is the address of the router; required unless scope is 253 (over the link).
	Gateway source.Text `json:"gateway,omitempty"`
	// Source is the preferred source address.
	Source source.Text `json:"source,omitempty"`
	// Scope is the kernel's scope: 0 the universe, 253 the link.
	Scope int `json:"scope,omitempty" between:"0,255"`
	// Table is the routing table; by default the main one.
	Table int `json:"table,omitempty" between:"0,2147483647"`
}

// NetworkQuota bounds the number of allocations of some owners.
type NetworkQuota struct {
	// By is the key of the quota, such as namespace/${ request.namespace }: requests with the same key share it.
	By source.Text `json:"by"`
	// Limit is the number of allocations.
	Limit int `json:"limit" between:"1,1000000000"`
	// When is the condition of the quota, a boolean ${ CEL } expression; always by default.
	When source.Text `json:"when,omitempty"`
}

// JSONSchema returns the schema of a quota in addition to its fields.
func (NetworkQuota) JSONSchema() string {
	return `{"allOf": [{"properties": {"when": ` + conditionSchema + `}}]}`
}

// NetworkVLANs are a range of VLANs as written, or one VLAN.
type NetworkVLANs struct {
	Value string
	At    source.Node
}

// DecodeNode decodes a string or a whole number.
func (v *NetworkVLANs) DecodeNode(n source.Node, path string) source.Findings {
	v.At = n
	if n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		v.Value = n.Value
		return nil
	}
	return source.Decode(n, path, &v.Value)
}

// JSONSchema returns the schema of VLANs.
func (NetworkVLANs) JSONSchema() string {
	return `{"type": ["string", "integer"], "pattern": "^[0-9]{1,4}(-[0-9]{1,4})?$", "minimum": 1, "maximum": 4094}`
}
