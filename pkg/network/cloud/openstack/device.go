// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// DRANET repeatedly asks for each device of each node. Descriptions are cached for a minute, at most this many.
const (
	rememberedNICs = 4096
	rememberedFor  = time.Minute
)

// Describe implements cloud.Describer with the port that has the MAC address, its network and its subnets.
func (c *Cloud) Describe(ctx context.Context, mac string) (cloud.Description, error) {
	mac = strings.ToLower(mac)
	if known, ok := c.nics.Get(mac); ok {
		return known.(cloud.Description), nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	n, err := c.neutron(ctx)
	if err != nil {
		return cloud.Description{}, err
	}
	found, err := n.parents(ctx, mac)
	var made cloud.Description
	if err == nil && len(found) == 1 {
		made, err = describeNIC(ctx, n, found[0])
	} else if err == nil && len(found) > 1 {
		err = fmt.Errorf("%d ports have the MAC address %s", len(found), mac)
	}
	if err == nil {
		c.nics.Add(mac, made, rememberedFor)
	}
	return made, err
}

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

// attributes returns the attributes of a NIC. Those that Neutron does not know are missing, and names that are longer than
// attributes.
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
