// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// request is the body of GetProfileConfig and ReleaseProfileConfig. Older clients send claim_uid. Newer ones send the
// whole claim, except in a release.
type request struct {
	Device   device.Device `json:"device"`
	ClaimUID string        `json:"claim_uid"`
	Claim    claim         `json:"claim"`
	Config   device.Config `json:"config"`
}

// claim holds the required fields of a ResourceClaim (resource.k8s.io/v1).
type claim struct {
	Metadata struct {
		UID         string            `json:"uid"`
		Namespace   string            `json:"namespace"`
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Status struct {
		Allocation struct {
			Devices struct {
				// Results are the devices that were allocated to the claim. DRANET names its pools after their nodes.
				Results []struct {
					Driver string `json:"driver"`
					Pool   string `json:"pool"`
				} `json:"results"`
			} `json:"devices"`
		} `json:"allocation"`
		ReservedFor []struct {
			Resource string `json:"resource"`
			Name     string `json:"name"`
			UID      string `json:"uid"`
		} `json:"reservedFor"`
	} `json:"status"`
}

// driver is DRANET's name in a claim, which can also contain devices of other drivers.
const driver = "dra.net"

// longestText limits stored names, in bytes: the length of a DNS subdomain (k8s.io/apimachinery,
// DNS1123SubdomainMaxLength).
const longestText = 253

// uid returns the UID of the claim, and the field that has it. It fails for an invalid UID or name of the device.
func (r *request) uid() (uid, field string, err error) {
	uid, field = r.ClaimUID, "claim_uid"
	if r.Claim.Metadata.UID != "" {
		if uid != "" && uid != r.Claim.Metadata.UID {
			return "", "", badRequest("claim_uid and claim.metadata.uid are different")
		}
		uid, field = r.Claim.Metadata.UID, "claim.metadata.uid"
	}
	switch {
	case uid == "":
		return "", "", badRequest("the request names no claim: it has neither claim_uid nor claim.metadata.uid")
	case !isName(uid) || strings.Contains(uid, "/"):
		return "", "", badRequest("%s is not a UID", field)
	}
	return uid, field, checkDevice(r.Device)
}

// isName reports whether a text is usable as a name.
func isName(text string) bool {
	return len(text) <= longestText && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// checkDevice returns an error for a name of a device that cannot be stored.
func checkDevice(d device.Device) error {
	for _, name := range [][2]string{{"name", d.Name}, {"pci_address", d.PCI}, {"mac_address", d.MAC}} {
		if !isName(name[1]) {
			return badRequest("the %s of the device is longer than %d bytes, or cannot be printed", name[0], longestText)
		}
	}
	return nil
}

// nodes returns the nodes of DRANET's devices of the claim, one for each device, if the caller lists them.
func (r *request) nodes() []string {
	var nodes []string
	for _, one := range r.Claim.Status.Allocation.Devices.Results {
		if one.Driver == driver {
			nodes = append(nodes, one.Pool)
		}
	}
	return nodes
}

// listed returns the valid addresses of the configuration.
func (r *request) listed() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range r.Config.Interface.Addresses {
		if prefix, err := device.ParsePrefix(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// addresses returns the valid addresses of the configuration, without the lengths of their subnets.
func (r *request) addresses() []netip.Addr {
	var all []netip.Addr
	for _, prefix := range r.listed() {
		all = append(all, prefix.Addr())
	}
	return all
}

// holder returns the claim for the ledger.
func (r *request) holder(uid, node string, s search) network.Holder {
	return network.Holder{
		Kind: "ResourceClaim", Namespace: r.Claim.Metadata.Namespace, Name: r.Claim.Metadata.Name, UID: uid, Node: node,
		Device: cmp.Or(r.Device.Name, s.who[kindPCI], s.who[kindMAC]), Aliases: s.aliases(),
	}
}

// subject returns the request for expressions.
func (r *request) subject(uid, node string) policy.Subject {
	d, m := canonical(r.Device), r.Claim.Metadata
	s := policy.Subject{
		Contract: contract, Profile: r.Config.Profile, Node: node, Parent: d.MAC, Device: d, Config: r.Config, Addresses: r.addresses(),
		Claim: &policy.Claim{UID: uid, Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Annotations: m.Annotations},
	}
	for _, c := range r.Claim.Status.ReservedFor {
		if c.Resource == "pods" {
			s.Claim.Pods = append(s.Claim.Pods, c.UID)
			s.Pod = &policy.Pod{UID: c.UID, Namespace: m.Namespace, Name: c.Name}
		}
	}
	if len(s.Claim.Pods) != 1 {
		s.Pod = nil
	}
	return s
}

// checkNames returns an error that lists the invalid names in a request to allocate, with their fields. A release stores
// nothing and is not checked, so that older allocations can be released under the same names.
func (r *request) checkNames(uid, uidField string) error {
	var f api.Faults
	if _, err := net.ParseMAC(r.Device.MAC); err != nil && r.Device.MAC != "" {
		f.Add("device.mac_address", errors.New("must be a MAC address"))
	}
	f.Add(uidField, api.CheckUID(uid))
	f.Add("claim.metadata.namespace", api.CheckNamespace(r.Claim.Metadata.Namespace))
	f.Add("claim.metadata.name", api.CheckName(r.Claim.Metadata.Name))
	for i, one := range r.Claim.Status.Allocation.Devices.Results {
		if one.Driver == driver { // other drivers may use any pool names
			f.Add(fmt.Sprintf("claim.status.allocation.devices.results[%d].pool", i), api.CheckName(one.Pool))
		}
	}
	for i, one := range r.Claim.Status.ReservedFor {
		field := fmt.Sprintf("claim.status.reservedFor[%d]", i)
		f.Add(field+".name", api.CheckName(one.Name))
		f.Add(field+".uid", api.CheckUID(one.UID))
	}
	return f.Problem()
}
