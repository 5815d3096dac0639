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

// convertResult reads a result and converts it to the latest specification. The library panics where an old result has a
// null in a list.
func convertResult(read func() (types.Result, error)) (made *current.Result, err error) {
	defer func() {
		if recover() != nil {
			made, err = nil, errors.New("the result has a null in a list")
		}
	}()
	result, err := read()
	if err != nil {
		return nil, err
	}
	if made, err = current.NewResultFromResult(result); err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	return made, nil
}

// bindingOf converts a result to a binding for the ledger. It refuses an unusable result, so that the address is
// released.
//
// The gateway of an address is only used for routes without one: in CNI, only an explicit default route of the plugin
// is a default route.
func bindingOf(result *current.Result, at attachment, a network.Allocation) (network.Binding, error) {
	made := network.Binding{}
	gateways := map[bool]netip.Addr{}
	for _, given := range result.IPs {
		if given == nil || !prefix(given.Address).IsValid() {
			return made, refuse("returned an invalid address")
		}
		address := prefix(given.Address)
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
	for _, route := range result.Routes {
		if route == nil || !prefix(route.Dst).IsValid() {
			return made, refuse("returned a route with an invalid subnet")
		}
		destination := prefix(route.Dst)
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

// prefix reads an address with its mask. An unusable one is the zero Prefix.
func prefix(n net.IPNet) netip.Prefix {
	address, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}
	}
	address = address.Unmap()
	if address.Is4() && bits == 128 {
		ones -= 96
	}
	return netip.PrefixFrom(address, ones)
}
