// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// unbind detaches and deletes all ports of the allocations. A job without ports is done.
func (w *work) unbind(ctx context.Context, batch []*job) error {
	names := make([]string, len(batch))
	byName := map[string]*job{}
	for i, j := range batch {
		names[i] = w.cloud.portName(j.allocation)
		byName[names[i]] = j
	}
	found, err := w.listPorts(ctx, query{"name": names})
	if err != nil {
		return err
	}
	owned := map[*job][]ports.Port{}
	for _, p := range found {
		if j := byName[p.Name]; j != nil {
			owned[j] = append(owned[j], p)
		}
	}
	if err := w.addRenamed(ctx, batch, owned); err != nil {
		return err
	}
	if err := w.detach(ctx, owned); err != nil {
		return err
	}
	for _, j := range batch {
		for _, p := range owned[j] {
			if err := w.deletePort(ctx, p.ID); err != nil {
				j.end(network.Binding{}, err)
				break
			}
		}
		if vlan := j.allocation.VLANID(); vlan != 0 {
			w.cloud.released.Add(vlanOf{w.mac, int(vlan)}, struct{}{})
		}
	}
	return nil
}

// addRenamed finds ports with a changed name by the references in the ledger. It ignores a port if its description was
// changed as well, because it belongs to another user then.
func (w *work) addRenamed(ctx context.Context, batch []*job, owned map[*job][]ports.Port) error {
	var ids []string
	byID := map[string]*job{}
	for _, j := range batch {
		if id := referenceOf(j.allocation).Port; id != "" && len(owned[j]) == 0 {
			ids = append(ids, id)
			byID[id] = j
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := w.listPorts(ctx, query{"id": ids})
	for _, p := range found {
		if j := byID[p.ID]; j != nil && p.Description == w.cloud.description(j.allocation) {
			owned[j] = append(owned[j], p)
		}
	}
	return err
}

// attached returns the ports that are attached, by trunk. Neutron sets the device of a sub-port only when an agent binds
// it, so the trunk of the node's NIC is asked, and other trunks in references are tried.
func (w *work) attached(ctx context.Context, owned map[*job][]ports.Port) (map[string][]string, error) {
	byTrunk, subports, known := map[string][]string{}, map[string]string{}, map[string]bool{}
	if w.mac != "" {
		found, err := w.parents(ctx, w.mac)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			known[p.TrunkID] = true
			for _, s := range p.SubPorts {
				subports[s.PortID] = p.TrunkID
			}
		}
	}
	for j, all := range owned {
		for _, p := range all {
			id := subports[p.ID]
			if id == "" && p.DeviceOwner == subportOwner {
				id = p.DeviceID
			}
			if other := referenceOf(j.allocation).Trunk; !known[other] {
				id = cmp.Or(id, other)
			}
			if id != "" {
				byTrunk[id] = append(byTrunk[id], p.ID)
			}
		}
	}
	return byTrunk, nil
}

// detach removes the ports from their trunks.
func (w *work) detach(ctx context.Context, owned map[*job][]ports.Port) error {
	if len(owned) == 0 {
		return nil
	}
	attached, err := w.attached(ctx, owned)
	if err != nil {
		return err
	}
	var problems []error
	for id, all := range attached {
		problems = append(problems, w.removeSubports(ctx, id, all...))
	}
	return errors.Join(problems...)
}
