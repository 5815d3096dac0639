// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"encoding/json"
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
		return wrong("DiscoveryData", "must have the address of a node")
	}
	node := d.Address
	if d.Self {
		// BindAddress is the address that packets leave from. Address is the one other nodes see, possibly
		// behind NAT; without BindAddress, the kernel chooses better.
		node = d.BindAddress
	}
	if !node.IsValid() || node.IsUnspecified() {
		return nil
	}
	return h.Networks.Discovered(ctx, node.Addr, d.Self, gone)
}
