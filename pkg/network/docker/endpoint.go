// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// createEndpoint creates an interface and answers with the values that Docker did not set. Docker rejects a
// repetition of those that it set.
func (h *handler) createEndpoint(ctx context.Context, q *endpointRequest) (any, error) {
	e, err := q.endpoint()
	if err != nil {
		return nil, err
	}
	n, err := h.Networks.Network(ctx, q.NetworkID)
	if err != nil {
		return nil, err
	}
	if err := h.known(ctx, n); err != nil {
		return nil, err
	}
	made, err := h.Networks.CreateEndpoint(ctx, e)
	if err != nil {
		return nil, err
	}
	return endpointResponse{Interface: q.Interface.missing(n, made)}, nil
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
		answer.MacAddress = macText(made)
	}
	return answer
}

func (h *handler) deleteEndpoint(ctx context.Context, q *endpointRequest) (any, error) {
	if err := q.checkIDs(); err != nil {
		return nil, err
	}
	return nil, h.Networks.DeleteEndpoint(ctx, q.NetworkID, q.EndpointID)
}

// endpointInfo returns the details of an endpoint. Their names must differ from libnetwork's labels, whose
// values Docker interprets.
func (h *handler) endpointInfo(ctx context.Context, q *endpointRequest) (any, error) {
	if err := q.checkIDs(); err != nil {
		return nil, err
	}
	e, err := h.Networks.Endpoint(ctx, q.NetworkID, q.EndpointID)
	if err != nil {
		return nil, err
	}
	n, err := h.Networks.Network(ctx, q.NetworkID)
	if err != nil {
		return nil, err
	}
	return infoResponse{Value: describeEndpoint(n, e)}, nil
}

// describeEndpoint returns the details of an endpoint without empty values.
func describeEndpoint(n driver.Network, e driver.Endpoint) map[string]any {
	value := map[string]any{"interface": link.InterfaceName(e.ID), "kind": string(n.Link.Kind)}
	for name, text := range map[string]string{
		"profile": n.Profile, "parent": n.Link.Parent, "mode": n.Link.Mode, "mac": macText(e), "addresses": joined(e.Addresses), "gateways": joined(e.Gateways),
	} {
		if text != "" {
			value[name] = text
		}
	}
	vlan := e.VLAN
	if vlan == 0 {
		vlan = n.Link.VLAN
	}
	for name, number := range map[string]int{"vlan": int(vlan), "vni": int(n.Link.VNI), "mtu": n.Link.MTU} {
		if number != 0 {
			value[name] = number
		}
	}
	return value
}

// macText returns the MAC address of an endpoint, or "" if it is chosen by the kernel or the parent's.
func macText(e driver.Endpoint) string {
	if len(e.MAC) == 0 {
		return ""
	}
	return e.MAC.String()
}

// joined returns addresses on one line.
func joined[A netip.Addr | netip.Prefix](addresses []A) string {
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = any(address).(interface{ String() string }).String()
	}
	return strings.Join(texts, ", ")
}
