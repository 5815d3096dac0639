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

// discover notes that a node came or went. Other things that can be discovered, such as keys, are of no use here.
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
		// That from which packets leave. The other is how nodes see this one, be it beyond a translation of addresses: where nothing else is said, the
		// kernel knows better.
		if node, err = readNode("DiscoveryData.BindAddress", d.BindAddress); err != nil {
			return err
		}
	}
	if !node.IsValid() {
		return nil
	}
	return h.Networks.Discovered(ctx, node, d.Self, gone)
}

// readNode reads the address of a node, with or without a port; one that is not valid says nothing.
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
