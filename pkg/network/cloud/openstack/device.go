// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// DRANET repeatedly asks for each device of each node. Descriptions are cached for a minute, at most this many.
const (
	rememberedDevices = 4096
	rememberedFor     = time.Minute
)

// devices remembers the descriptions of devices, by MAC address.
type devices struct {
	session *session
	timeout time.Duration
	known   *cache.LRUExpireCache
}

// Describe implements cloud.Describer with the port that has the MAC address, its network and its subnets.
func (d *devices) Describe(ctx context.Context, mac string) (cloud.Description, error) {
	mac = strings.ToLower(mac)
	if known, ok := d.known.Get(mac); ok {
		return known.(cloud.Description), nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	n, err := d.session.neutron(ctx)
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
		d.known.Add(mac, made, rememberedFor)
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

// attributes returns the attributes of a NIC. Those that Neutron does not know are missing.
func attributes(nic parent, of details) map[string]device.Attribute {
	all := map[string]device.Attribute{}
	add := func(name string, a device.Attribute) {
		if a.Validate() == nil { // names in Neutron may be longer than attributes
			all["graft.provider.extensions.gardener.cloud/neutron"+name] = a
		}
	}
	add("Port", device.Attribute{String: &nic.ID})
	add("Network", device.Attribute{String: &nic.NetworkID})
	add("NetworkName", device.Attribute{String: &of.Name})
	for _, fixed := range nic.FixedIPs {
		name := "Subnet"
		if address, err := netip.ParseAddr(fixed.IPAddress); err == nil && address.Is6() {
			name = "IPv6Subnet"
		}
		add(name, device.Attribute{String: &fixed.SubnetID})
	}
	if mtu := int64(of.MTU); mtu > 0 {
		add("MTU", device.Attribute{Int: &mtu})
	}
	if nic.PortSecurity != nil {
		add("PortSecurity", device.Attribute{Bool: nic.PortSecurity})
	}
	return all
}
