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

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

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
	// Claim.Status lists the devices of the claim. DRANET names its pools after their nodes.
	Claim  resourcev1.ResourceClaim `json:"claim"`
	Config device.Config            `json:"config"`
}

// driver is DRANET's name in a claim, which can also contain devices of other drivers.
const driver = "dra.net"

// longestText limits stored names, in bytes: the length of a DNS subdomain (k8s.io/apimachinery,
// DNS1123SubdomainMaxLength).
const longestText = 253

// uid returns the UID of the claim, and the field that has it. It fails for an invalid UID or name of the device.
func (r *request) uid() (uid, field string, err error) {
	uid, field = r.ClaimUID, "claim_uid"
	if sent := string(r.Claim.UID); sent != "" {
		if uid != "" && uid != sent {
			return "", "", badRequest("claim_uid and claim.metadata.uid are different")
		}
		uid, field = sent, "claim.metadata.uid"
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

// results returns the allocated devices of the claim, if the caller lists them.
func (r *request) results() []resourcev1.DeviceRequestAllocationResult {
	return ptr.Deref(r.Claim.Status.Allocation, resourcev1.AllocationResult{}).Devices.Results
}

// nodes returns the nodes of DRANET's devices of the claim, one for each device, if the caller lists them.
func (r *request) nodes() []string {
	var nodes []string
	for _, one := range r.results() {
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
		Kind: "ResourceClaim", Namespace: r.Claim.Namespace, Name: r.Claim.Name, UID: uid, Node: node,
		Device: cmp.Or(r.Device.Name, s.who[kindPCI], s.who[kindMAC]), Aliases: s.aliases(),
	}
}

// subject returns the request for expressions.
func (r *request) subject(uid, node string) policy.Subject {
	d, m := canonical(r.Device), r.Claim.ObjectMeta
	s := policy.Subject{
		Contract: contract, Profile: r.Config.Profile, Node: node, Parent: d.MAC, Device: d, Config: r.Config, Addresses: r.addresses(),
		Claim: &policy.Claim{UID: uid, Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Annotations: m.Annotations},
	}
	for _, c := range r.Claim.Status.ReservedFor {
		if c.Resource == "pods" {
			s.Claim.Pods = append(s.Claim.Pods, string(c.UID))
			s.Pod = &policy.Pod{UID: string(c.UID), Namespace: m.Namespace, Name: c.Name}
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
	f.Add("claim.metadata.namespace", api.CheckNamespace(r.Claim.Namespace))
	f.Add("claim.metadata.name", api.CheckName(r.Claim.Name))
	for i, one := range r.results() {
		if one.Driver == driver { // other drivers may use any pool names
			f.Add(fmt.Sprintf("claim.status.allocation.devices.results[%d].pool", i), api.CheckName(one.Pool))
		}
	}
	for i, one := range r.Claim.Status.ReservedFor {
		field := fmt.Sprintf("claim.status.reservedFor[%d]", i)
		f.Add(field+".name", api.CheckName(one.Name))
		f.Add(field+".uid", api.CheckUID(string(one.UID)))
	}
	return f.Problem()
}
