// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Config returns the settings of the device for an allocation of the pool: its addresses with the lengths of their
// subnets, its MAC address, the MTU of the pool or else the cloud, and the routes of both. The cloud's routers become default routes if the
// pool has none of the family.
func (p *Pool) Config(a network.Allocation) device.Config {
	c := device.Config{Routes: slices.Clone(p.Routes)}
	if p.MTU != nil {
		mtu := *p.MTU
		c.Interface.MTU = &mtu
	} else if mtu := a.Binding.MTU; mtu > 0 {
		c.Interface.MTU = &mtu
	}
	for _, address := range a.Addresses {
		c.Interface.Addresses = append(c.Interface.Addresses, p.interfaceAddress(a.Binding, address).String())
	}
	if mac := a.HardwareAddr(); len(mac) > 0 {
		text := mac.String()
		c.Interface.HardwareAddr = &text
	}
	for _, route := range a.Binding.Routes {
		c.Routes = append(c.Routes, interfaceRoute(a.Binding, route))
	}
	for _, gateway := range a.Binding.Gateways {
		everything := netip.PrefixFrom(gateway, 0).Masked().String()
		if !slices.ContainsFunc(c.Routes, func(r device.Route) bool { return r.Destination == everything }) {
			c.Routes = append(c.Routes, device.Route{Destination: everything, Gateway: gateway.String()})
		}
	}
	return c
}

// scopeLink is the scope of a route without a gateway (Linux: rtnetlink.h, RT_SCOPE_LINK).
const scopeLink = 253

// interfaceRoute returns a route of the cloud. One without a gateway uses the router of its family, as in CNI, or the
// link.
func interfaceRoute(b network.Binding, route network.Route) device.Route {
	added := device.Route{Destination: route.Destination.String()}
	gateway := route.Gateway
	for _, router := range b.Gateways {
		if !gateway.IsValid() && router.BitLen() == route.Destination.Addr().BitLen() {
			gateway = router
		}
	}
	if gateway.IsValid() {
		added.Gateway = gateway.String()
	} else {
		added.Scope = scopeLink
	}
	return added
}

// interfaceAddress returns an address with the length of its subnet in the cloud or the pool. An address without a
// subnet, which was removed from the pool, is a host.
func (p *Pool) interfaceAddress(b network.Binding, address netip.Addr) netip.Prefix {
	for _, chosen := range b.Addresses {
		if chosen.Addr() == address {
			return chosen
		}
	}
	for _, subnet := range p.Subnets {
		if subnet.Prefix.Contains(address) {
			return netip.PrefixFrom(address, subnet.Prefix.Bits())
		}
	}
	return netip.PrefixFrom(address, address.BitLen())
}

// configuration has the settings of a device, constant or computed. A nil value sets nothing.
type configuration struct {
	tree *expression.Tree
	at   source.Position
}

// withoutExpressions returns a copy of a value without computed parts.
func withoutExpressions(n source.Node) source.Node {
	if n.Node == nil {
		return n
	}
	plain := *n.Node
	if isComputed(n) {
		plain.Tag, plain.Value = "!!null", "null"
	}
	plain.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		plain.Content[i] = inner
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			plain.Content[i] = withoutExpressions(source.Node{Node: inner, File: n.File}).Node
		}
	}
	return source.Node{Node: &plain, File: n.File}
}

// evaluate computes the settings.
func (x *configuration) evaluate(ctx context.Context, vars interpreter.Activation) (device.Config, error) {
	if x == nil {
		return device.Config{}, nil
	}
	raw, err := x.tree.JSON(ctx, vars)
	if err != nil {
		return device.Config{}, err
	}
	config, err := decode(raw)
	if err != nil {
		return device.Config{}, fmt.Errorf("%s: %w", x.at, err)
	}
	return config, nil
}

// decode reads a configuration strictly. The error names fields, and no values.
func decode(raw []byte) (c device.Config, err error) {
	strict, err := kjson.UnmarshalStrict(raw, &c)
	if err != nil {
		return c, errors.New("a field has a value of a wrong type")
	}
	if err := errors.Join(strict...); err != nil {
		return c, err
	}
	var problems device.Problems
	if errors.As(c.Validate(), &problems) {
		fields := make([]string, len(problems))
		for i, problem := range problems {
			fields[i] = problem.Field
		}
		return c, fmt.Errorf("not valid: %s", strings.Join(fields, ", "))
	}
	return c, nil
}

// computed reports whether the value of a place is computed: it is an expression, or a missing member of a mapping with
// computed members.
func computed(p position) bool {
	if isComputed(p.Node) {
		return true
	}
	return slices.ContainsFunc(p.Node.Fields(), func(f source.Field) bool { return isComputed(f.Value) })
}

// isComputed reports whether a value contains an expression.
func isComputed(n source.Node) bool {
	return n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "${")
}
