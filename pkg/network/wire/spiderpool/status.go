// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// entry holds the values that the suite compares with those of a Pod.
type entry struct {
	Node    string `json:"nodeName"`
	Address string `json:"ipAddress"`
	Subnet  string `json:"subnet"`
	Parent  string `json:"parentNicMac"`
	MAC     string `json:"mac"`
	VLAN    int64  `json:"vlanID"`
}

// status returns the binding of an address.
func (h *handler) status(w http.ResponseWriter, r *http.Request) error {
	address, err := parseAddress(r.PathValue("address"))
	if err != nil {
		return wire.Problemf(http.StatusBadRequest, "the address %s", err)
	}
	ctx, cancel := within(r)
	defer cancel()
	found, err := h.lookUp(ctx, h.Policy(), address)
	if errors.Is(err, network.ErrNotHeld) {
		return wire.Problemf(http.StatusNotFound, "nothing is bound for %s", address)
	}
	if err != nil {
		return err
	}
	wire.Write(w, http.StatusOK, map[string]entry{"entry": found})
	return nil
}

// lookUp finds the binding of an address in any pool. The error wraps network.ErrNotHeld.
func (h *handler) lookUp(ctx context.Context, p *policy.Policy, address netip.Addr) (entry, error) {
	for _, pool := range p.Pools {
		for _, subnet := range pool.Subnets {
			if !subnet.Prefix.Contains(address) {
				continue
			}
			a, err := h.Service.At(ctx, pool.Name, address)
			if err == nil && a.Owner.Contract == Contract && a.State == network.Bound {
				return entry{
					Node: a.Holder.Node, Address: address.String(), Subnet: subnet.Prefix.String(), Parent: a.Holder.Device,
					MAC: a.HardwareAddr().String(), VLAN: int64(a.VLANID()),
				}, nil
			}
			if err != nil && !errors.Is(err, network.ErrNotHeld) {
				return entry{}, err
			}
		}
	}
	return entry{}, network.ErrNotHeld
}
