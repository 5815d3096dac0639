// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// work is one batch for a trunk.
type work struct {
	neutron
	cloud *Cloud
	// mac is the MAC address of the node's NIC, or "".
	mac string
}

// reference identifies a port in the ledger.
type reference struct {
	Port string `json:"port"`
}

// referenceOf returns the reference of an allocation; it is empty after a crash.
func referenceOf(a network.Allocation) (known reference) {
	if json.Unmarshal(a.Binding.Reference, &known) != nil {
		return reference{}
	}
	return known
}

// errUnfinished is the error of a job that was not ended, which is a bug.
var errUnfinished = errors.New("the port was not bound")

// bind creates the ports that are missing and attaches those that are not attached. It ends each job, or fails if all
// fail for the same reason.
func (w *work) bind(ctx context.Context, batch []*job) error {
	if err := w.adopt(ctx, batch); err != nil {
		return err
	}
	var t *trunk
	if w.cloud.definition.Trunk != nil {
		var err error
		if t, err = w.findTrunk(ctx); err != nil {
			w.giveUp(ctx, batch, err)
			return err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(batch), func(j *job) bool { return j.port != nil })
	if t != nil && w.cloud.definition.Trunk.Warm > 0 && !batch[0].refill && len(missing) > 0 {
		missing = w.takeWarm(ctx, t, missing)
	}
	w.create(ctx, missing)
	created := slices.DeleteFunc(slices.Clone(batch), func(j *job) bool { return j.port == nil })
	if t != nil {
		w.attach(ctx, t, created, 0)
		created = slices.DeleteFunc(created, func(j *job) bool { return j.vlan == 0 })
	}
	return w.answer(ctx, created)
}

// owned returns the ports of allocations, sorted by ID: those with their names. If the name of a port was changed, it is
// found by its reference in the ledger, unless its description was changed as well, because it belongs to another user
// then.
func (w *work) owned(ctx context.Context, batch []*job) (map[*job][]ports.Port, error) {
	owned, names, ids := map[*job][]ports.Port{}, query{}, query{}
	for _, j := range batch {
		names["name"] = append(names["name"], w.cloud.portName(j.allocation))
	}
	found, err := w.listPorts(ctx, names)
	slices.SortFunc(found, func(a, b ports.Port) int { return strings.Compare(a.ID, b.ID) })
	for i, j := range batch {
		for _, p := range found {
			if p.Name == names["name"][i] {
				owned[j] = append(owned[j], p)
			}
		}
		if id := referenceOf(j.allocation).Port; id != "" && owned[j] == nil {
			ids["id"] = append(ids["id"], id)
		}
	}
	if err != nil || len(ids) == 0 {
		return owned, err
	}
	found, err = w.listPorts(ctx, ids)
	for _, j := range batch {
		for _, p := range found {
			if p.ID == referenceOf(j.allocation).Port && p.Description == w.cloud.description(j.allocation) {
				owned[j] = []ports.Port{p}
			}
		}
	}
	return owned, err
}

// adopt finds the ports that earlier attempts have created.
func (w *work) adopt(ctx context.Context, batch []*job) error {
	owned, err := w.owned(ctx, batch)
	for j, mine := range owned {
		// A lost answer may leave two ports, where Neutron chooses the addresses. All attempts take the same one.
		known := referenceOf(j.allocation).Port
		j.port = &mine[max(0, slices.IndexFunc(mine, func(p ports.Port) bool { return p.ID == known }))]
	}
	return err
}

// create creates ports, all in one request if Neutron supports it. If it refuses some of them, the remaining ones are
// created one by one.
func (w *work) create(ctx context.Context, missing []*job) {
	if len(missing) > 1 && len(w.cloud.definition.AllowedAddressPairs) == 0 {
		options := make([]ports.CreateOpts, len(missing))
		for i, j := range missing {
			options[i] = w.options(j.allocation)
		}
		made, err := w.createPorts(ctx, options)
		switch status := statusOf(err); {
		case err == nil:
			for i, j := range missing {
				j.port = &made[i]
			}
		case status >= http.StatusInternalServerError:
			// Neutron answers 500 to requests for several ports if security groups are disabled.
			err = w.adopt(ctx, missing)
		case status > 0 || errors.Is(err, errOverQuota):
			err = nil
		}
		if err != nil {
			w.giveUp(ctx, missing, err)
			return
		}
	}
	for _, j := range missing {
		if j.port == nil {
			w.createOne(ctx, j)
		}
	}
}

// createOne creates a port, or ends its job.
func (w *work) createOne(ctx context.Context, j *job) {
	made, err := w.createPort(ctx, w.options(j.allocation))
	if err == nil {
		j.port = made
		return
	}
	err = refusal(err, w.cloud.definition.NetworkID)
	if errors.Is(err, network.ErrInUse) {
		// The address may be in use by the port of an earlier attempt that was not yet visible.
		err = cmp.Or(w.adopt(ctx, []*job{j}), err)
	}
	if j.port == nil {
		j.end(network.Binding{}, err)
	}
}

// options returns the port of an allocation.
func (w *work) options(a network.Allocation) ports.CreateOpts {
	d, fixed := w.cloud.definition, []ports.IP{}
	for _, address := range a.Addresses {
		fixed = append(fixed, ports.IP{IPAddress: address.String()})
	}
	if len(a.Addresses) == 0 {
		for _, id := range d.SubnetIDs {
			fixed = append(fixed, ports.IP{SubnetID: id})
		}
	}
	o := ports.CreateOpts{
		NetworkID: d.NetworkID, Name: w.cloud.portName(a), Description: w.cloud.description(a), FixedIPs: fixed,
	}
	if len(a.MAC) > 0 {
		o.MACAddress = a.MAC.String()
	}
	if d.SecurityGroupIDs != nil {
		o.SecurityGroups = &d.SecurityGroupIDs
	}
	for _, prefix := range d.AllowedAddressPairs {
		o.AllowedAddressPairs = append(o.AllowedAddressPairs, ports.AddressPair{IPAddress: prefix.String()})
	}
	return o
}

// refusal returns the error for the service: whether the address is in use, the subnet is exhausted, or the request is
// rejected. Other errors are returned as they are; their outcome is unknown.
func refusal(err error, networkID string) error {
	e, ok := errors.AsType[*apiError](err)
	switch {
	case !ok:
		return err
	case e.kind == "IpAddressAlreadyAllocated", e.kind == "IpAddressInUse", e.kind == "MacAddressInUse":
		return fmt.Errorf("%w: %w", network.ErrInUse, e)
	case strings.HasPrefix(e.kind, "IpAddressGenerationFailure"), e.kind == "NoMoreIps":
		return fmt.Errorf("%w: %w: %w", network.ErrRefused, network.ErrExhausted, e)
	case e.kind == "NetworkNotFound":
		return fmt.Errorf("%w: networkID %s: %w", network.ErrRefused, networkID, e)
	case slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict}, e.status):
		return fmt.Errorf("%w: %w", network.ErrRefused, e)
	default:
		return err
	}
}

// answer completes jobs with the ports in Neutron.
func (w *work) answer(ctx context.Context, bound []*job) error {
	d := w.cloud.definition
	var of details
	var err error
	if len(bound) > 0 && (d.Trunk == nil || len(d.SubnetIDs) > 0) {
		if of, err = w.network(ctx, d.NetworkID); err != nil {
			return err
		}
	}
	for _, j := range bound {
		made := network.Binding{VLAN: uint16(j.vlan), MTU: of.MTU}
		if err := made.MAC.UnmarshalText([]byte(j.port.MACAddress)); err != nil {
			j.end(made, fmt.Errorf("reading the MAC address of the port %s: %w", j.port.ID, err))
			continue
		}
		made.Reference, _ = json.Marshal(reference{j.port.ID}) // it has only strings
		if len(d.SubnetIDs) > 0 {
			err = describe(&made, j.port.FixedIPs, of.subnets)
		}
		j.end(made, err)
	}
	return nil
}

// describe adds the addresses that Neutron has chosen, with their gateways and routes.
func describe(made *network.Binding, all []ports.IP, known map[string]subnets.Subnet) error {
	for _, fixed := range all {
		subnet := known[fixed.SubnetID]
		address, err := netip.ParseAddr(fixed.IPAddress)
		prefix, parsing := netip.ParsePrefix(subnet.CIDR)
		if err = errors.Join(err, parsing); err != nil {
			return fmt.Errorf("reading the addresses of a port: %w", err)
		}
		made.Addresses = append(made.Addresses, netip.PrefixFrom(address.Unmap(), prefix.Bits()))
		if gateway, err := netip.ParseAddr(subnet.GatewayIP); err == nil {
			made.Gateways = append(made.Gateways, gateway)
		}
		for _, route := range subnet.HostRoutes {
			to, err := netip.ParsePrefix(route.DestinationCIDR)
			by, parsing := netip.ParseAddr(route.NextHop)
			if err = errors.Join(err, parsing); err != nil {
				return fmt.Errorf("reading the routes of the subnet %s: %w", subnet.ID, err)
			}
			made.Routes = append(made.Routes, network.Route{Destination: to.Masked(), Gateway: by})
		}
	}
	return nil
}

// unbind detaches and deletes all ports of the allocations. A job without ports is done.
func (w *work) unbind(ctx context.Context, batch []*job) error {
	owned, err := w.owned(ctx, batch)
	if err != nil {
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

// detach removes ports from the trunk of the node's NIC, all at once. Those on other trunks are left to deletePort.
func (w *work) detach(ctx context.Context, owned map[*job][]ports.Port) error {
	if w.mac == "" || len(owned) == 0 {
		return nil
	}
	ids := map[string]bool{}
	for _, all := range owned {
		for _, p := range all {
			ids[p.ID] = true
		}
	}
	found, err := w.parents(ctx, w.mac)
	for _, nic := range found {
		var attached []string
		for _, s := range nic.SubPorts {
			if ids[s.PortID] {
				attached = append(attached, s.PortID)
			}
		}
		if len(attached) > 0 {
			err = errors.Join(err, w.removeSubports(ctx, nic.TrunkID, attached...))
		}
	}
	return err
}

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
	if statusOf(err) == http.StatusConflict {
		// Another server has created it, unless the port cannot have one.
		if found, again := w.parents(ctx, w.mac); again == nil && len(found) == 1 && found[0].TrunkID != "" {
			return w.findTrunk(ctx)
		}
	}
	if err != nil {
		return nil, refusal(err, w.cloud.definition.NetworkID)
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
	if status := statusOf(err); status == 0 || status >= http.StatusInternalServerError {
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
		w.giveUp(ctx, missing, refusal(err, w.cloud.definition.NetworkID))
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
		j.vlan = 0
		failed := err
		if j.port != nil && errors.Is(err, network.ErrRefused) {
			if deleting := w.deletePort(ctx, j.port.ID); deleting != nil {
				failed = fmt.Errorf("%w, after %s", deleting, err.Error())
			}
		}
		j.end(network.Binding{}, failed)
	}
}
