// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import "encoding/json"

// The shapes are those of libnetwork's drivers/remote/api. Its types have no tags: keys are written as the fields are, and read in any case.

// manifest answers Plugin.Activate.
type manifest struct {
	Implements []string
}

// capabilities answer GetCapabilities.
type capabilities struct {
	Scope             string
	ConnectivityScope string
	GwAllocChecker    bool
}

// options are what libnetwork knows of a network, an endpoint or a sandbox, by labels.
type options map[string]json.RawMessage

// networkRequest is CreateNetwork's. GwAllocCheck has the same Options and nothing else, DeleteNetwork and FreeNetwork nothing but the ID.
type networkRequest struct {
	NetworkID string
	Options   options
	IPv4Data  []ipamData
	IPv6Data  []ipamData
}

// allocationRequest is AllocateNetwork's: its options are those of the user alone.
type allocationRequest struct {
	NetworkID string
	Options   map[string]string
	IPv4Data  []ipamData
	IPv6Data  []ipamData
}

// allocationResponse has what each node is given in CreateNetwork.
type allocationResponse struct {
	Options map[string]string
}

// ipamData is what an IPAM driver has said of a subnet. Gateways and auxiliary addresses have a length, or none where the first description of the
// contract is followed.
type ipamData struct {
	AddressSpace string
	Pool         string
	Gateway      string
	AuxAddresses map[string]string
}

// gatewayResponse answers GwAllocCheck.
type gatewayResponse struct {
	SkipIPv4 bool
	SkipIPv6 bool
}

// endpointRequest is CreateEndpoint's, and has all of what the other methods of endpoints send.
type endpointRequest struct {
	NetworkID  string
	EndpointID string
	SandboxKey string
	Interface  endpointInterface
	Options    options
}

// endpointInterface is what is known of an interface. What the request has filled the answer must leave empty.
type endpointInterface struct {
	Address     string `json:",omitempty"`
	AddressIPv6 string `json:",omitempty"`
	MacAddress  string `json:",omitempty"`
}

// endpointResponse answers CreateEndpoint.
type endpointResponse struct {
	Interface endpointInterface
}

// infoResponse answers EndpointOperInfo.
type infoResponse struct {
	Value map[string]any
}

// joinResponse answers Join. Gateways are addresses without a length.
type joinResponse struct {
	InterfaceName         interfaceName
	Gateway               string        `json:",omitempty"`
	GatewayIPv6           string        `json:",omitempty"`
	StaticRoutes          []staticRoute `json:",omitempty"`
	DisableGatewayService bool          `json:",omitempty"`
}

// interfaceName says which interface is moved into the sandbox, and what it is called there: DstName, or DstPrefix and a number. Clients before
// moby#52866 do not read DstName.
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

// staticRoute is set in the sandbox.
type staticRoute struct {
	Destination string
	RouteType   int
	NextHop     string `json:",omitempty"`
}

// portBinding is a port that a user wants to reach by the machine.
type portBinding struct {
	Proto uint8
	Port  uint16
}

// discoveryRequest is DiscoverNew's and DiscoverDelete's; the data are of many kinds.
type discoveryRequest struct {
	DiscoveryType int
	DiscoveryData json.RawMessage
}

// nodeDiscovery is the type of what nodes are; their data follow.
const nodeDiscovery = 1

type nodeData struct {
	Address     string
	BindAddress string
	Self        bool
}
