// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindNetworkProfile is the kind of a NetworkProfile.
const KindNetworkProfile = "NetworkProfile"

// NetworkProfile configures the allocation of addresses to owners, and describes the network devices of machines.
type NetworkProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is NetworkProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Clouds are the backends that bind addresses outside of the machine, by name.
	Clouds map[string]NetworkCloud `json:"clouds,omitempty"`
	// Pools are the pools of addresses, by name.
	Pools map[string]NetworkPool `json:"pools,omitempty"`
	// Profiles are the profiles that users choose, by names such as acme.com/overlay.
	Profiles map[string]NetworkChoice `json:"profiles,omitempty"`
	// Devices are facts of network devices: all matching entries apply, later ones win.
	Devices []NetworkDevices `json:"devices,omitempty"`
	// Deny are rules that deny requests; the first match denies.
	Deny []NetworkDenial `json:"deny,omitempty"`
}

// NetworkChoice is a set of pools that users select by name.
type NetworkChoice struct {
	// Pools are the pools in order: if one is exhausted, the next one of this server is used. By default, the profile
	// allocates no address.
	Pools []source.Text `json:"pools,omitempty"`
	// Families are IPv4, IPv6 or both; by default all families of the pool.
	Families []source.Text `json:"families,omitempty"`
	// Link is the kind of link for Docker's networks; a bridge by default.
	Link *NetworkLink `json:"link,omitempty"`
	// Config is DRANET's NetworkConfig for the device; texts may contain ${ CEL }. It overrides the pool.
	Config NetworkConfig `json:"config,omitempty"`
}

// NetworkDevices are facts of some network devices.
type NetworkDevices struct {
	// When is the condition, a boolean ${ CEL } expression over device; by default all devices.
	When source.Text `json:"when,omitempty"`
	// Cloud is an OpenStack cloud that has ports with the MAC addresses of the devices. It adds what Neutron knows about
	// them: attributes that begin with graft.provider.extensions.gardener.cloud/neutron, the MTU, and routes of subnets.
	Cloud source.Text `json:"cloud,omitempty"`
	// Attributes are attributes for selectors of devices, by names such as acme.com/rack: texts, integers, booleans,
	// and versions as ${ semver("1.2.3") }.
	Attributes map[string]source.Node `json:"attributes,omitempty"`
	// Config is DRANET's NetworkConfig for the devices; texts may contain ${ CEL } over device.
	Config NetworkConfig `json:"config,omitempty"`
}

// NetworkConfig is a device's configuration as written; package pkg/network/device has its evaluated form.
type NetworkConfig struct{ source.Node }

// DecodeNode stores the node.
func (c *NetworkConfig) DecodeNode(n source.Node, _ string) source.Findings {
	c.Node = n
	return nil
}

// JSONSchema returns a schema without fields; hack/reference adds them.
func (NetworkConfig) JSONSchema() string { return `{"type": ["object", "string"]}` }

// NetworkDenial denies requests.
type NetworkDenial struct {
	// Name is the name of the rule in messages and metrics.
	Name source.Text `json:"name"`
	// When is the condition, a boolean ${ CEL } expression.
	When source.Text `json:"when"`
	// Message is the message for the user; it may contain ${ CEL }.
	Message source.Text `json:"message,omitempty"`
}

// JSONSchema returns the schema of a denial in addition to its fields.
func (NetworkDenial) JSONSchema() string {
	return `{"allOf": [{"properties": {"when": ` + conditionSchema + `}}]}`
}

// JSONSchema returns the schema of device facts in addition to their fields.
func (NetworkDevices) JSONSchema() string {
	return `{
		"anyOf": [{"required": ["attributes"]}, {"required": ["cloud"]}, {"required": ["config"]}],
		"allOf": [{"properties": {"when": ` + conditionSchema + `, "attributes": {"additionalProperties": {"type": ["string", "integer", "boolean"]}}}}]
	}`
}

// JSONSchema returns the schema of a choice in addition to its fields.
func (NetworkChoice) JSONSchema() string {
	return `{
		"anyOf": [{"required": ["pools"]}, {"required": ["link"]}, {"required": ["config"]}],
		"allOf": [{"properties": {"families": {"items": {"enum": ["IPv4", "IPv6"]}, "uniqueItems": true}, "pools": {"uniqueItems": true}}}]
	}`
}

// JSONSchema returns the schema of a network profile in addition to its fields.
func (NetworkProfile) JSONSchema() string {
	return `{"anyOf": [{"required": ["pools"]}, {"required": ["profiles"]}, {"required": ["devices"]}, {"required": ["deny"]}, {"required": ["clouds"]}]}`
}

// conditionSchema is the schema of a condition.
const conditionSchema = `{
	"pattern": "^\\$\\{[\\s\\S]*\\}\\s*$",
	"patternErrorMessage": "A condition is one expression in braces, such as ${ request.node == \"worker-1\" }."
}`
