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
	Device   device.Device  `json:"device"`
	ClaimUID string         `json:"claim_uid"`
	Claim    *claim         `json:"claim"`
	Config   *device.Config `json:"config"`
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
				Results []result `json:"results"`
			} `json:"devices"`
		} `json:"allocation"`
		ReservedFor []consumer `json:"reservedFor"`
	} `json:"status"`
}

// result is a device that was allocated to the claim. DRANET names its pools after their nodes.
type result struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type consumer struct {
	Resource string `json:"resource"`
	Name     string `json:"name"`
	UID      string `json:"uid"`
}

// driver is DRANET's name in a claim, which can also contain devices of other drivers.
const driver = "dra.net"

// longestText limits stored names, in bytes: the length of a DNS subdomain (k8s.io/apimachinery,
// DNS1123SubdomainMaxLength).
const longestText = 253

// uid returns the UID of the claim from the field that has it.
func (r *request) uid() (string, error) {
	uid, field := r.ClaimUID, "claim_uid"
	if r.Claim != nil && r.Claim.Metadata.UID != "" {
		if uid != "" && uid != r.Claim.Metadata.UID {
			return "", badRequest("claim_uid and claim.metadata.uid are different")
		}
		uid, field = r.Claim.Metadata.UID, "claim.metadata.uid"
	}
	switch {
	case uid == "":
		return "", badRequest("the request names no claim: it has neither claim_uid nor claim.metadata.uid")
	case !isName(uid) || strings.Contains(uid, "/"):
		return "", badRequest("%s is not a UID", field)
	}
	return uid, nil
}

// isName reports whether a text is usable as a name.
func isName(text string) bool {
	return len(text) <= longestText && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

func checkDevice(d device.Device) error {
	for field, text := range map[string]string{"name": d.Name, "pci_address": d.PCI, "mac_address": d.MAC} {
		if !isName(text) {
			return badRequest("the %s of the device is longer than %d bytes, or cannot be printed", field, longestText)
		}
	}
	return nil
}

// ownResults returns DRANET's devices of the claim, if the caller lists them.
func (r *request) ownResults() []result {
	if r.Claim == nil {
		return nil
	}
	var results []result
	for _, one := range r.Claim.Status.Allocation.Devices.Results {
		if one.Driver == driver {
			results = append(results, one)
		}
	}
	return results
}

// hasOneDevice reports whether the claim is known to have exactly one device of DRANET.
func (r *request) hasOneDevice() bool { return len(r.ownResults()) == 1 }

// node returns the node of the device, or "" if it is unknown.
func (r *request) node(served string) string {
	for _, one := range r.ownResults() {
		if served == "" {
			return one.Pool
		}
	}
	return served
}

// config returns the requested configuration, or an empty one.
func (r *request) config() device.Config {
	if r.Config == nil {
		return device.Config{}
	}
	return *r.Config
}

// listed returns the valid addresses of the configuration.
func (r *request) listed() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range r.config().Interface.Addresses {
		if prefix, err := device.ParsePrefix(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

func addresses(prefixes []netip.Prefix) []netip.Addr {
	var all []netip.Addr
	for _, prefix := range prefixes {
		all = append(all, prefix.Addr())
	}
	return all
}

// holder returns the claim for the ledger.
func (r *request) holder(uid, node string, s search) network.Holder {
	h := network.Holder{Kind: "ResourceClaim", UID: uid, Node: node, Device: cmp.Or(r.Device.Name, s.who.strongest()), Aliases: s.aliases()}
	if r.Claim != nil {
		h.Namespace, h.Name = r.Claim.Metadata.Namespace, r.Claim.Metadata.Name
	}
	return h
}

// subject returns the request for expressions.
func (r *request) subject(uid, node string) policy.Subject {
	d := canonical(r.Device)
	s := policy.Subject{
		Contract: contract, Profile: r.config().Profile, Node: node, Parent: identify(d).mac, Device: d, Config: r.config(),
		Addresses: addresses(r.listed()), Claim: &policy.Claim{UID: uid},
	}
	if r.Claim == nil {
		return s
	}
	m := r.Claim.Metadata
	s.Claim.Namespace, s.Claim.Name, s.Claim.Labels, s.Claim.Annotations = m.Namespace, m.Name, m.Labels, m.Annotations
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
func (r *request) checkNames(uid string) error {
	var f api.Faults
	f.Add("device.mac_address", checkMAC(r.Device.MAC))
	if r.Claim == nil {
		f.Add("claim_uid", api.CheckUID(uid))
		return f.Problem()
	}
	f.Add("claim.metadata.uid", api.CheckUID(uid))
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

// checkMAC returns an error for an invalid MAC address; it may be empty.
func checkMAC(text string) error {
	if text == "" {
		return nil
	}
	if _, err := net.ParseMAC(text); err != nil {
		return errors.New("must be a MAC address")
	}
	return nil
}
