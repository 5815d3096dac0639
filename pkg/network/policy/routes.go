// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
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
		c.add(p.At(field), source.MissingField, "is missing")
	}
	return t.Value != ""
}

// paths compiles what a pool says of routes, rules and neighbours. They must be what a device can be given, and fit the addresses of the pool.
func (c *compiler) paths(pool *Pool, p place, spec v1alpha1.NetworkPool) {
	for _, r := range spec.Routes {
		pool.Routes = append(pool.Routes, device.Route{
			Destination: r.Destination.Value, Gateway: r.Gateway.Value, Source: r.Source.Value, Scope: uint8(r.Scope), Table: r.Table,
		})
	}
	for i, r := range spec.Rules {
		if r.Table == 0 {
			c.add(p.At("rules").Item(i).At("table"), source.MissingField, "is missing")
		}
		pool.Rules = append(pool.Rules, device.Rule{Priority: r.Priority, Source: r.Source.Value, Destination: r.Destination.Value, Table: r.Table})
	}
	for _, n := range spec.Neighbors {
		pool.Neighbors = append(pool.Neighbors, device.Neighbor{Destination: n.Destination.Value, HardwareAddr: n.HardwareAddr.Value})
	}
	whole := device.Config{Routes: pool.Routes, Rules: pool.Rules, Neighbors: pool.Neighbors}
	problems := c.problems(p, whole.Validate())
	for i, route := range pool.Routes {
		if at := p.At("routes").Item(i); !problems.in(at.Path) {
			c.route(pool, at, route)
		}
	}
}

// route holds a route against the addresses of the pool.
func (c *compiler) route(pool *Pool, p place, route device.Route) {
	destination, err := device.ParsePrefix(route.Destination)
	if err != nil {
		return // which is said already
	}
	if bits := destination.Addr().BitLen(); !pool.has(bits) {
		c.add(p.At("destination"), source.WrongValue, "the pool gives no %s addresses", familyName(bits))
		return
	}
	gateway, err := device.ParseAddr(route.Gateway)
	if err == nil && !pool.reaches(gateway) {
		c.add(p.At("gateway"), Outside, "%s cannot be reached: it is in no subnet of the pool, and no other route leads to it over the link", gateway)
	}
}

// has says whether addresses of a family come from the pool; whether they do where the cloud chooses, nobody knows beforehand.
func (p *Pool) has(bits int) bool {
	return len(p.Subnets) == 0 || slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Addr().BitLen() == bits })
}

// reaches says whether a gateway is on the link: in a subnet, local to the link, or where a route over the link leads.
func (p *Pool) reaches(gateway netip.Addr) bool {
	return len(p.Subnets) == 0 || gateway.IsLinkLocalUnicast() ||
		slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Contains(gateway) }) ||
		slices.ContainsFunc(p.Routes, func(r device.Route) bool {
			link, err := device.ParsePrefix(r.Destination)
			return err == nil && r.Gateway == "" && link.Contains(gateway)
		})
}

// paths are the fields in which something was found.
type paths []string

func (p paths) in(outer string) bool {
	return slices.ContainsFunc(p, func(path string) bool { return source.Within(path, outer) })
}

// problems adds those of a configuration that is written at a place, but for what is to be computed. It gives the fields.
func (c *compiler) problems(p place, err error) paths {
	var (
		all    device.Problems
		fields paths
	)
	errors.As(err, &all)
	for _, problem := range all {
		at := p.Walk(problem.Field)
		if computed(at) {
			continue
		}
		rule := source.WrongValue
		if at.Missing {
			rule = source.MissingField
		}
		c.add(at, rule, "%s", problem.Message)
		fields = append(fields, at.Path)
	}
	return fields
}
