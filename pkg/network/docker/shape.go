// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"encoding/json"
	"net/netip"
)

// These types match libnetwork's drivers/remote/api and ipams/remote/api, which have no JSON tags: keys are the field
// names, in any case. Responses with few fields have no type.

// fields is such a response.
type fields map[string]any

// options are libnetwork's labels of a network, endpoint or sandbox.
type options map[string]json.RawMessage

// networkRequest is the request of CreateNetwork. GwAllocCheck uses only Options, DeleteNetwork and FreeNetwork
// only NetworkID.
type networkRequest struct {
	NetworkID string
	Options   options
	IPv4Data  []ipamData
	IPv6Data  []ipamData
}

// allocationRequest is the request of AllocateNetwork. Its options are the user's.
type allocationRequest struct {
	NetworkID string
	Options   map[string]string
	IPv4Data  []ipamData
	IPv6Data  []ipamData
}

// ipamData describes a subnet of an IPAM driver. Gateways and auxiliary addresses have a prefix length, except
// in the first version of the API.
type ipamData struct {
	AddressSpace string
	Pool         netip.Prefix
	Gateway      flexibleAddress
	AuxAddresses map[string]flexibleAddress
}

// endpointRequest is the request of CreateEndpoint, with the fields of all other endpoint methods.
type endpointRequest struct {
	NetworkID  string
	EndpointID string
	SandboxKey string
	Interface  endpointInterface
	Options    options
}

// check returns an error for invalid identifiers.
func (q *endpointRequest) check() error {
	return cmp.Or(checkID("NetworkID", q.NetworkID), checkID("EndpointID", q.EndpointID))
}

// endpointInterface describes an interface. A response must not contain values that the request set.
type endpointInterface struct {
	Address     netip.Prefix `json:",omitzero"`
	AddressIPv6 netip.Prefix `json:",omitzero"`
	MacAddress  string       `json:",omitempty"`
}

// joinResponse is the response of Join. Gateways have no prefix length.
type joinResponse struct {
	InterfaceName         interfaceName
	Gateway               string        `json:",omitempty"`
	GatewayIPv6           string        `json:",omitempty"`
	StaticRoutes          []staticRoute `json:",omitempty"`
	DisableGatewayService bool          `json:",omitempty"`
}

// interfaceName names the interface to move into the sandbox, and its new name: DstName, or DstPrefix with a
// number. Clients before moby#52866 ignore DstName.
type interfaceName struct {
	SrcName   string
	DstPrefix string
	DstName   string `json:",omitempty"`
}

// The types of routes.
const (
	routeNextHop = iota
	routeConnected
)

// staticRoute is a route in the sandbox.
type staticRoute struct {
	Destination string
	RouteType   int
	NextHop     string `json:",omitempty"`
}

// portBinding is a published port.
type portBinding struct {
	Proto uint8
	Port  uint16
}

// discoveryRequest is the request of DiscoverNew and DiscoverDelete. The data depend on the type.
type discoveryRequest struct {
	DiscoveryType int
	DiscoveryData json.RawMessage
}

// nodeDiscovery is the discovery type of nodes, with nodeData.
const nodeDiscovery = 1

type nodeData struct {
	Address     flexibleAddress
	BindAddress flexibleAddress
	Self        bool
}

// poolRequest is the request of RequestPool. ReleasePool uses only PoolID.
type poolRequest struct {
	PoolID       string
	AddressSpace string
	Pool         netip.Prefix
	SubPool      netip.Prefix
	Options      map[string]string
	V6           bool
}

// poolResponse is the response of RequestPool.
type poolResponse struct {
	PoolID string
	Pool   netip.Prefix
	Data   map[string]string
}

// addressRequest is the request of RequestAddress and ReleaseAddress.
type addressRequest struct {
	PoolID  string
	Address flexibleAddress
	Options map[string]string
}

// check returns an error for an invalid identifier of a pool.
func (q *addressRequest) check() error { return checkPool(q.PoolID) }

// addressResponse is the response of RequestAddress.
type addressResponse struct {
	Address netip.Prefix
	Data    map[string]string
}
