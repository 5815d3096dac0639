// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
)

func (h *handler) discoverNew(ctx context.Context, q *discoveryRequest) (any, error) {
	return nil, h.discover(ctx, q, false)
}

func (h *handler) discoverDelete(ctx context.Context, q *discoveryRequest) (any, error) {
	return nil, h.discover(ctx, q, true)
}

// discover records that a node joined or left. It ignores other kinds of discovery, such as keys.
func (h *handler) discover(ctx context.Context, q *discoveryRequest, gone bool) error {
	if q.DiscoveryType != nodeDiscovery {
		return nil
	}
	var d nodeData
	if json.Unmarshal(q.DiscoveryData, &d) != nil {
		return wrong("DiscoveryData", "must be an object with the address of a node")
	}
	node, err := readNode("DiscoveryData.Address", d.Address)
	if err != nil {
		return err
	}
	if d.Self {
		// BindAddress is the address that packets leave from. Address is the one other nodes see, possibly
		// behind NAT; without BindAddress, the kernel chooses better.
		if node, err = readNode("DiscoveryData.BindAddress", d.BindAddress); err != nil {
			return err
		}
	}
	if !node.IsValid() {
		return nil
	}
	return h.Networks.Discovered(ctx, node, d.Self, gone)
}

// readNode parses the address of a node, with or without a port. It returns the zero Addr for an empty address.
func readNode(field, text string) (netip.Addr, error) {
	if text == "" || text == nilAddress {
		return netip.Addr{}, nil
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, wrong(field, "must be the address of a node")
	}
	if address.IsUnspecified() {
		return netip.Addr{}, nil
	}
	return address.Unmap(), nil
}
