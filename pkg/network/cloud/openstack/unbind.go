// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"
	"net/http"

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
	for _, j := range batch {
		if len(owned[j]) > 0 {
			continue
		}
		p, is, err := w.renamed(ctx, j.allocation)
		if err != nil {
			j.end(network.Binding{}, err)
		} else if is {
			owned[j] = []ports.Port{*p}
		}
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

// renamed finds a port with a changed name by the reference in the ledger. It ignores a port if its description was
// changed as well, because it belongs to another user then.
func (w *work) renamed(ctx context.Context, a network.Allocation) (*ports.Port, bool, error) {
	known := referenceOf(a)
	if known.Port == "" {
		return nil, false, nil
	}
	p, is, err := w.port(ctx, known.Port)
	return p, is && p.Description == w.cloud.description(a), err
}

// attached returns the ports that are attached, by trunk. Neutron sets the device of a sub-port only when an agent binds
// it, so the trunk of the node's NIC is asked, and other trunks in references are tried.
func (w *work) attached(ctx context.Context, owned map[*job][]ports.Port) (map[string][]string, error) {
	byTrunk, subports, known := map[string][]string{}, map[string]string{}, map[string]bool{}
	if w.mac != "" && (w.cloud.definition.Trunk != nil || refersToTrunk(owned)) {
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

// refersToTrunk reports whether a port was attached, perhaps before the declaration of the cloud was changed.
func refersToTrunk(owned map[*job][]ports.Port) bool {
	for j := range owned {
		if referenceOf(j.allocation).Trunk != "" {
			return true
		}
	}
	return false
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
		err := w.removeSubports(ctx, id, all)
		if len(all) == 1 || !isGone(err) {
			problems = append(problems, unlessGone(err))
			continue
		}
		// Another server has removed some of them. Neutron removes all or none.
		for _, one := range all {
			problems = append(problems, unlessGone(w.removeSubports(ctx, id, []string{one})))
		}
	}
	return errors.Join(problems...)
}

// unlessGone returns an error, but not that something does not exist.
func unlessGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether Neutron has answered that something does not exist.
func isGone(err error) bool {
	e, ok := asAPIError(err)
	return ok && e.status == http.StatusNotFound
}

// isRefused reports whether an error is a permanent rejection.
func isRefused(err error) bool { return errors.Is(err, network.ErrRefused) }
