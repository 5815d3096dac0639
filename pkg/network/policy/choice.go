// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// families maps names of address families to their lengths in bits.
var families = map[string]int{"IPv4": 32, "IPv6": 128}

// profile compiles a profile that users can select.
func (c *compiler) profile(name string, profiles position, spec v1alpha1.NetworkChoice) *Profile {
	p := profiles.At(name)
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		c.add(profiles.Key(name), source.InvalidName, "%q is not a name that users can write, such as acme.com/overlay: %s", name, strings.Join(problems, "; "))
	}
	choice := &Profile{Name: name}
	for i, t := range spec.Pools {
		pool, at := c.policy.Pools[t.Value], p.At("pools").Item(i)
		switch {
		case pool == nil:
			c.unknown(at, "pool", t.Value, t.At, slices.Collect(maps.Keys(c.policy.Pools)))
		case slices.Contains(choice.Pools, pool):
			c.twice(at, t)
		default:
			choice.Pools = append(choice.Pools, pool)
		}
	}
	if len(spec.Pools) == 0 && spec.Config.Absent() && spec.Link == nil {
		c.add(p.At("pools"), source.MissingField, "is empty: pools, link or config is needed")
	}
	for i, t := range spec.Families {
		c.family(choice, p.At("families").Item(i), t)
	}
	choice.Link = c.link(p.At("link"), spec.Link)
	choice.config = c.configuration(c.request, spec.Config.Node, p.At("config"))
	c.addressing(choice, p.At("config").At("interface"))
	return choice
}

// addressing reports interface settings of a profile that conflict with addresses from pools.
func (c *compiler) addressing(choice *Profile, on position) {
	if addresses := on.At("addresses"); !addresses.Absent() {
		c.add(addresses, source.WrongValue, "a profile must not have addresses, because all users of it would get the same ones: use a pool")
	} else if dhcp := on.At("dhcp"); len(choice.Pools) > 0 && !dhcp.Absent() && dhcp.Node.Value == "true" {
		c.add(dhcp, source.ExclusiveFields, "excludes addresses, which the pools give")
	}
	mtu := on.At("mtu")
	size, err := strconv.Atoi(mtu.Node.Value)
	six := slices.ContainsFunc(choice.Pools, func(pool *Pool) bool { return len(pool.Subnets) > 0 && pool.hasFamily(128) })
	if six && !mtu.Absent() && err == nil && size < minimumMTU6 && !slices.Equal(choice.Families, []int{32}) {
		c.add(mtu, source.WrongValue, "must be at least %d where there are IPv6 addresses", minimumMTU6)
	}
}

// family adds a family to a profile.
func (c *compiler) family(choice *Profile, p position, t source.Text) {
	bits, ok := families[t.Value]
	if !ok {
		words := slices.Sorted(maps.Keys(families))
		finding := p.FindingOf(source.WrongValue, "must be one of %s%s", strings.Join(words, ", "), source.Suggest(t.Value, words))
		c.findings = append(c.findings, finding.Instead(t.At, words))
		return
	}
	if slices.Contains(choice.Families, bits) {
		c.twice(p, t)
		return
	}
	choice.Families = append(choice.Families, bits)
	for _, pool := range choice.Pools {
		if !pool.hasFamily(bits) {
			c.add(p, source.WrongValue, "the pool %s has no %s addresses", pool.Name, t.Value)
		}
	}
}

// Config returns the profile's settings for the device of a request, without those of the pool. It fails if an
// expression fails.
func (x *Profile) Config(ctx context.Context, s Subject) (device.Config, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	config, err := x.config.evaluate(ctx, &view{Subject: &s})
	if err != nil {
		return device.Config{}, fmt.Errorf("evaluating the profile %s: %w", x.Name, err)
	}
	config.Profile = "" // it has been chosen
	return config, nil
}

// configuration compiles a configuration and checks its constant parts.
func (c *compiler) configuration(env *expression.Environment, n source.Node, p position) *configuration {
	if n.Absent() {
		return nil
	}
	var written device.Config
	problems := source.Decode(withoutExpressions(n), p.Path, &written)
	tree, found := expression.NewTree(env, n, p.Path)
	problems = append(problems, found.Beyond(problems)...)
	before := len(c.findings)
	c.problems(p, written.Validate())
	problems = append(problems, c.findings[before:].Beyond(problems)...)
	c.findings = append(c.findings[:before], problems...)
	if len(problems) > 0 {
		return nil
	}
	x := &configuration{tree: tree, at: n.Position()}
	if !tree.Constant() {
		return x
	}
	raw, err := tree.JSON(context.Background(), interpreter.EmptyActivation())
	if err == nil {
		_, err = decode(raw)
	}
	if err != nil {
		c.add(p, source.WrongValue, "%s", err)
	}
	return x
}

// link compiles the link of a profile.
func (c *compiler) link(p position, spec *v1alpha1.NetworkLink) *Link {
	if spec == nil {
		return nil
	}
	made := &Link{
		Spec: link.Spec{
			Kind: link.Kind(cmp.Or(spec.Kind, string(link.Bridge))), Parent: spec.Parent.Value, VLAN: spec.VLAN, Mode: spec.Mode,
			VNI: spec.VNI, Port: spec.Port,
		},
		Isolated: spec.Isolated, Prefix: spec.Prefix.Value, Fixed: map[string]bool{},
	}
	for _, field := range p.Value().Fields() {
		made.Fixed[field.Key.Value] = true
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

// linkProblems adds findings about combinations of fields, unless one of the fields has a finding already.
func (c *compiler) linkProblems(made *Link, p position, before int) {
	problems := made.Problems()
	if made.VNI == 0 {
		delete(problems, "vni") // each network of the profile may have its own
	}
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		if at := p.At(field); !c.hasFinding(before, at) {
			c.problem(at, problems[field].Error())
		}
	}
}

// ends reads the addresses of a tunnel.
func (c *compiler) ends(made *Link, p position, spec *v1alpha1.NetworkLink) {
	read := func(at position, t source.Text, use func(netip.Addr)) {
		if address, err := device.ParseAddr(t.Value); err != nil {
			c.add(at, source.WrongValue, "%s", err)
		} else {
			use(address)
		}
	}
	if !spec.Local.At.Absent() {
		read(p.At("local"), spec.Local, func(address netip.Addr) { made.Local = address })
	}
	for i, t := range spec.Peers {
		at := p.At("peers").Item(i)
		read(at, t, func(address netip.Addr) {
			if slices.Contains(made.Peers, address) {
				c.add(at, source.DuplicateName, "%s is listed twice", address)
				return
			}
			made.Peers = append(made.Peers, address)
		})
	}
}

// Link holds the kernel settings of a profile's Docker networks.
type Link struct {
	// Spec has no MTU: the profile's configuration or its pool sets it.
	link.Spec
	// Outside means that the gateways are routers outside of the machine. Isolated means no gateway, also not through other networks.
	Outside, Isolated bool
	// Prefix is the prefix of interface names in containers, or "" if the profile does not set it.
	Prefix string
	// Fixed has the names of the fields that the profile sets. Users may set the remaining ones.
	Fixed map[string]bool
}

// LeadsOutside reports whether the gateways of a network are outside of the machine by default: those of a bridge
// without a parent belong to the machine.
func LeadsOutside(s link.Spec) bool {
	return s.Parent != "" || s.Kind != link.Bridge && s.Kind != link.VXLAN
}

// interfacePrefix matches valid prefixes of interface names; with the number that Docker appends, a name must fit into
// 15 bytes.
var interfacePrefix = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9_.]{0,11}$`)

// IsInterfacePrefix reports whether a text is a valid prefix of interface names in containers.
func IsInterfacePrefix(text string) bool { return interfacePrefix.MatchString(text) }
