// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// activate returns the plugin's capabilities and starts a new activation of the IPAM driver: Docker requests
// its addresses again. An error must have a status other than 200, because Docker would accept any body as
// manifest.
func (h *handler) activate(ctx context.Context, _ *request) (any, error) {
	if err := h.Leases.Activate(ctx); err != nil {
		return nil, &wire.Problem{Status: http.StatusServiceUnavailable,
			Message: "the ledger cannot be written; see the log of the server", Cause: err}
	}
	h.activated.Store(true)
	return fields{"Implements": []string{"NetworkDriver", "IpamDriver"}}, nil
}

func (h *handler) capabilities(context.Context, *request) (any, error) {
	return struct {
		Scope, ConnectivityScope string
		GwAllocChecker           bool
	}{h.Scope, h.Connectivity, true}, nil
}

// checkGateways returns the families that need no gateway address from Docker. It also validates the options, before an
// address is allocated.
func (h *handler) checkGateways(ctx context.Context, q *request) (any, error) {
	n, err := q.network()
	if err == nil {
		n, err = h.Networks.Check(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	// Docker cannot know the address of a router outside of the machine. Its own macvlan and ipvlan behave the same way.
	skip := n.Outside || !n.NeedsGateway()
	return fields{"SkipIPv4": skip, "SkipIPv6": skip}, nil
}

// allocateNetwork is called once per network by a manager of a Swarm, and again by each new leader. The subnets' owners
// are known only in CreateNetwork on each node.
func (h *handler) allocateNetwork(ctx context.Context, q *request) (any, error) {
	options, err := q.Options.texts("Options")
	if err != nil {
		return nil, err
	}
	chosen, err := h.Networks.Allocate(ctx, driver.Network{ID: q.NetworkID, Options: options})
	if err != nil {
		return nil, err
	}
	return fields{"Options": chosen}, nil
}

// ignore answers a call that changes nothing.
func (*handler) ignore(context.Context, *request) (any, error) { return nil, nil }

// fields is a response without a type of its own.
type fields map[string]any

func (h *handler) createNetwork(ctx context.Context, q *request) (any, error) {
	n, err := q.network()
	if err != nil {
		return nil, err
	}
	if err := h.recordSubnets(ctx, n); err != nil {
		return nil, err
	}
	return nil, h.Networks.CreateNetwork(ctx, n)
}

// recordSubnets records the subnets of a network in the leases. It must run before the network is created, so that
// leases requested in the meantime belong to another network.
func (h *handler) recordSubnets(ctx context.Context, n driver.Network) error {
	for _, s := range n.Subnets {
		if err := h.Leases.RecordNetwork(ctx, s.Space, s.Prefix, n.ID); err != nil {
			return err
		}
	}
	return nil
}

// createEndpoint creates an interface and answers with the values that Docker did not set. Docker rejects a
// repetition of those that it set.
func (h *handler) createEndpoint(ctx context.Context, q *request) (any, error) {
	e, err := q.endpoint()
	if err != nil {
		return nil, err
	}
	n, err := h.Networks.Network(ctx, q.NetworkID)
	if err != nil {
		return nil, err
	}
	if err := h.recordSubnets(ctx, n); err != nil {
		return nil, err
	}
	made, err := h.Networks.CreateEndpoint(ctx, e)
	if err != nil {
		return nil, err
	}
	return fields{"Interface": q.Interface.missing(n, made)}, nil
}

// missing returns the values that the request did not set. Interfaces of an ipvlan have the MAC address of
// their parent, which Docker cannot set.
func (i endpointInterface) missing(n driver.Network, made driver.Endpoint) endpointInterface {
	var answer endpointInterface
	for _, address := range made.Addresses {
		if address.Addr().Is4() && !i.Address.IsValid() {
			answer.Address = address
		} else if address.Addr().Is6() && !i.AddressIPv6.IsValid() {
			answer.AddressIPv6 = address
		}
	}
	if i.MacAddress == "" && n.Link.Kind != link.Ipvlan {
		answer.MacAddress = made.MAC.String()
	}
	return answer
}

// endpointInfo returns no details, because Docker shows them nowhere.
func (h *handler) endpointInfo(ctx context.Context, q *request) (any, error) {
	if _, _, err := h.Networks.Endpoint(ctx, q.NetworkID, q.EndpointID); err != nil {
		return nil, err
	}
	return fields{"Value": fields{}}, nil
}

// The types of routes.
const (
	routeNextHop = iota
	routeConnected
)

// longestSandbox limits the path of a sandbox, in bytes (PATH_MAX of Linux).
const longestSandbox = 4096

// join returns the interface to move into the sandbox, with its routes.
func (h *handler) join(ctx context.Context, q *request) (any, error) {
	if q.SandboxKey == "" || len(q.SandboxKey) > longestSandbox {
		return nil, invalidField("SandboxKey", "must be the path of a sandbox")
	}
	e, n, err := h.Networks.Join(ctx, q.NetworkID, q.EndpointID, q.SandboxKey)
	if err != nil {
		return nil, err
	}
	// The interface's name in the sandbox is DstName, or DstPrefix with a number. Clients before moby#52866 ignore DstName.
	name := fields{"SrcName": link.InterfaceName(e.ID), "DstPrefix": cmp.Or(n.Prefix, "eth")}
	if e.Name != "" {
		name["DstName"] = e.Name
	}
	answer := fields{"InterfaceName": name}
	// Without a gateway, Docker adds an interface on a bridge of its own, unless DisableGatewayService is set. It is
	// set for networks with another way out, such as a route over the link, which Docker does not recognize as one.
	if n.Isolated || n.Outside && len(e.Gateways) == 0 {
		answer["DisableGatewayService"] = true
	}
	for _, gateway := range e.Gateways { // one of each family, without prefix length
		if gateway.Is4() {
			answer["Gateway"] = gateway
		} else {
			answer["GatewayIPv6"] = gateway
		}
	}
	var routes []fields
	for _, r := range e.Routes {
		route := fields{"Destination": r.Destination, "RouteType": routeConnected}
		if r.Gateway.IsValid() {
			route["RouteType"], route["NextHop"] = routeNextHop, r.Gateway
		}
		routes = append(routes, route)
	}
	if len(routes) > 0 {
		answer["StaticRoutes"] = routes
	}
	return answer, nil
}

// protocols maps IP protocol numbers to names.
var protocols = map[uint8]string{6: "/tcp", 17: "/udp", 132: "/sctp"}

// refusePorts rejects published ports, because containers are reachable by their own addresses.
func (*handler) refusePorts(_ context.Context, q *request) (any, error) {
	var bindings []struct {
		Proto uint8
		Port  uint16
	}
	if raw, ok := q.Options[labelPortMap]; ok && json.Unmarshal(raw, &bindings) != nil {
		return nil, invalidField("Options."+labelPortMap, "must be a list of ports")
	}
	var ports []string
	for _, b := range bindings {
		ports = append(ports, fmt.Sprint(b.Port)+protocols[b.Proto])
	}
	if len(ports) == 0 {
		return nil, nil
	}
	return nil, wire.Problemf(http.StatusOK, "ports (%s) cannot be published in a network of Graft: leave out -p and -P, "+
		"and reach the container by its own address, or connect it to a network of the driver bridge too",
		strings.Join(slices.Compact(ports), ", "))
}

// nodeDiscovery is the discovery type of nodes (libnetwork, discoverapi.NodeDiscovery).
const nodeDiscovery = 1

// discover returns a method that records that a node joined or left. It ignores other kinds of discovery, such as keys.
func discover(gone bool) func(*handler, context.Context, *request) (any, error) {
	return func(h *handler, ctx context.Context, q *request) (any, error) {
		if q.DiscoveryType != nodeDiscovery {
			return nil, nil
		}
		var d struct {
			Address, BindAddress flexibleAddress
			Self                 bool
		}
		if json.Unmarshal(q.DiscoveryData, &d) != nil {
			return nil, invalidField("DiscoveryData", "must have the address of a node")
		}
		node := d.Address
		if d.Self {
			// BindAddress is the source address of packets. Address is the one that other nodes see, possibly after
			// NAT; without BindAddress, the kernel chooses better.
			node = d.BindAddress
		}
		if !node.IsValid() || node.IsUnspecified() {
			return nil, nil
		}
		return nil, h.Networks.Discovered(ctx, node.Addr, d.Self, gone)
	}
}

// ipamCapabilities tells Docker to request everything again after its restart. Docker never activates a managed
// plugin; its first call of this method counts as activation.
func (h *handler) ipamCapabilities(ctx context.Context, q *request) (any, error) {
	if !h.activated.Load() {
		if _, err := h.activate(ctx, q); err != nil {
			return nil, err
		}
	}
	return fields{"RequiresMACAddress": false, "RequiresRequestReplay": true}, nil
}

// addressSpaces returns the names of the address spaces. With global scope, the global space is also the local
// one: Swarm's managers use the global space, and the nodes the local one for the same addresses.
func (h *handler) addressSpaces(context.Context, *request) (any, error) {
	local := ipam.LocalSpace
	if h.Scope == ScopeGlobal {
		local = ipam.GlobalSpace
	}
	return struct{ LocalDefaultAddressSpace, GlobalDefaultAddressSpace string }{local, ipam.GlobalSpace}, nil
}

func (h *handler) requestPool(ctx context.Context, q *request) (any, error) {
	options, err := q.Options.texts("Options")
	if err != nil {
		return nil, err
	}
	leased, err := h.Leases.RequestPool(ctx, ipam.PoolRequest{
		Space: q.AddressSpace, Options: options, Six: q.V6, Subnet: anySubnet(q.Pool), Within: anySubnet(q.SubPool),
	})
	if err != nil {
		return nil, err
	}
	response := fields{"PoolID": leased.ID, "Pool": leased.Prefix, "Data": nil}
	if leased.Gateway.IsValid() { // Docker need not request it
		response["Data"] = map[string]string{labelGateway: netip.PrefixFrom(leased.Gateway, leased.Prefix.Bits()).String()}
	}
	return response, nil
}

// anySubnet returns the zero Prefix for the subnets that Docker sends for any, 0.0.0.0/0 and ::/0.
func anySubnet(p netip.Prefix) netip.Prefix {
	if p.Addr().IsUnspecified() && p.Bits() == 0 {
		return netip.Prefix{}
	}
	return p
}

func (h *handler) requestAddress(ctx context.Context, q *request) (any, error) {
	options, err := q.Options.texts("Options")
	if err != nil {
		return nil, err
	}
	given, err := h.Leases.RequestAddress(ctx, q.PoolID, q.Address.Addr, options)
	if err != nil {
		return nil, err
	}
	return fields{"Address": given, "Data": nil}, nil
}

// releaseAddress releases an address. It ignores an empty one.
func (h *handler) releaseAddress(ctx context.Context, q *request) (any, error) {
	if !q.Address.IsValid() {
		return nil, nil
	}
	return nil, h.Leases.ReleaseAddress(ctx, q.PoolID, q.Address.Addr)
}
