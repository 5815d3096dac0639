// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// composed is a network with its sources.
type composed struct {
	networkRow
	policy  *policy.Policy
	profile *policy.Profile
	subject policy.Subject
	// sized is true if the MTU was set explicitly.
	sized bool
}

// compose combines options and profile to a network. It does not check subnets and rules.
func (a *Driver) compose(ctx context.Context, n Network) (*composed, error) {
	given, said, err := readOptions(n.Options)
	if err != nil {
		return nil, err
	}
	c := &composed{networkRow: networkRow{Network: n}, policy: a.options.Policy()}
	if c.profile, err = profileOf(c.policy, n.Options); err != nil {
		return nil, err
	}
	c.subject = policy.Subject{Contract: ipam.Contract, Node: a.options.Node, Network: n.ID, Options: n.Options}
	base, fixed, err := c.base(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range said {
		option := networkOptions[name]
		if was, is := option.write(base), option.write(given); fixed[name] && was != is {
			return nil, fmt.Errorf("%w: the option %s=%s contradicts the profile %s, which says %s", ErrImpossible, name, printable(is), c.profile.Name, was)
		}
		if err := option.read(&base, option.write(given)); err != nil {
			return nil, fmt.Errorf("%w: the option %s %w", ErrImpossible, name, err)
		}
	}
	base.Kind = cmp.Or(base.Kind, link.Bridge)
	if !fixed[optionGateway] && !slices.Contains(said, optionGateway) {
		base.Outside = policy.LeadsOutside(base.Spec)
	}
	c.sized = base.MTU != 0
	c.Link, c.Outside, c.Isolated, c.Prefix = base.Spec, base.Outside, base.Isolated, base.Prefix
	return c, nil
}

// profileOf returns the profile that the options select, or nil.
func profileOf(p *policy.Policy, options map[string]string) (*policy.Profile, error) {
	name, chosen := options[ipam.OptionProfile]
	if !chosen {
		return nil, nil
	}
	profile, err := p.Choose(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	return profile, nil
}

// base returns the settings of the profile, and which of them options must not change.
func (c *composed) base(ctx context.Context) (base choice, fixed map[string]bool, err error) {
	fixed = map[string]bool{}
	if c.profile == nil {
		return base, fixed, nil
	}
	c.Profile, c.subject.Profile = c.profile.Name, c.profile.Name
	if l := c.profile.Link; l != nil {
		maps.Copy(fixed, l.Said)
		base = choice{Spec: l.Spec, Outside: l.Outside, Isolated: l.Isolated, Prefix: l.Prefix}
		base.Peers = slices.Clone(l.Peers)
		if !fixed[optionKind] {
			base.Kind = ""
		}
	}
	config, err := c.profile.Config(ctx, c.subject)
	if err != nil {
		return base, nil, err
	}
	if err := possible(config); err != nil {
		return base, nil, fmt.Errorf("%w: Docker cannot be given what the profile %s says: %w", ErrImpossible, c.profile.Name, err)
	}
	if mtu := config.Interface.MTU; mtu != nil {
		base.MTU, fixed[optionMTU] = int(*mtu), true
	}
	return base, fixed, nil
}

// possible returns an error for the first setting of a profile that Docker does not support.
func possible(c device.Config) error {
	if err := c.BeyondDocker(); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	for i, route := range c.Routes {
		if _, err := routeOf(route); err != nil {
			return fmt.Errorf("config.routes[%d]: %w", i, err)
		}
	}
	return nil
}
