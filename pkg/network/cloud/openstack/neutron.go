// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunk_details"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// neutron calls Neutron. Its methods return the errors of observer.failure.
type neutron struct {
	client   *gophercloud.ServiceClient
	observer *observer
}

// query is a query of a list. Neutron allows several values for one field, which gophercloud's options do not.
type query url.Values

// ToPortListQuery implements ports.ListOptsBuilder.
func (q query) ToPortListQuery() (string, error) { return "?" + url.Values(q).Encode(), nil }

// list returns all objects of a kind, such as ports.
func list[T any](ctx context.Context, n neutron, doing, kind string, all pagination.Pager) (found []T, err error) {
	pages, err := all.AllPages(ctx)
	if page, ok := pages.(interface {
		ExtractIntoSlicePtr(to any, label string) error
	}); ok && err == nil {
		err = page.ExtractIntoSlicePtr(&found, kind)
	}
	return found, n.observer.failure(doing, err)
}

// listPorts returns all ports that match.
func (n neutron) listPorts(ctx context.Context, q query) ([]ports.Port, error) {
	return list[ports.Port](ctx, n, "listing ports", "ports", ports.List(n.client, q))
}

// createPort creates a port.
func (n neutron) createPort(ctx context.Context, options ports.CreateOpts) (*ports.Port, error) {
	made, err := ports.Create(ctx, n.client, options).Extract()
	return made, n.observer.failure("creating a port", err)
}

// createPorts creates all ports or none. The answer has the order of the request. Neutron ignores allowed address pairs
// in such a request.
func (n neutron) createPorts(ctx context.Context, all []ports.CreateOpts) ([]ports.Port, error) {
	doing, bodies := "creating ports", make([]any, len(all))
	for i, options := range all {
		body, err := options.ToPortCreateMap()
		if err != nil {
			return nil, n.observer.failure(doing, err)
		}
		bodies[i] = body["port"]
	}
	var answer struct {
		Ports []ports.Port `json:"ports"`
	}
	//nolint:bodyclose // gophercloud closes the body when it has decoded it
	_, err := n.client.Post(ctx, n.client.ServiceURL("ports"), map[string]any{"ports": bodies}, &answer, nil)
	if err == nil && len(answer.Ports) != len(all) {
		err = errors.New("the answer has another number of ports than requested")
	}
	return answer.Ports, n.observer.failure(doing, err)
}

// updatePort changes a port if it still has the revision of the change.
func (n neutron) updatePort(ctx context.Context, id string, change ports.UpdateOpts) (*ports.Port, error) {
	made, err := ports.Update(ctx, n.client, id, change).Extract()
	return made, n.observer.failure("updating a port", err)
}

// deletePort deletes a port; one that is missing is no error. If it is attached to a trunk, it is detached first.
func (n neutron) deletePort(ctx context.Context, id string) error {
	err := n.observer.failure("deleting a port", ports.Delete(ctx, n.client, id).ExtractErr())
	answered, ok := errors.AsType[*apiError](err)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return nil
	case !ok || answered.kind != "PortInUseAsSubPort":
		return err
	}
	attached, listing := n.listSubports(ctx)
	if attached[id] == "" { // another project may have the trunk
		return cmp.Or(listing, err)
	}
	if err := n.removeSubports(ctx, attached[id], id); err != nil {
		return err
	}
	return n.deletePort(ctx, id)
}

// parent is the port of a NIC, which can have a trunk.
type parent struct {
	ID        string     `json:"id"`
	NetworkID string     `json:"network_id"`
	FixedIPs  []ports.IP `json:"fixed_ips"`
	trunk_details.TrunkDetailsExt
	// PortSecurity is nil if Neutron does not have that extension.
	PortSecurity *bool `json:"port_security_enabled"`
}

// parents returns the ports with a MAC address. A MAC address is unique within a network only.
func (n neutron) parents(ctx context.Context, mac string) ([]parent, error) {
	return list[parent](ctx, n, "finding the port of the node's NIC", "ports", ports.List(n.client, query{"mac_address": {mac}}))
}

// createTrunk creates a trunk without sub-ports.
func (n neutron) createTrunk(ctx context.Context, parentID, name string) (*trunks.Trunk, error) {
	options := trunks.CreateOpts{PortID: parentID, Name: name, Description: "created by Graft for the NIC of a node"}
	made, err := trunks.Create(ctx, n.client, options).Extract()
	return made, n.observer.failure("creating a trunk", err)
}

// addSubports attaches all ports or none.
func (n neutron) addSubports(ctx context.Context, trunk string, all []trunks.Subport) error {
	_, err := trunks.AddSubports(ctx, n.client, trunk, trunks.AddSubportsOpts{Subports: all}).Extract()
	return n.observer.failure("adding sub-ports to a trunk", err)
}

// removeSubports detaches ports; one that is not attached is no error.
func (n neutron) removeSubports(ctx context.Context, trunk string, ids ...string) error {
	all := make([]trunks.RemoveSubport, len(ids))
	for i, id := range ids {
		all[i].PortID = id
	}
	_, err := trunks.RemoveSubports(ctx, n.client, trunk, trunks.RemoveSubportsOpts{Subports: all}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return n.observer.failure("removing sub-ports from a trunk", err)
	}
	var problems []error
	if len(ids) > 1 { // Neutron has removed none, because one of them is missing
		for _, id := range ids {
			problems = append(problems, n.removeSubports(ctx, trunk, id))
		}
	}
	return errors.Join(problems...)
}

// listSubports returns the trunks of all sub-ports, by the IDs of the ports.
func (n neutron) listSubports(ctx context.Context) (map[string]string, error) {
	found, err := list[trunks.Trunk](ctx, n, "listing trunks", "trunks", trunks.List(n.client, trunks.ListOpts{}))
	attached := map[string]string{}
	for _, t := range found {
		for _, s := range t.Subports {
			attached[s.PortID] = t.ID
		}
	}
	return attached, err
}

// details are the fields of a network that are read. MTU is 0 if Neutron lacks the extension.
type details struct {
	Name    string                    `json:"name"`
	MTU     int32                     `json:"mtu"`
	subnets map[string]subnets.Subnet // by ID
}

// network reads a network and its subnets.
func (n neutron) network(ctx context.Context, id string) (of details, err error) {
	if err = networks.Get(ctx, n.client, id).ExtractInto(&of); err != nil {
		return of, n.observer.failure("reading a network", err)
	}
	options := subnets.ListOpts{NetworkID: id}
	found, err := list[subnets.Subnet](ctx, n, "listing subnets", "subnets", subnets.List(n.client, options))
	of.subnets = map[string]subnets.Subnet{}
	for _, subnet := range found {
		of.subnets[subnet.ID] = subnet
	}
	return of, err
}
