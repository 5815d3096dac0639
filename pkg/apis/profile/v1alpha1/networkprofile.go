// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// KindNetworkProfile is the kind of a NetworkProfile.
const KindNetworkProfile = "NetworkProfile"

// NetworkProfile says which addresses a network provider gives, to whom, and what is known of the network devices of machines.
type NetworkProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is NetworkProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Clouds are what makes addresses work outside of the machine, by name.
	Clouds map[string]NetworkCloud `json:"clouds,omitempty"`
	// Pools are what addresses are given out of, by name.
	Pools map[string]NetworkPool `json:"pools,omitempty"`
	// Profiles are what users can choose, by the name that they write, such as acme.com/overlay.
	Profiles map[string]NetworkChoice `json:"profiles,omitempty"`
	// Devices are facts of network devices: all entries that apply to a device, in their order, later ones win.
	Devices []NetworkDevices `json:"devices,omitempty"`
	// Deny are the rules by which requests are denied; the first that applies does.
	Deny []NetworkDenial `json:"deny,omitempty"`
}

// NetworkChoice is what a user can choose by its name.
type NetworkChoice struct {
	// Pools are the names of the pools that addresses come from, in order: of those that this server serves, the next when one is exhausted.
	// Without pools, the profile gives no address, and only its config.
	Pools []source.Text `json:"pools,omitempty"`
	// Families are IPv4, IPv6 or both; all that the pool has when absent.
	Families []source.Text `json:"families,omitempty"`
	// Config is what is set on the device, as DRANET's NetworkConfig has it; any text in it may hold ${ CEL }. It wins over what the pool says.
	Config source.Node `json:"config,omitempty"`
}

// NetworkDevices are facts of some network devices.
type NetworkDevices struct {
	// When is the condition, a boolean ${ CEL } expression over device; all devices when absent.
	When source.Text `json:"when,omitempty"`
	// Attributes are what schedulers and users can choose devices by, by their names, such as acme.com/rack: texts, whole numbers, true or
	// false, and versions, which are written as ${ semver("1.2.3") }.
	Attributes map[string]source.Node `json:"attributes,omitempty"`
	// Config is what is set on the devices, as DRANET's NetworkConfig has it; any text in it may hold ${ CEL } over device.
	Config source.Node `json:"config,omitempty"`
}

// NetworkDenial denies requests.
type NetworkDenial struct {
	// Name is what messages and metrics call the rule.
	Name source.Text `json:"name"`
	// When is the condition, a boolean ${ CEL } expression.
	When source.Text `json:"when"`
	// Code is the HTTP status of the answer: 400, 403, 404, 409, 422, 429 or 500; 403 when absent.
	Code int `json:"code,omitempty"`
	// Message is what the user reads; it may hold ${ CEL }.
	Message source.Text `json:"message,omitempty"`
}

// NetworkDenialCodes are the values of NetworkDenial.Code.
var NetworkDenialCodes = []int{400, 403, 404, 409, 422, 429, 500}
