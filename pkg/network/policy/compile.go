// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is where something stands in a profile.
type place = source.Place

// Compile makes a policy of documents that are in force together, and finds all that is wrong with them beside what is known already. There is
// no policy where anything is wrong that is more than a warning.
func Compile(documents []*profile.Network) (*Policy, source.Findings) {
	env, err := theEnvironments()
	if err != nil {
		return nil, source.Findings{{Message: err.Error(), Rule: source.WrongValue}}
	}
	c := &compiler{environments: env, documents: documents, policy: &Policy{
		Pools: map[string]*Pool{}, Clouds: Clouds(documents), Hash: hash(documents), profiles: map[string]*Profile{},
	}}
	c.names()
	for _, step := range []func(*profile.Network){c.pooling, c.choices, c.rest} {
		for _, d := range documents {
			step(d)
		}
	}
	c.overlaps()
	if !slices.ContainsFunc(c.findings, func(f source.Finding) bool { return f.Rule == UnknownReference }) {
		c.unused() // else the name is that of one which is not used
	}
	var known source.Findings
	for _, d := range documents {
		known = append(known, d.Findings...)
	}
	findings := c.findings.Beyond(known)
	findings.Sort()
	if len(findings.Errors())+len(known.Errors()) > 0 {
		return nil, findings
	}
	c.policy.subnets = index(c.policy.Pools)
	return c.policy, findings
}

// Clouds are the declarations of clouds in documents, whether or not the rest of the documents is right. Of two with one name it is the first.
func Clouds(documents []*profile.Network) map[string]CloudSpec {
	specs := map[string]CloudSpec{}
	for _, d := range documents {
		at := place{Node: d.Node}.At("clouds")
		for name, spec := range d.Clouds {
			if _, double := specs[name]; !double {
				specs[name] = CloudSpec{spec, at.At(name).Node, at.At(name).Path}
			}
		}
	}
	return specs
}

// hash is that of all documents.
func hash(documents []*profile.Network) string {
	sum := sha256.New()
	for _, d := range documents {
		_, _ = fmt.Fprintf(sum, "%s@%s\n", d.Metadata.Name, d.Hash) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// compiler makes a policy, and collects what is wrong.
type compiler struct {
	environments
	documents []*profile.Network
	policy    *Policy
	findings  source.Findings
	// wired are the pools of which the subnets could be read, in the order of the documents.
	wired []*Pool
}

// add adds an error.
func (c *compiler) add(p place, rule source.Rule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...))
}

// warn adds a warning.
func (c *compiler) warn(p place, rule source.Rule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...).Warn())
}

// names finds names that stand in two documents; in one, they are keys that stand twice.
func (c *compiler) names() {
	seen := map[string]place{}
	once := func(kind, name string, p place) {
		if earlier, double := seen[kind+name]; double {
			c.add(p, source.DuplicateName, "the %s %q is already defined at %s", kind, name, earlier.Node.Position())
			return
		}
		seen[kind+name] = p
	}
	for _, d := range c.documents {
		root := place{Node: d.Node}
		for _, name := range slices.Sorted(maps.Keys(d.Clouds)) {
			once("cloud", name, root.At("clouds").Key(name))
		}
		for _, name := range slices.Sorted(maps.Keys(d.Pools)) {
			once("pool", name, root.At("pools").Key(name))
		}
		for _, name := range slices.Sorted(maps.Keys(d.Profiles)) {
			once("profile", name, root.At("profiles").Key(name))
		}
		for i, rule := range d.Deny {
			if rule.Name.Value != "" {
				once("rule", rule.Name.Value, root.At("deny").Item(i).At("name"))
			}
		}
	}
}

// pooling compiles the clouds and pools of a document. Of two with one name, the first counts.
func (c *compiler) pooling(d *profile.Network) {
	root := place{Node: d.Node}
	if len(d.Clouds)+len(d.Pools)+len(d.Profiles)+len(d.Devices)+len(d.Deny) == 0 {
		c.add(root, source.MissingField, "says nothing: at least one of clouds, pools, profiles, devices and deny is needed")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Clouds)) {
		c.cloud(name, root.At("clouds"), d.Clouds[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Pools)) {
		pool := c.pool(name, root.At("pools"), d.Pools[name])
		if c.policy.Pools[name] == nil {
			c.policy.Pools[name] = pool
		}
	}
}

// choices compiles what users can choose of a document, out of the pools of all.
func (c *compiler) choices(d *profile.Network) {
	root := place{Node: d.Node}
	for _, name := range slices.Sorted(maps.Keys(d.Profiles)) {
		choice := c.profile(name, root.At("profiles"), d.Profiles[name])
		if c.policy.profiles[name] == nil {
			c.policy.profiles[name] = choice
		}
	}
}

// rest compiles facts of devices and denials.
func (c *compiler) rest(d *profile.Network) {
	root := place{Node: d.Node}
	for i, entry := range d.Devices {
		c.policy.devices = append(c.policy.devices, c.facts(root.At("devices").Item(i), entry))
	}
	for i, rule := range d.Deny {
		c.policy.deny = append(c.policy.deny, c.denial(root.At("deny").Item(i), rule))
	}
}

// cloud checks the name of a cloud, and that it says in one way what it is.
func (c *compiler) cloud(name string, clouds place, spec v1alpha1.NetworkCloud) {
	p := clouds.At(name)
	if name == v1alpha1.CloudBuiltin {
		c.add(clouds.Key(name), source.InvalidName, "%q is the name of the cloud of pools that name none", name)
	} else {
		c.name(clouds.Key(name), name)
	}
	if (spec.HTTP == nil) == (spec.CNI == nil) {
		c.add(p, source.ExclusiveFields, "exactly one of http and cni is needed")
	}
	if spec.Timeout.Set && spec.Timeout.Duration == 0 {
		c.add(p.At("timeout"), source.WrongValue, "must be more than 0")
	}
	if spec.Limit.Burst > 0 && spec.Limit.Rate == 0 {
		c.add(p.At("limit").At("burst"), source.MissingField, "means nothing without rate")
	}
}
