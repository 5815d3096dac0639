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

// Compile checks a declaration without reading files. The definition must not be used if there are errors.
func Compile(spec v1alpha1.NetworkOpenStack, n source.Node, path string) (*Definition, source.Findings) {
	c := &definitionParser{path: path}
	d := &Definition{
		Credentials: Credentials{
			CloudsFile: spec.CloudsFile.Value, Cloud: spec.Cloud.Value,
			SecretFolder: spec.SecretFolder.Value, AuthURL: spec.AuthURL.Value, Region: spec.Region.Value,
		},
		NamePrefix: cmp.Or(spec.NamePrefix.Value, "graft"),
	}
	if (spec.CloudsFile.Value == "") == (spec.SecretFolder.Value == "") {
		c.add(n, "", source.ExclusiveFields, "exactly one of cloudsFile and secretFolder is needed")
	}
	if spec.AuthURL.Value != "" {
		u, err := url.Parse(spec.AuthURL.Value)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			c.add(spec.AuthURL.At, ".authURL", source.WrongValue, "must be a URL such as https://keystone.example.com/v3")
		} else if spec.CloudsFile.Value != "" {
			c.add(spec.AuthURL.At, ".authURL", source.ExclusiveFields, "is for secretFolder; cloudsFile contains its own")
		}
	}
	if spec.NetworkID.Value == "" {
		c.add(n, ".networkID", source.MissingField, "is missing: the ID of a Neutron network")
	} else {
		d.NetworkID = c.id(spec.NetworkID, ".networkID")
	}
	for _, subnet := range spec.SubnetIDs {
		d.SubnetIDs = append(d.SubnetIDs, c.id(subnet, ".subnetIDs"))
	}
	if len(d.SubnetIDs) > 2 {
		c.add(n.Get("subnetIDs"), ".subnetIDs", source.WrongValue, "must be at most one subnet of each family")
	}
	for _, group := range spec.SecurityGroupIDs {
		d.SecurityGroupIDs = append(d.SecurityGroupIDs, c.id(group, ".securityGroupIDs"))
	}
	for _, pair := range spec.AllowedAddressPairs {
		prefix, err := netip.ParsePrefix(pair.Value)
		if err != nil || prefix != prefix.Masked() {
			c.add(pair.At, ".allowedAddressPairs", source.WrongValue, "%q must be a prefix such as 10.96.0.0/11", pair.Value)
		}
		d.AllowedAddressPairs = append(d.AllowedAddressPairs, prefix)
	}
	if len(validation.IsDNS1123Label(d.NamePrefix)) > 0 {
		const message = "%q must be at most 63 lower case letters, digits and dashes"
		c.add(spec.NamePrefix.At, ".namePrefix", source.InvalidName, message, d.NamePrefix)
	}
	if spec.Trunk != nil {
		d.Trunk = c.trunk(*spec.Trunk)
	}
	return d, c.findings
}

// definitionParser reads the parts of a definition and collects findings.
type definitionParser struct {
	path     string
	findings source.Findings
}

func (c *definitionParser) add(at source.Node, field string, rule source.LintRule, format string, arguments ...any) {
	c.findings = append(c.findings, at.Finding(c.path+field, format, arguments...).Of(rule))
}

// id checks that a text is an ID of Neutron: a name may be ambiguous.
func (c *definitionParser) id(text source.Text, field string) string {
	if !uuid.MatchString(text.Value) {
		const message = "%q must be an ID, such as 1b0fd2b8-40cf-4e5c-8c9f-4f6c9d8c8d0f; names may be ambiguous"
		c.add(text.At, field, source.WrongValue, message, text.Value)
	}
	return text.Value
}

func (c *definitionParser) trunk(spec v1alpha1.NetworkOpenStackTrunk) *Trunk {
	t := &Trunk{Create: spec.Create, FirstVLAN: allocator.FirstVLAN, LastVLAN: allocator.LastVLAN, Warm: spec.WarmPorts}
	if spec.VLANs.At.Absent() {
		return t
	}
	first, last, err := allocator.ParseVLANs(strings.ReplaceAll(spec.VLANs.Value, " ", ""))
	if err != nil {
		c.add(spec.VLANs.At, ".trunk.vlans", source.WrongValue, "%s", err.Error())
	}
	t.FirstVLAN, t.LastVLAN = int(first), int(last)
	return t
}
