// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"maps"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// describeNIC returns the attributes and the configuration of a NIC.
func describeNIC(ctx context.Context, n neutron, nic parent) (made cloud.Description, err error) {
	of, err := n.network(ctx, nic.NetworkID)
	var as network.Binding
	if err == nil {
		err = describe(&as, nic.FixedIPs, of.subnets)
	}
	if err != nil {
		return made, err
	}
	for _, r := range as.Routes {
		made.Config.Routes = append(made.Config.Routes, device.Route{Destination: r.Destination.String(), Gateway: r.Gateway.String()})
	}
	if made.Attributes = attributes(nic, of); of.MTU > 0 {
		made.Config.Interface.MTU = &of.MTU
	}
	return made, nil
}

// attributes returns the attributes of a NIC. It omits attributes that Neutron does not have, and names that are too
// long for attributes.
func attributes(nic parent, of details) map[string]device.Attribute {
	const prefix = "graft.provider.extensions.gardener.cloud/neutron"
	all := map[string]device.Attribute{
		prefix + "Port": {String: &nic.ID}, prefix + "Network": {String: &nic.NetworkID},
		prefix + "NetworkName": {String: &of.Name}, prefix + "PortSecurity": {Bool: nic.PortSecurity},
	}
	for _, fixed := range nic.FixedIPs {
		name := prefix + "Subnet"
		if address, err := netip.ParseAddr(fixed.IPAddress); err == nil && address.Is6() {
			name = prefix + "IPv6Subnet"
		}
		all[name] = device.Attribute{String: &fixed.SubnetID}
	}
	if of.MTU > 0 {
		all[prefix+"MTU"] = device.Attribute{Int: new(int64(of.MTU))}
	}
	maps.DeleteFunc(all, func(_ string, a device.Attribute) bool { return a.Validate() != nil })
	return all
}
