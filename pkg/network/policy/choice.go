// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// families are the words for families, by which their lengths in bits are written.
var families = map[string]int{"IPv4": 32, "IPv6": 128}

// profile compiles what a user can choose.
func (c *compiler) profile(name string, profiles place, spec v1alpha1.NetworkChoice) *Profile {
	p := profiles.At(name)
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		c.add(profiles.Key(name), source.InvalidName, "%q is no name that users can write, such as acme.com/overlay: %s", name, strings.Join(problems, "; "))
	}
	choice := &Profile{Name: name}
	for i, t := range spec.Pools {
		c.member(choice, p.At("pools").Item(i), t)
	}
	if len(spec.Pools) == 0 && spec.Config.Absent() && spec.Link == nil {
		c.add(p.At("pools"), source.MissingField, "says nothing: pools, link or config is needed")
	}
	for i, t := range spec.Families {
		c.family(choice, p.At("families").Item(i), t)
	}
	choice.Link = c.link(p.At("link"), spec.Link)
	choice.config = c.configuration(c.request, spec.Config.Node, p.At("config"))
	c.addressing(choice, p.At("config").At("interface"))
	if choice.Link != nil {
		c.beyondDocker(p.At("config"))
	}
	return choice
}

// addressing finds what a profile sets on an interface that does not go with addresses out of pools.
func (c *compiler) addressing(choice *Profile, on place) {
	if addresses := on.At("addresses"); !addresses.Absent() {
		c.add(addresses, source.WrongValue, "addresses are given by pools: everybody who chooses the profile would have these")
	} else if dhcp := on.At("dhcp"); len(choice.Pools) > 0 && !dhcp.Absent() && dhcp.Node.Value == "true" {
		c.add(dhcp, source.ExclusiveFields, "excludes addresses, which the pools give")
	}
	mtu := on.At("mtu")
	size, err := strconv.Atoi(mtu.Node.Value)
	six := slices.ContainsFunc(choice.Pools, func(pool *Pool) bool { return len(pool.Subnets) > 0 && pool.has(128) })
	if six && !mtu.Absent() && err == nil && size < minimumMTU6 && !slices.Equal(choice.Families, []int{32}) {
		c.add(mtu, source.WrongValue, "must be at least %d where there are IPv6 addresses", minimumMTU6)
	}
}

// member adds a pool to a profile.
func (c *compiler) member(choice *Profile, p place, t source.Text) {
	pool := c.policy.Pools[t.Value]
	if pool == nil {
		names := slices.Collect(maps.Keys(c.policy.Pools))
		c.findings = append(c.findings, p.FindingOf(UnknownReference, "there is no pool %q%s", t.Value, source.Suggest(t.Value, names)).Instead(t.At, names))
		return
	}
	if slices.Contains(choice.Pools, pool) {
		c.findings = append(c.findings, p.FindingOf(source.DuplicateName, "%q is listed twice", t.Value).Without(t.At))
		return
	}
	choice.Pools = append(choice.Pools, pool)
}

// family adds a family to a profile.
func (c *compiler) family(choice *Profile, p place, t source.Text) {
	bits, ok := families[t.Value]
	if !ok {
		words := slices.Sorted(maps.Keys(families))
		finding := p.FindingOf(source.WrongValue, "must be one of %s%s", strings.Join(words, ", "), source.Suggest(t.Value, words))
		c.findings = append(c.findings, finding.Instead(t.At, words))
		return
	}
	if slices.Contains(choice.Families, bits) {
		c.findings = append(c.findings, p.FindingOf(source.DuplicateName, "%q is listed twice", t.Value).Without(t.At))
		return
	}
	choice.Families = append(choice.Families, bits)
	for _, pool := range choice.Pools {
		if !pool.has(bits) {
			c.add(p, source.WrongValue, "the pool %s gives no %s addresses", pool.Name, t.Value)
		}
	}
}

// Choose is the profile that a user has chosen by its name, of which something is served by the server that the policy is for. The error is for people.
func (p *Policy) Choose(name string) (*Profile, error) {
	profile := p.profiles[name]
	switch {
	case profile == nil:
		known := p.ProfileNames()
		return nil, fmt.Errorf("there is no profile %.100q%s; %s", name, source.Suggest(name, known), source.ThereAre(known))
	case profile.Elsewhere:
		return nil, fmt.Errorf("the profile %s has no pool that is served on this node", name)
	}
	return profile, nil
}

// Config is what the profile sets on the device of a request, beside what the pool does.
func (x *Profile) Config(ctx context.Context, s Subject) (device.Config, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	config, err := x.config.evaluate(ctx, &view{Subject: &s})
	if err != nil {
		return device.Config{}, fmt.Errorf("evaluating the profile %s: %w", x.Name, err)
	}
	return config, nil
}
