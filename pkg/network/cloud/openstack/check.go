// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// Result is the result of one test of Check. Err is nil if nothing is missing.
type Result struct {
	Name string
	// Detail is additional text for a successful test.
	Detail string
	Err    error
}

// Check tests whether ports can be bound: the credentials, the declared objects, permissions, extensions, and quotas. With
// the MAC address of a node's NIC, it also looks for its trunk. It changes nothing.
func (c *Cloud) Check(ctx context.Context, nic string) []Result {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	n, err := c.neutron(ctx)
	results := []Result{{Name: "credentials and endpoint of Neutron", Err: err}}
	if err != nil {
		return results
	}
	d := c.definition
	read := func(name string, path ...string) {
		results = append(results, Result{Name: name, Err: n.read(ctx, path...)})
	}
	read("network "+d.NetworkID, "networks", d.NetworkID)
	for _, id := range d.SubnetIDs {
		read("subnet "+id, "subnets", id)
	}
	for _, id := range d.SecurityGroupIDs {
		read("security group "+id, "security-groups", id)
	}
	_, err = n.listPorts(ctx, query{"name": {d.NamePrefix + "-"}, "fields": {"id"}})
	results = append(results, Result{Name: "permission to list ports", Err: err}, n.checkCreation(ctx, d))
	if d.Trunk != nil {
		read("extension trunk", "extensions", "trunk")
		read("permission to list trunks", "trunks?limit=1")
		if d.Trunk.Warm > 0 {
			read("extension revision-if-match", "extensions", "revision-if-match")
		}
		if nic != "" {
			results = append(results, n.checkNIC(ctx, nic, d.Trunk.Create))
		}
	}
	return append(results, n.checkQuotas(ctx, d.Trunk != nil)...)
}

// read reads an object or a list.
func (n neutron) read(ctx context.Context, path ...string) error {
	var body map[string]any
	//nolint:bodyclose // gophercloud closes the body when it has decoded it
	_, err := n.client.Get(ctx, n.client.ServiceURL(path...), &body, nil)
	return n.observer.failure("reading", err)
}

// nowhere is an ID that no subnet has.
const nowhere = "00000000-0000-0000-0000-000000000000"

// checkCreation requests a port in a subnet that does not exist. Neutron first checks permissions.
func (n neutron) checkCreation(ctx context.Context, d *Definition) Result {
	result, at := Result{Name: "permission to create ports"}, ports.IP{SubnetID: nowhere}
	if len(d.SubnetIDs) == 0 {
		at.IPAddress = "192.0.2.1" // a permission of its own
	}
	made, err := n.createPort(ctx, ports.CreateOpts{NetworkID: d.NetworkID, Name: d.NamePrefix + "-check", FixedIPs: []ports.IP{at}})
	switch status := statusOf(err); {
	case err == nil:
		result.Err = n.deletePort(ctx, made.ID)
	case errors.Is(err, errOverQuota): // Neutron checks quotas before permissions
		result.Err = errors.New("not tested, because the quota of ports is used up")
	case status == 0, status == http.StatusForbidden, status >= http.StatusInternalServerError:
		result.Err = err
	}
	return result
}

// checkNIC looks for the trunk of a node's NIC. One that is missing is no error if it may be created.
func (n neutron) checkNIC(ctx context.Context, mac string, create bool) Result {
	result := Result{Name: "trunk of the NIC " + mac}
	found, err := n.parents(ctx, mac)
	switch {
	case err != nil:
		result.Err = err
	case len(found) != 1:
		result.Err = fmt.Errorf("%d ports of the project have this MAC address", len(found))
	case found[0].TrunkID != "":
		result.Detail = fmt.Sprintf("%s, %d sub-ports", found[0].TrunkID, len(found[0].SubPorts))
	case create:
		result.Detail = "none yet; the first allocation creates it"
	default:
		result.Err = fmt.Errorf("the port %s has no trunk: create one, or write trunk.create: true", found[0].ID)
	}
	return result
}

// checkQuotas compares the used ports and trunks with the quotas of the project. It compares nothing
// if the cloud lacks the extension for details of quotas.
func (n neutron) checkQuotas(ctx context.Context, withTrunks bool) []Result {
	var project *tokens.Project
	if token, ok := n.client.ProviderClient.GetAuthResult().(tokens.CreateResult); ok {
		project, _ = token.ExtractProject() // a token without a project is reported below
	}
	if project == nil {
		return []Result{{Name: "quotas", Err: errors.New("the credentials are not scoped to a project")}}
	}
	details, err := quotas.GetDetail(ctx, n.client, project.ID).Extract()
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return []Result{{Name: "quotas", Detail: "unknown: Neutron has no extension quota_details"}}
	case err != nil:
		return []Result{{Name: "quotas", Err: n.observer.failure("reading quotas", err)}}
	}
	results := []Result{quotaResult("ports", details.Port)}
	if withTrunks {
		results = append(results, quotaResult("trunks", details.Trunk))
	}
	return results
}

func quotaResult(of string, q quotas.QuotaDetail) Result {
	used := q.Used + q.Reserved
	result := Result{Name: "quota of " + of, Detail: fmt.Sprintf("%d used, no limit", used)}
	if q.Limit >= 0 {
		result.Detail = fmt.Sprintf("%d of %d used", used, q.Limit)
	}
	if q.Limit >= 0 && used >= q.Limit {
		result.Err = fmt.Errorf("%s: the quota is used up", result.Detail)
	}
	return result
}
