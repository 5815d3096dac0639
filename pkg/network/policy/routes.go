// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// needed says that a text is missing, or that it is there.
func (c *compiler) needed(p place, field string, t source.Text) bool {
	if t.Value == "" {
		c.add(p, source.MissingField, "%s is missing", field)
	}
	return t.Value != ""
}

// prefixOr reads an optional prefix; the zero one where it is absent or wrong.
func (c *compiler) prefixOr(p place, t source.Text) netip.Prefix {
	if t.At.Absent() || t.Value == "" {
		return netip.Prefix{}
	}
	prefix, err := parsePrefix(t.Value)
	if err != nil {
		c.add(p, source.WrongValue, "%s", err)
	}
	return prefix
}

// addressOr reads an optional address.
func (c *compiler) addressOr(p place, t source.Text) netip.Addr {
	if t.At.Absent() || t.Value == "" {
		return netip.Addr{}
	}
	address, err := parseAddress(t.Value)
	if err != nil {
		c.add(p, source.WrongValue, "%s", err)
	}
	return address
}

// has says whether addresses of a family come from the pool; whether they do where the cloud chooses, nobody knows beforehand.
func (p *Pool) has(bits int) bool {
	return len(p.Subnets) == 0 || slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Addr().BitLen() == bits })
}

// routes compiles the routes of a pool.
func (c *compiler) routes(pool *Pool, p place, specs []v1alpha1.NetworkRoute) {
	gateways := make([]netip.Addr, len(specs))
	var links []netip.Prefix
	for i, spec := range specs {
		at := p.item(i)
		if !c.needed(at, "destination", spec.Destination) {
			continue
		}
		destination := c.prefixOr(at.at("destination"), spec.Destination)
		from := c.addressOr(at.at("source"), spec.Source)
		gateways[i] = c.addressOr(at.at("gateway"), spec.Gateway)
		if !destination.IsValid() {
			continue
		}
		if !gateways[i].IsValid() {
			links = append(links, destination)
		}
		bits := destination.Addr().BitLen()
		if !pool.has(bits) {
			c.add(at.at("destination"), source.WrongValue, "the pool gives no %s addresses", familyName(bits))
			gateways[i] = netip.Addr{}
			continue
		}
		for field, other := range map[string]netip.Addr{"gateway": gateways[i], "source": from} {
			if other.IsValid() && other.BitLen() != bits {
				c.add(at.at(field), source.WrongValue, "is of another family than the destination")
				gateways[i] = netip.Addr{}
			}
		}
		pool.Routes = append(pool.Routes, device.Route{
			Destination: destination.String(), Gateway: spec.Gateway.Value, Source: spec.Source.Value, Scope: uint8(spec.Scope), Table: spec.Table,
		})
	}
	for i, gateway := range gateways {
		if gateway.IsValid() && !pool.reaches(gateway, links) {
			c.add(p.item(i).at("gateway"), Outside, "%s cannot be reached: it is in no subnet of the pool, and no other route leads to it over the link", gateway)
		}
	}
}

// reaches says whether a gateway is on the link: in a subnet, local to the link, or where a route over the link leads.
func (p *Pool) reaches(gateway netip.Addr, links []netip.Prefix) bool {
	contains := func(prefix netip.Prefix) bool { return prefix.Contains(gateway) }
	return len(p.Subnets) == 0 || gateway.IsLinkLocalUnicast() || slices.ContainsFunc(links, contains) ||
		slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return contains(s.Prefix) })
}

// rules compiles the rules of a pool.
func (c *compiler) rules(pool *Pool, p place, specs []v1alpha1.NetworkRule) {
	for i, spec := range specs {
		at := p.item(i)
		from, to := c.prefixOr(at.at("source"), spec.Source), c.prefixOr(at.at("destination"), spec.Destination)
		if from.IsValid() && to.IsValid() && from.Addr().BitLen() != to.Addr().BitLen() {
			c.add(at.at("destination"), source.WrongValue, "is of another family than the source")
		}
		if spec.Table == 0 {
			c.add(at, source.MissingField, "table is missing")
		}
		pool.Rules = append(pool.Rules, device.Rule{
			Priority: spec.Priority, Source: spec.Source.Value, Destination: spec.Destination.Value, Table: spec.Table,
		})
	}
}

// neighbors compiles the neighbours of a pool.
func (c *compiler) neighbors(pool *Pool, p place, specs []v1alpha1.NetworkNeighbor) {
	for i, spec := range specs {
		at := p.item(i)
		if c.needed(at, "destination", spec.Destination) {
			c.addressOr(at.at("destination"), spec.Destination)
		}
		if c.needed(at, "hardwareAddr", spec.HardwareAddr) {
			if mac, err := net.ParseMAC(spec.HardwareAddr.Value); err != nil || len(mac) != 6 {
				c.add(at.at("hardwareAddr"), source.WrongValue, "%q is no MAC address, such as 0a:58:0a:40:00:01", spec.HardwareAddr.Value)
			}
		}
		pool.Neighbors = append(pool.Neighbors, device.Neighbor{Destination: spec.Destination.Value, HardwareAddr: spec.HardwareAddr.Value})
	}
}
