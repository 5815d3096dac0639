// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
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
)

// neutron makes calls of Neutron. Its errors are those of observer.failure.
type neutron struct {
	client   *gophercloud.ServiceClient
	observer *observer
}

// query is a query of a list. Neutron allows several values for one field, which gophercloud's options do not.
type query url.Values

// ToPortListQuery implements ports.ListOptsBuilder.
func (q query) ToPortListQuery() (string, error) { return "?" + url.Values(q).Encode(), nil }

// listPorts returns all ports that match.
func (n neutron) listPorts(ctx context.Context, q query) ([]ports.Port, error) {
	pages, err := ports.List(n.client, q).AllPages(ctx)
	if err != nil {
		return nil, n.observer.failure("listing ports", err)
	}
	found, err := ports.ExtractPorts(pages)
	return found, n.observer.failure("listing ports", err)
}

// port returns a port by its ID, and false if there is none.
func (n neutron) port(ctx context.Context, id string) (*ports.Port, bool, error) {
	found, err := ports.Get(ctx, n.client, id).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, false, nil
	}
	return found, err == nil, n.observer.failure("reading a port", err)
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
		err = errors.New("the answer has another number of ports than the request")
	}
	return answer.Ports, n.observer.failure(doing, err)
}

// deletePort deletes a port; one that is missing is no error.
func (n neutron) deletePort(ctx context.Context, id string) error {
	err := ports.Delete(ctx, n.client, id).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return n.observer.failure("deleting a port", err)
}

// parent is a port that can have a trunk.
type parent struct {
	ID string `json:"id"`
	trunk_details.TrunkDetailsExt
}

// parents returns the ports with a MAC address. A MAC address is unique within a network only.
func (n neutron) parents(ctx context.Context, mac string) ([]parent, error) {
	pages, err := ports.List(n.client, query{"mac_address": {mac}, "fields": {"id", "trunk_details"}}).AllPages(ctx)
	var found []parent
	if err == nil {
		err = ports.ExtractPortsInto(pages, &found)
	}
	return found, n.observer.failure("finding the port of the node's NIC", err)
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

// removeSubports detaches all ports or none.
func (n neutron) removeSubports(ctx context.Context, trunk string, ids []string) error {
	all := make([]trunks.RemoveSubport, len(ids))
	for i, id := range ids {
		all[i].PortID = id
	}
	_, err := trunks.RemoveSubports(ctx, n.client, trunk, trunks.RemoveSubportsOpts{Subports: all}).Extract()
	return n.observer.failure("removing sub-ports from a trunk", err)
}

// listSubports returns the trunks of all sub-ports, by the IDs of the ports.
func (n neutron) listSubports(ctx context.Context) (map[string]string, error) {
	pages, err := trunks.List(n.client, trunks.ListOpts{}).AllPages(ctx)
	var found []trunks.Trunk
	if err == nil {
		found, err = trunks.ExtractTrunks(pages)
	}
	attached := map[string]string{}
	for _, t := range found {
		for _, s := range t.Subports {
			attached[s.PortID] = t.ID
		}
	}
	return attached, n.observer.failure("listing trunks", err)
}

// mtu returns the MTU of a network, or 0 if Neutron does not have that extension.
func (n neutron) mtu(ctx context.Context, network string) (int32, error) {
	var details struct {
		MTU int32 `json:"mtu"`
	}
	err := networks.Get(ctx, n.client, network).ExtractInto(&details)
	return details.MTU, n.observer.failure("reading a network", err)
}

// subnets returns the subnets of a network by their IDs.
func (n neutron) subnets(ctx context.Context, network string) (map[string]subnets.Subnet, error) {
	pages, err := subnets.List(n.client, subnets.ListOpts{NetworkID: network}).AllPages(ctx)
	var found []subnets.Subnet
	if err == nil {
		found, err = subnets.ExtractSubnets(pages)
	}
	byID := map[string]subnets.Subnet{}
	for _, subnet := range found {
		byID[subnet.ID] = subnet
	}
	return byID, n.observer.failure("listing subnets", err)
}
