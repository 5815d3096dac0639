// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// subportOwner is the device owner of ports that are attached to a trunk; their device ID is the trunk.
const subportOwner = "trunk:subport"

// trunk is a trunk as Neutron has it.
type trunk struct {
	id string
	// vlans contains the VLAN of each sub-port, by the ID of the port.
	vlans map[string]int
}

// findTrunk returns the trunk with a parent port that has the MAC address of the node's NIC. It creates the trunk if
// that is allowed.
func (w *work) findTrunk(ctx context.Context) (*trunk, error) {
	if w.mac == "" {
		return nil, fmt.Errorf("%w: the request has no NIC of the node; the NIC's trunk is required", network.ErrRefused)
	}
	found, err := w.parents(ctx, w.mac)
	if err != nil {
		return nil, err
	}
	with := slices.DeleteFunc(slices.Clone(found), func(p parent) bool { return p.TrunkID == "" })
	switch {
	case len(with) == 1:
		t := &trunk{with[0].TrunkID, map[string]int{}}
		for _, s := range with[0].SubPorts {
			t.vlans[s.PortID] = s.SegmentationID
		}
		return t, nil
	case len(with) > 1 || len(found) > 1:
		return nil, fmt.Errorf("%w: %d ports have the MAC address %s of the node's NIC", network.ErrRefused, len(found), w.mac)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: no port of the project has the MAC address %s of the node's NIC", network.ErrRefused, w.mac)
	case !w.cloud.definition.Trunk.Create:
		const message = "%w: the port %s of the node's NIC has no trunk; create one, or write trunk.create: true"
		return nil, fmt.Errorf(message, network.ErrRefused, found[0].ID)
	}
	made, err := w.createTrunk(ctx, found[0].ID, w.cloud.definition.NamePrefix+"-"+found[0].ID)
	if answered, ok := asAPIError(err); ok && answered.status == http.StatusConflict {
		// Another server has created it, unless the port cannot have one.
		if found, again := w.parents(ctx, w.mac); again == nil && len(found) == 1 && found[0].TrunkID != "" {
			return w.findTrunk(ctx)
		}
	}
	if err != nil {
		return nil, refusal(err, w.cloud.definition)
	}
	return &trunk{made.ID, map[string]int{}}, nil
}

// maximumAttempts is the number of attempts to attach a batch after conflicts. Then its ports are attached one by one.
const maximumAttempts = 3

// attach attaches ports with VLANs that are free, and sets the VLANs. Jobs that fail are ended.
func (w *work) attach(ctx context.Context, t *trunk, all []*job, attempt int) {
	var missing []*job
	for _, j := range all {
		if j.vlan = t.vlans[j.port.ID]; j.vlan == 0 {
			missing = append(missing, j)
		}
	}
	if len(missing) == 0 {
		return
	}
	subports, err := w.choose(t, missing)
	if err == nil {
		err = w.addSubports(ctx, t.id, subports)
	}
	if err == nil {
		for i, j := range missing {
			j.vlan = subports[i].SegmentationID
			t.vlans[j.port.ID] = j.vlan
		}
		return
	}
	answered, ok := asAPIError(err)
	if !ok || answered.status >= http.StatusInternalServerError {
		w.giveUp(ctx, missing, err)
		return
	}
	// Another server may have used the VLANs, or an earlier attempt may have succeeded.
	current, again := w.findTrunk(ctx)
	switch {
	case again != nil:
		w.giveUp(ctx, missing, again)
	case attempt < maximumAttempts:
		w.attach(ctx, current, missing, attempt+1)
	case len(missing) > 1:
		for _, j := range missing {
			w.attach(ctx, current, []*job{j}, attempt)
		}
	default:
		w.giveUp(ctx, missing, refusal(err, w.cloud.definition))
	}
}

// choose returns sub-ports with VLANs that are unused on the trunk. The VLAN of the allocation is preferred. VLANs that
// were released lately are avoided, as the kernel of the node may still have an interface with them.
func (w *work) choose(t *trunk, all []*job) ([]trunks.Subport, error) {
	used := map[int]bool{}
	for _, vlan := range t.vlans {
		used[vlan] = true
	}
	chosen := make([]trunks.Subport, len(all))
	for i, j := range all {
		vlan := int(j.allocation.VLAN)
		if vlan == 0 || used[vlan] {
			vlan = w.unused(used, j.port)
		}
		if vlan == 0 {
			return nil, fmt.Errorf("%w: all VLANs of the trunk %s are in use", network.ErrRefused, t.id)
		}
		used[vlan] = true
		chosen[i] = trunks.Subport{PortID: j.port.ID, SegmentationType: "vlan", SegmentationID: vlan}
	}
	return chosen, nil
}

// unused returns a VLAN that is not in use, or 0. The ID of the port decides where the search begins, so that a VLAN is
// seldom used again soon, even by another server.
func (w *work) unused(used map[int]bool, port *ports.Port) int {
	d, lately := w.cloud.definition.Trunk, 0
	size := d.LastVLAN - d.FirstVLAN + 1
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(port.ID)) // a hash takes everything
	begin := int(hash.Sum32() % uint32(size))
	for i := range size {
		vlan := d.FirstVLAN + (begin+i)%size
		if used[vlan] {
			continue
		}
		if _, released := w.cloud.released.Get(vlanOf{w.mac, vlan}); !released {
			return vlan
		}
		if lately == 0 {
			lately = vlan
		}
	}
	return lately
}

// giveUp ends jobs. The service takes a refusal as a sign that there is nothing in the cloud, so the ports are deleted
// before; if that fails, the outcome is unknown.
func (w *work) giveUp(ctx context.Context, all []*job, err error) {
	for _, j := range all {
		if j.vlan = 0; j.port == nil || !errors.Is(err, network.ErrRefused) {
			j.end(network.Binding{}, err)
			continue
		}
		if deleting := w.deletePort(ctx, j.port.ID); deleting != nil {
			j.end(network.Binding{}, fmt.Errorf("%w, after %s", deleting, err.Error()))
			continue
		}
		j.end(network.Binding{}, err)
	}
}
