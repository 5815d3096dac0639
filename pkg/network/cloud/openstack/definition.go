// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Definition is a checked declaration of a cloud.
type Definition struct {
	Credentials Credentials
	// NetworkID is the network of the ports. Neutron chooses addresses from SubnetIDs if there are any.
	NetworkID string
	SubnetIDs []string
	// SecurityGroupIDs are the security groups of the ports; nil means the default group.
	SecurityGroupIDs    []string
	AllowedAddressPairs []netip.Prefix
	// NamePrefix begins the names and descriptions of all ports of this installation.
	NamePrefix string
	// Trunk is nil if ports are not attached.
	Trunk *Trunk
}

// Trunk configures how ports are attached.
type Trunk struct {
	Create              bool
	FirstVLAN, LastVLAN int
	// Warm is the greatest number of ports that are created before they are needed.
	Warm int
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// Compile checks a declaration without reading files; p is the place of the field openstack. The definition must not be
// used if there are errors.
func Compile(spec v1alpha1.NetworkOpenStack, p source.Place) (*Definition, source.Findings) {
	var found source.Findings
	d := &Definition{
		Credentials: Credentials{
			CloudsFile: spec.CloudsFile.Value, Cloud: spec.Cloud.Value,
			SecretFolder: spec.SecretFolder.Value, AuthURL: spec.AuthURL.Value, Region: spec.Region.Value,
		},
		NetworkID: spec.NetworkID.Value, NamePrefix: cmp.Or(spec.NamePrefix.Value, "graft"),
	}
	checkCredentials(spec, p, &found)
	// An ID is needed, because names may be ambiguous.
	id := func(at source.Place, text source.Text) string {
		if !uuid.MatchString(text.Value) {
			found.Add(at, source.WrongValue, "%q must be an ID, such as 1b0fd2b8-40cf-4e5c-8c9f-4f6c9d8c8d0f; names may be ambiguous", text.Value)
		}
		return text.Value
	}
	if at := p.At("networkID"); d.NetworkID == "" {
		found.Add(at, source.MissingField, "is missing: the ID of a Neutron network")
	} else {
		id(at, spec.NetworkID)
	}
	for i, subnet := range spec.SubnetIDs {
		d.SubnetIDs = append(d.SubnetIDs, id(p.At("subnetIDs").Item(i), subnet))
	}
	if len(d.SubnetIDs) > 2 {
		found.Add(p.At("subnetIDs"), source.WrongValue, "must be at most one subnet of each family")
	}
	for i, group := range spec.SecurityGroupIDs {
		d.SecurityGroupIDs = append(d.SecurityGroupIDs, id(p.At("securityGroupIDs").Item(i), group))
	}
	for i, pair := range spec.AllowedAddressPairs {
		prefix, err := netip.ParsePrefix(pair.Value)
		if err != nil || prefix != prefix.Masked() {
			found.Add(p.At("allowedAddressPairs").Item(i), source.WrongValue, "%q must be a prefix such as 10.96.0.0/11", pair.Value)
		}
		d.AllowedAddressPairs = append(d.AllowedAddressPairs, prefix)
	}
	if len(validation.IsDNS1123Label(d.NamePrefix)) > 0 {
		found.Add(p.At("namePrefix"), source.InvalidName, "%q must be at most 63 lower case letters, digits and dashes", d.NamePrefix)
	}
	if spec.Trunk != nil {
		d.Trunk = compileTrunk(*spec.Trunk, p.At("trunk"), &found)
	}
	return d, found
}

func checkCredentials(spec v1alpha1.NetworkOpenStack, p source.Place, found *source.Findings) {
	if (spec.CloudsFile.Value == "") == (spec.SecretFolder.Value == "") {
		found.Add(p, source.ExclusiveFields, "exactly one of cloudsFile and secretFolder is needed")
	}
	if spec.AuthURL.Value != "" {
		u, err := url.Parse(spec.AuthURL.Value)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			found.Add(p.At("authURL"), source.WrongValue, "must be a URL such as https://keystone.example.com/v3")
		} else if spec.CloudsFile.Value != "" {
			found.Add(p.At("authURL"), source.ExclusiveFields, "is for secretFolder; cloudsFile contains its own")
		}
	}
}

func compileTrunk(spec v1alpha1.NetworkOpenStackTrunk, p source.Place, found *source.Findings) *Trunk {
	t := &Trunk{Create: spec.Create, FirstVLAN: allocator.FirstVLAN, LastVLAN: allocator.LastVLAN, Warm: spec.WarmPorts}
	if spec.VLANs.At.Absent() {
		return t
	}
	first, last, err := allocator.ParseVLANs(strings.ReplaceAll(spec.VLANs.Value, " ", ""))
	if err != nil {
		found.Add(p.At("vlans"), source.WrongValue, "%s", err.Error())
	}
	t.FirstVLAN, t.LastVLAN = int(first), int(last)
	return t
}
