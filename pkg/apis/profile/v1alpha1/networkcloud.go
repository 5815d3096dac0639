// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// NetworkCloud makes addresses work outside of the machine. Exactly one of http and cni says how.
type NetworkCloud struct {
	// Limit bounds the requests that the cloud is sent.
	Limit NetworkLimit `json:"limit,omitempty"`
	// Timeout is that of one call; 10s when absent.
	Timeout source.Duration `json:"timeout,omitempty"`
	// HTTP is a cloud that is asked by declared HTTP requests.
	HTTP *NetworkHTTP `json:"http,omitempty"`
	// CNI leaves addresses to the IPAM plugin of a CNI network configuration.
	CNI *NetworkCNI `json:"cni,omitempty"`
}

// JSONSchema is what an editor is told about a cloud beside its fields.
func (NetworkCloud) JSONSchema() string {
	return `{"oneOf": [{"required": ["http"]}, {"required": ["cni"]}]}`
}

// Chooses says whether the cloud is declared to choose addresses, so that pools with it need no subnets.
func (c NetworkCloud) Chooses() bool {
	return c.CNI != nil || c.HTTP != nil && c.HTTP.Bind != nil && c.HTTP.Bind.Answer.Addresses.Node != nil
}

// NetworkLimit bounds requests.
type NetworkLimit struct {
	// Rate is how many requests a second are sent; any number when absent.
	Rate int `json:"rate,omitempty" between:"1,100000"`
	// Burst is how many are sent at once before the rate counts; as many as the rate when absent.
	Burst int `json:"burst,omitempty" between:"1,100000"`
	// Parallel is how many calls are under way at a time; 16 when absent.
	Parallel int `json:"parallel,omitempty" between:"1,10000"`
}

// NetworkCNI names a CNI network configuration.
type NetworkCNI struct {
	// Configuration is the name in the configuration, in a folder that the server is told by --cni-conf-dir.
	Configuration source.Text `json:"configuration"`
}

// NetworkHTTP is a cloud that is asked by HTTP. Files are those of the server.
type NetworkHTTP struct {
	// URL is what the paths of the calls are added to, such as https://fabric.example.com/v1.
	URL source.Text `json:"url"`
	// CAFile holds the certificates, in PEM, that the cloud's certificate is checked against; the system's when absent.
	CAFile source.Text `json:"caFile,omitempty"`
	// CertFile and KeyFile hold a client certificate and its key, in PEM.
	CertFile source.Text `json:"certFile,omitempty"`
	KeyFile  source.Text `json:"keyFile,omitempty"`
	// TokenFile holds a bearer token; it is read again when it changes.
	TokenFile source.Text `json:"tokenFile,omitempty"`
	// Headers are sent with each request.
	Headers map[string]source.Text `json:"headers,omitempty"`
	// Bind makes the cloud deliver what is sent to the addresses of an allocation.
	Bind *NetworkHTTPBind `json:"bind,omitempty"`
	// Unbind makes it stop.
	Unbind *NetworkHTTPCall `json:"unbind,omitempty"`
	// Find asks what the cloud has of an allocation. Without it, bind is repeated where it is not known whether it came to anything: then it must
	// be idempotent.
	Find *NetworkHTTPFind `json:"find,omitempty"`
}

// NetworkHTTPCall is one request. Its texts may hold ${ CEL } over allocation and reference, its conditions also over status, headers and answer.
type NetworkHTTPCall struct {
	// Method is that of HTTP.
	Method string `json:"method" oneOf:"GET,POST,PUT,PATCH,DELETE"`
	// Path is added to the URL; it may have a query. What is computed in it is escaped.
	Path source.Text `json:"path"`
	// Body is sent as JSON; nothing is when absent.
	Body source.Node `json:"body,omitempty"`
	// Succeeded is the condition that the call has done what it should; a status of 200 to 299 when absent, in unbind and find also 404 and 410.
	Succeeded source.Text `json:"succeeded,omitempty"`
	// Refused is the condition that repeating it is of no use; never when absent.
	Refused source.Text `json:"refused,omitempty"`
}

// NetworkHTTPBind is the request that binds.
type NetworkHTTPBind struct {
	NetworkHTTPCall

	// Answer is what the answer says of the allocation.
	Answer NetworkHTTPAnswer `json:"answer,omitempty"`
}

// NetworkHTTPFind is the request that finds.
type NetworkHTTPFind struct {
	NetworkHTTPCall

	// Found is the condition that the cloud has the allocation; a status of 200 to 299 when absent.
	Found source.Text `json:"found,omitempty"`
	// Answer is what the answer says of the allocation; that of bind when absent.
	Answer *NetworkHTTPAnswer `json:"answer,omitempty"`
}

// NetworkHTTPAnswer is read out of an answer by ${ CEL } over answer, status, headers and allocation.
type NetworkHTTPAnswer struct {
	// MAC is the MAC address that the cloud has given; that of the pool holds when it is absent or empty.
	MAC source.Text `json:"mac,omitempty"`
	// VLAN is the VLAN that the cloud has given, a number; that of the pool holds when it is absent, null or 0.
	VLAN source.Text `json:"vlan,omitempty"`
	// Addresses are those that the cloud has chosen, with the lengths of their subnets, for pools without subnets: a list, or an expression for one.
	Addresses source.Node `json:"addresses,omitempty"`
	// Gateways are the routers that go with them: a list of addresses, or an expression for one.
	Gateways source.Node `json:"gateways,omitempty"`
	// Routes are a list of {destination, gateway}, or an expression for one.
	Routes source.Node `json:"routes,omitempty"`
	// Reference is what the other calls need to name it again, of any form; they see it as reference.
	Reference source.Node `json:"reference,omitempty"`
}
