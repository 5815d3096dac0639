// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// NetworkCloud is the backend that attaches addresses to the network. Exactly one of http, cni and openstack is set.
type NetworkCloud struct {
	// Limit limits the requests to the cloud.
	Limit NetworkLimit `json:"limit,omitempty"`
	// Timeout limits one call; 10s by default, and 30s for openstack.
	Timeout source.Duration `json:"timeout,omitempty"`
	// HTTP is a cloud with declared HTTP requests.
	HTTP *NetworkHTTP `json:"http,omitempty"`
	// CNI leaves addresses to the IPAM plugin of a CNI network configuration.
	CNI *NetworkCNI `json:"cni,omitempty"`
	// OpenStack binds ports of OpenStack Neutron.
	OpenStack *NetworkOpenStack `json:"openstack,omitempty"`
}

// JSONSchema returns the schema of a cloud in addition to its fields.
func (NetworkCloud) JSONSchema() string {
	return `{"oneOf": [{"required": ["http"]}, {"required": ["cni"]}, {"required": ["openstack"]}]}`
}

// Chooses reports whether the cloud chooses the addresses, so that its pools need no subnets.
func (c NetworkCloud) Chooses() bool {
	return c.CNI != nil || c.OpenStack != nil && len(c.OpenStack.SubnetIDs) > 0 ||
		c.HTTP != nil && c.HTTP.Bind != nil && c.HTTP.Bind.Answer.Addresses.Node != nil
}

// NetworkLimit bounds requests.
type NetworkLimit struct {
	// Rate is the requests per second; unlimited by default.
	Rate int `json:"rate,omitempty" between:"1,100000"`
	// Burst is the burst; by default the rate.
	Burst int `json:"burst,omitempty" between:"1,100000"`
	// Parallel is the number of concurrent calls; 16 by default.
	Parallel int `json:"parallel,omitempty" between:"1,10000"`
}

// NetworkCNI names a CNI network configuration.
type NetworkCNI struct {
	// Configuration is the name of the configuration in --cni-conf-dir.
	Configuration source.Text `json:"configuration"`
}

// NetworkHTTP is a cloud with declared HTTP requests. Files are read by the server.
type NetworkHTTP struct {
	// URL is the base URL of the calls, such as https://fabric.example.com/v1.
	URL source.Text `json:"url"`
	// CAFile is the file with the CA certificates of the cloud; by default the system's.
	CAFile source.Text `json:"caFile,omitempty"`
	// CertFile is the file with the client certificate.
	CertFile source.Text `json:"certFile,omitempty"`
	// KeyFile is the file with its key.
	KeyFile source.Text `json:"keyFile,omitempty"`
	// TokenFile holds a bearer token; it is reloaded when it changes.
	TokenFile source.Text `json:"tokenFile,omitempty"`
	// Headers are sent with each request.
	Headers map[string]source.Text `json:"headers,omitempty"`
	// Bind binds the addresses of an allocation.
	Bind *NetworkHTTPBind `json:"bind,omitempty"`
	// Unbind removes the binding.
	Unbind *NetworkHTTPCall `json:"unbind,omitempty"`
	// Find asks the cloud for its state of an allocation. Without it, bind is repeated after an unknown outcome and
	// must be idempotent.
	Find *NetworkHTTPFind `json:"find,omitempty"`
}

// NetworkHTTPCall is one request. Its texts may contain ${ CEL } over allocation and reference, its conditions also over
// status, headers and answer.
type NetworkHTTPCall struct {
	// Method is the HTTP method.
	Method string `json:"method" oneOf:"GET,POST,PUT,PATCH,DELETE"`
	// Path is added to the URL, with an optional query. Computed values are escaped.
	Path source.Text `json:"path"`
	// Body is sent as JSON; by default nothing.
	Body source.Node `json:"body,omitempty"`
	// Succeeded is the condition of success; by default a status of 200 to 299, in unbind and find also 404 and 410.
	Succeeded source.Text `json:"succeeded,omitempty"`
	// Refused is the condition of a permanent rejection; by default never.
	Refused source.Text `json:"refused,omitempty"`
}

// NetworkHTTPBind is the request that binds.
type NetworkHTTPBind struct {
	NetworkHTTPCall

	// Answer reads the allocation from the answer.
	Answer NetworkHTTPAnswer `json:"answer,omitempty"`
}

// NetworkHTTPFind is the request that finds.
type NetworkHTTPFind struct {
	NetworkHTTPCall

	// Found is the condition that the cloud has the allocation; by default a status of 200 to 299.
	Found source.Text `json:"found,omitempty"`
	// Answer reads the allocation from the answer; by default as in bind.
	Answer *NetworkHTTPAnswer `json:"answer,omitempty"`
}

// NetworkHTTPAnswer reads values by ${ CEL } over answer, status, headers and allocation.
type NetworkHTTPAnswer struct {
	// MAC is the MAC address of the cloud; by default the pool's.
	MAC source.Text `json:"mac,omitempty"`
	// VLAN is the VLAN of the cloud; by default the pool's.
	VLAN source.Text `json:"vlan,omitempty"`
	// Addresses are the addresses chosen by the cloud, with prefix lengths, for pools without subnets: a list or an
	// expression.
	Addresses source.Node `json:"addresses,omitempty"`
	// Gateways are their routers: a list of addresses, or an expression for one.
	Gateways source.Node `json:"gateways,omitempty"`
	// Routes are a list of {destination, gateway}, or an expression for one.
	Routes source.Node `json:"routes,omitempty"`
	// Reference is any value, seen by other calls as reference.
	Reference source.Node `json:"reference,omitempty"`
}
