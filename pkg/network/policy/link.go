// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Link is what Docker's networks of a profile are in the kernel.
type Link struct {
	// Spec has no MTU: that is of the profile's configuration, or of its pool.
	link.Spec
	// Outside says that the gateways are routers outside of the machine, Isolated that no other network may give a way out.
	Outside, Isolated bool
	// Prefix begins the names of interfaces in containers; empty: the profile does not say.
	Prefix string
	// Said are the fields that are written, by their names. What is not, a user may choose.
	Said map[string]bool
}

// LeadsOutside says whose the gateways of a network are where nobody has said it: those of a bridge that leads nowhere are the machine's.
func LeadsOutside(s link.Spec) bool {
	return s.Parent != "" || s.Kind != link.Bridge && s.Kind != link.VXLAN
}

// interfacePrefix is what the names of interfaces may begin with; the number that Docker adds must fit into 15 bytes.
var interfacePrefix = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9_.]{0,11}$`)

// IsInterfacePrefix says whether the names of interfaces in containers may begin with a text.
func IsInterfacePrefix(text string) bool { return interfacePrefix.MatchString(text) }

// link compiles that of a profile.
func (c *compiler) link(p place, spec *v1alpha1.NetworkLink) *Link {
	if spec == nil {
		return nil
	}
	made := &Link{
		Spec: link.Spec{
			Kind: link.Kind(cmp.Or(spec.Kind, string(link.Bridge))), Parent: spec.Parent.Value, VLAN: uint16(spec.VLAN), Mode: spec.Mode,
			VNI: uint32(spec.VNI), Port: uint16(spec.Port),
		},
		Isolated: spec.Isolated, Prefix: spec.Prefix.Value, Said: map[string]bool{},
	}
	for _, field := range p.Value().Fields() {
		made.Said[field.Key.Value] = true
	}
	before := len(c.findings)
	c.ends(made, p, spec)
	if !spec.Prefix.At.Absent() && !IsInterfacePrefix(made.Prefix) {
		c.add(p.At("prefix"), source.WrongValue, "%q cannot begin the name of an interface: that is 1 to 12 letters, digits, _, - and ., and begins with a letter",
			made.Prefix)
	}
	if p.At("kind").Absent() || spec.Kind != "" {
		c.linkProblems(made, p, before)
	}
	made.Outside = LeadsOutside(made.Spec)
	if spec.Gateway != "" {
		made.Outside = spec.Gateway == v1alpha1.GatewayOutside
	}
	if spec.Gateway == v1alpha1.GatewayMachine && made.Kind != link.Bridge && made.Kind != link.VXLAN {
		c.add(p.At("gateway"), source.WrongValue, "the machine has no address in a network of the kind %s: gateways are outside", made.Kind)
	}
	return made
}

// linkProblems adds what is wrong with the fields together, but for those of which something was found already.
func (c *compiler) linkProblems(made *Link, p place, before int) {
	var said paths
	for _, finding := range c.findings[before:] {
		said = append(said, finding.Path)
	}
	problems := made.Problems()
	if made.VNI == 0 {
		delete(problems, "vni") // each network of the profile may have its own
	}
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		at := p.At(field)
		if said.in(at.Path) {
			continue
		}
		rule := source.WrongValue
		if at.Missing {
			rule = source.MissingField
		}
		c.add(at, rule, "%s", problems[field])
	}
}

// ends reads the addresses of a tunnel.
func (c *compiler) ends(made *Link, p place, spec *v1alpha1.NetworkLink) {
	read := func(at place, t source.Text) (address netip.Addr, ok bool) {
		address, err := parseAddress(t.Value)
		if err != nil {
			c.add(at, source.WrongValue, "%s", err)
		}
		return address, err == nil
	}
	if !spec.Local.At.Absent() {
		made.Local, _ = read(p.At("local"), spec.Local)
	}
	for i, t := range spec.Peers {
		at := p.At("peers").Item(i)
		address, ok := read(at, t)
		if ok && slices.Contains(made.Peers, address) {
			c.findings = append(c.findings, at.FindingOf(source.DuplicateName, "%s is listed twice", address).Without(t.At))
		} else if ok {
			made.Peers = append(made.Peers, address)
		}
	}
}

// beyondDocker warns of what is set that containers of Docker cannot be given: their networks are refused then.
func (c *compiler) beyondDocker(config place) {
	warn := func(at place, why string) {
		if !at.Absent() && at.Node.Value != "false" && !device.IsMainTable(at.Node.Value) {
			c.warn(at, NotForDocker, "%s: a Docker network of this profile, which has a link, is refused", why)
		}
	}
	for _, beyond := range device.BeyondDocker() {
		list, inner, items := strings.Cut(beyond.Field, "[].")
		if !items {
			warn(config.Walk(beyond.Field), beyond.Why)
			continue
		}
		for i := range config.At(list).Value().Items() {
			warn(config.At(list).Item(i).At(inner), beyond.Why)
		}
	}
}
