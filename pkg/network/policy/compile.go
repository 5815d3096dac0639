// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// position is a position in a profile.
type position = source.Place

// Compile creates a policy from documents that are active together, and returns all findings about them that are not
// known yet. It returns no policy if one of them is an error.
func Compile(documents []*profile.Network) (*Policy, source.Findings) {
	env, err := theEnvironments()
	if err != nil {
		return nil, source.Findings{{Message: err.Error(), Rule: source.WrongValue}}
	}
	c := &compiler{environments: env, documents: documents, policy: &Policy{
		Pools: map[string]*Pool{}, Clouds: Clouds(documents), Hash: profile.CommonHash(documents), profiles: map[string]*Profile{},
	}}
	c.names()
	for _, d := range documents {
		c.pooling(d)
	}
	for _, d := range documents {
		profiles := position{Node: d.Node}.At("profiles")
		for _, name := range slices.Sorted(maps.Keys(d.Profiles)) {
			choice := c.profile(name, profiles, d.Profiles[name])
			if c.policy.profiles[name] == nil {
				c.policy.profiles[name] = choice
			}
		}
	}
	for _, d := range documents {
		root := position{Node: d.Node}
		for i, entry := range d.Devices {
			c.policy.devices = append(c.policy.devices, c.facts(root.At("devices").Item(i), entry))
		}
		for i, rule := range d.Deny {
			c.policy.deny = append(c.policy.deny, c.denial(root.At("deny").Item(i), rule))
		}
	}
	c.overlaps()
	if !slices.ContainsFunc(c.findings, func(f source.Finding) bool { return f.Rule == UnknownReference }) {
		c.unused() // otherwise a misspelt reference makes a pool or cloud look unused
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
	return c.policy, findings
}

// Clouds returns the declared clouds of documents, even if other parts are invalid. Of two with the same name, it
// returns the first.
func Clouds(documents []*profile.Network) map[string]CloudSpec {
	specs := map[string]CloudSpec{}
	for _, d := range documents {
		at := position{Node: d.Node}.At("clouds")
		for name, spec := range d.Clouds {
			if _, double := specs[name]; !double {
				specs[name] = CloudSpec{spec, at.At(name)}
			}
		}
	}
	return specs
}

// compiler creates a policy and collects findings.
type compiler struct {
	environments
	documents []*profile.Network
	policy    *Policy
	findings  source.Findings
	// withSubnets has the pools with readable subnets, in the order of the documents.
	withSubnets []*Pool
}

// add adds an error.
func (c *compiler) add(p position, rule source.LintRule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...))
}

// warn adds a warning.
func (c *compiler) warn(p position, rule source.LintRule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...).Warn())
}

// twice adds the error of a list with the same entry twice.
func (c *compiler) twice(p position, t source.Text) {
	c.findings = append(c.findings, p.FindingOf(source.DuplicateName, "%q is listed twice", t.Value))
}

// unknown adds the error of an unknown name.
func (c *compiler) unknown(p position, kind, name string, at source.Node, known []string) {
	finding := p.FindingOf(UnknownReference, "there is no %s %q%s", kind, name, source.Suggest(name, known))
	c.findings = append(c.findings, finding.Instead(at, known))
}

// names reports names that two documents define. Within one document they are duplicate keys.
func (c *compiler) names() {
	seen := map[string]position{}
	once := func(kind, name string, p position) {
		if earlier, double := seen[kind+name]; double {
			c.add(p, source.DuplicateName, "the %s %q is already defined at %s", kind, name, earlier.Node.Position())
			return
		}
		seen[kind+name] = p
	}
	for _, d := range c.documents {
		root := position{Node: d.Node}
		for section, kind := range map[string]string{"clouds": "cloud", "pools": "pool", "profiles": "profile"} {
			for _, field := range root.At(section).Value().Fields() {
				once(kind, field.Key.Value, root.At(section).Key(field.Key.Value))
			}
		}
		for i, rule := range d.Deny {
			if rule.Name.Value != "" {
				once("rule", rule.Name.Value, root.At("deny").Item(i).At("name"))
			}
		}
	}
}

// pooling compiles the clouds and pools of a document. If two have the same name, the first counts.
func (c *compiler) pooling(d *profile.Network) {
	root := position{Node: d.Node}
	if len(d.Clouds)+len(d.Pools)+len(d.Profiles)+len(d.Devices)+len(d.Deny) == 0 {
		c.add(root, source.MissingField, "is empty: at least one of clouds, pools, profiles, devices and deny is needed")
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

// cloud checks the name of a cloud, and that it has exactly one kind.
func (c *compiler) cloud(name string, clouds position, spec v1alpha1.NetworkCloud) {
	p := clouds.At(name)
	if name == v1alpha1.CloudBuiltin {
		c.add(clouds.Key(name), source.InvalidName, "%q is the name of the cloud of pools that name none", name)
	} else {
		c.name(clouds.Key(name), name)
	}
	declared := 0
	for _, is := range []bool{spec.HTTP != nil, spec.CNI != nil, spec.OpenStack != nil} {
		if is {
			declared++
		}
	}
	if declared != 1 {
		c.add(p, source.ExclusiveFields, "exactly one of http, cni and openstack is needed")
	}
	if spec.Timeout.Set && spec.Timeout.Duration == 0 {
		c.add(p.At("timeout"), source.WrongValue, "must be more than 0")
	}
	if spec.Limit.Burst > 0 && spec.Limit.Rate == 0 {
		c.add(p.At("limit").At("burst"), source.MissingField, "has no effect without rate: set rate, or remove it")
	}
}

// attributes compiles the attributes of a mapping.
func (c *compiler) attributes(p position) []attribute {
	var all []attribute
	for _, field := range p.Value().Fields() {
		if field.Key.Kind != yaml.ScalarNode {
			continue // another finding reports it
		}
		at := p.At(field.Key.Value)
		if err := device.ValidateAttributeName(field.Key.Value); err != nil {
			c.add(p.Key(field.Key.Value), source.InvalidName, "%s", err)
		}
		a, err := c.attribute(at)
		if err != nil {
			c.findings = append(c.findings, source.FindingsOf(field.Value, at.Path, err).Of(source.WrongValue)...)
			continue
		}
		a.name, a.at = field.Key.Value, field.Value.Position()
		all = append(all, a)
	}
	if len(all) > device.MaximumAttributes {
		c.add(p, source.WrongValue, "%d attributes, but a device can have at most %d", len(all), device.MaximumAttributes)
	}
	return all
}

// attribute compiles a value.
func (c *compiler) attribute(p position) (attribute, error) {
	n := p.Node
	if n.Node == nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		var value any
		if n.Node != nil {
			if err := n.Decode(&value); err != nil {
				return attribute{}, p.FindingOf(source.WrongType, "cannot be read")
			}
		}
		a := attribute{value: expression.Value(value)}
		if _, err := attributeOf(a.value); err != nil {
			return attribute{}, p.FindingOf(source.WrongType, "%s", err)
		}
		return a, nil
	}
	template, err := c.device.Template(n.Value, expression.At(n))
	if err != nil {
		return attribute{}, err
	}
	if template.Constant() {
		value, err := template.Evaluate(context.Background(), interpreter.EmptyActivation())
		if err == nil {
			_, err = attributeOf(value)
		}
		return attribute{template: template}, err
	}
	switch kind := template.Type(); {
	case slices.Contains([]types.Kind{types.StringKind, types.IntKind, types.UintKind, types.BoolKind, types.DynKind}, kind.Kind()),
		kind.TypeName() == apiservercel.SemverType.TypeName():
		return attribute{template: template}, nil
	default:
		return attribute{}, p.FindingOf(expression.WrongResult, "%s, is %s", attributeTypes, kind.TypeName())
	}
}

// condition compiles a condition. It returns nil if there is none or it is invalid. It adds an error for a condition
// that is always false: "<what> never applies"; and a warning for one that is always true: "<what> <does>", or the
// advice to omit it if does is empty.
func (c *compiler) condition(env *expression.Environment, t source.Text, p position, what, does string) *expression.Expression {
	compiled, findings := env.ConditionOf(t, p.Path, example)
	c.findings = append(c.findings, findings...)
	switch {
	case compiled == nil:
	case env.Partial().False(compiled):
		c.add(p, source.NeverApplies, "is always false: %s never applies", what)
	case compiled.Constant() && does != "":
		c.warn(p, source.AlwaysTrue, "is always true: %s %s", what, does)
	case compiled.Constant():
		c.findings = append(c.findings, p.FindingOf(source.AlwaysTrue, "is always true; leave it out").Warn())
	}
	return compiled
}

// text compiles a text that may contain expressions. It returns nil if the text is invalid or missing.
func (c *compiler) text(env *expression.Environment, t source.Text, p position) *expression.Template {
	compiled, findings := env.TemplateOf(t, p.Path)
	c.findings = append(c.findings, findings...)
	if compiled == nil {
		return nil
	}
	switch kind := compiled.Type().Kind(); kind {
	case types.ListKind, types.MapKind, types.NullTypeKind:
		c.add(p, expression.WrongResult, "must be a text, is a %s", compiled.Type().TypeName())
		return nil
	}
	return compiled
}

// denial compiles a deny rule.
func (c *compiler) denial(p position, spec v1alpha1.NetworkDenial) *denial {
	c.needed(p, "name", spec.Name)
	c.needed(p, "when", spec.When)
	return &denial{
		name: spec.Name.Value, message: c.text(c.request, spec.Message, p.At("message")),
		when: c.condition(c.request, spec.When, p.At("when"), "the rule", "denies everything"),
	}
}

// facts compiles an entry of devices.
func (c *compiler) facts(p position, spec v1alpha1.NetworkDevices) *facts {
	if len(spec.Attributes) == 0 && spec.Config.Absent() && spec.Cloud.Value == "" {
		c.add(p.At("attributes"), source.MissingField, "is empty: attributes, config or cloud is needed")
	}
	if name := spec.Cloud.Value; name != "" && c.policy.Clouds[name].OpenStack == nil {
		known := slices.Collect(maps.Keys(c.policy.Clouds))
		c.add(p.At("cloud"), UnknownReference, "there is no cloud %q of the kind openstack%s", name, source.Suggest(name, known))
	}
	f := &facts{cloud: spec.Cloud.Value, when: c.condition(c.device, spec.When, p.At("when"), "the entry", "")}
	f.attributes = c.attributes(p.At("attributes"))
	f.config = c.configuration(c.device, spec.Config.Node, p.At("config"))
	if chosen := p.At("config").At("profile"); !chosen.Absent() && !isComputed(chosen.Node) && c.policy.profiles[chosen.Node.Value] == nil {
		c.unknown(chosen, "profile", chosen.Node.Value, chosen.Node, slices.Collect(maps.Keys(c.policy.profiles)))
	}
	return f
}

// example is the message about a condition that is not one expression in braces.
const example = "a condition is one expression in braces, such as ${ request.node == \"worker-1\" }"

// isTrue reports whether a condition is true or missing.
func isTrue(ctx context.Context, x *expression.Expression, vars interpreter.Activation) (bool, error) {
	if x == nil {
		return true, nil
	}
	return x.Bool(ctx, vars)
}

// Rules of findings of NetworkProfiles, in addition to those of all documents.
const (
	// UnknownReference: a pool, cloud or profile does not exist.
	UnknownReference source.LintRule = "unknown-reference"
	// Overlap: two pools share addresses.
	Overlap source.LintRule = "overlapping-pools"
	// Outside: an address or a range is not in the prefix.
	Outside source.LintRule = "outside-prefix"
	// NoRoom: a pool has too few addresses, or fewer MAC addresses than addresses.
	NoRoom source.LintRule = "no-room"
	// ForeignMAC: a MAC prefix belongs to a hardware vendor.
	ForeignMAC source.LintRule = "foreign-mac"
)
