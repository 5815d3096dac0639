// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// output is the result of a plugin in the form of the latest specification.
type output struct{ *current.Result }

// newOutput reads a result. The library panics where an old result has a null in a list.
func newOutput(read func() (types.Result, error)) (made *output, err error) {
	defer func() {
		if recover() != nil {
			made, err = nil, errors.New("the result has a null in a list")
		}
	}()
	result, err := read()
	if err != nil {
		return nil, err
	}
	converted, err := current.NewResultFromResult(result)
	if err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	return &output{converted}, nil
}

// binding converts the result to a binding for the ledger. It refuses an unusable result, so that the address is
// released.
//
// The gateway of an address is only used for routes without one: in CNI, only an explicit default route of the plugin
// is a default route.
func (o *output) binding(at attachment, a network.Allocation) (network.Binding, error) {
	made := network.Binding{}
	gateways := map[bool]netip.Addr{}
	for _, given := range o.IPs {
		if given == nil {
			return made, refuse("returned an invalid address")
		}
		address, ok := prefix(given.Address)
		if !ok {
			return made, refuse("returned an invalid address")
		}
		if slices.ContainsFunc(made.Addresses, func(other netip.Prefix) bool { return other.Addr().Is4() == address.Addr().Is4() }) {
			return made, refuse("returned two addresses of one family; an allocation has at most one of each")
		}
		made.Addresses = append(made.Addresses, address)
		if gateway, ok := netip.AddrFromSlice(given.Gateway); ok {
			gateways[address.Addr().Is4()] = gateway.Unmap()
		}
	}
	if len(made.Addresses) == 0 {
		return made, refuse("returned no address")
	}
	for _, wanted := range a.Addresses {
		if !slices.ContainsFunc(made.Addresses, func(given netip.Prefix) bool { return given.Addr() == wanted }) {
			return made, refuse("returned another address than the requested one")
		}
	}
	for _, route := range o.Routes {
		if route == nil {
			return made, refuse("returned a route with an invalid subnet")
		}
		destination, ok := prefix(route.Dst)
		if !ok {
			return made, refuse("returned a route with an invalid subnet")
		}
		gateway, ok := netip.AddrFromSlice(route.GW)
		if !ok {
			gateway = gateways[destination.Addr().Is4()]
		}
		made.Routes = append(made.Routes, network.Route{Destination: destination.Masked(), Gateway: gateway.Unmap()})
	}
	var err error
	if made.Reference, err = json.Marshal(at); err != nil {
		return made, fmt.Errorf("writing the reference: %w", err)
	}
	return made, nil
}

func refuse(what string) error {
	return fmt.Errorf("%w: the CNI plugin %w", network.ErrRefused, errors.New(what))
}

// prefix reads an address with its mask.
func prefix(n net.IPNet) (netip.Prefix, bool) {
	address, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}, false
	}
	address = address.Unmap()
	if address.Is4() && bits == 128 {
		ones -= 96
	}
	made := netip.PrefixFrom(address, ones)
	return made, made.IsValid()
}
