// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// warn adds a warning: the profile can be used, and is likely not what its author wants.
func (c *profileCompiler) warn(rule source.Rule, at source.Node, path, format string, arguments ...any) {
	c.program.warnings = append(c.program.warnings, at.Finding(path, format, arguments...).Of(rule).Warn())
}

// dead finds a condition that never holds: whatever the facts are, or in every version of Kubernetes that is served.
func (c *profileCompiler) dead(r *rule, from v1alpha1.Rule) source.Findings {
	if r.when == nil {
		return nil
	}
	path := r.path + ".when"
	if c.scope.environment.Partial().False(r.when) {
		return source.Findings{from.When.Finding(path, "is always false: the rule never applies").Of(source.NeverApplies)}
	}
	if r.when.Constant() {
		finding := from.When.Finding(path, "is always true; leave it out").Of(source.AlwaysTrue).Warn().Without(from.When)
		c.program.warnings = append(c.program.warnings, finding)
		return nil
	}
	views := c.versionViews(r.target)
	if c.options.Generation == contract.Labelled || len(views) == 0 ||
		slices.ContainsFunc(views, func(v versionView) bool { return !v.partial.False(r.when) }) {
		return nil
	}
	if c.document.Kubernetes != "" {
		return source.Findings{from.When.Finding(path, "is false in all versions of Kubernetes that the profile supports (%s): the rule never applies",
			c.document.Kubernetes).Of(source.NeverApplies)}
	}
	c.warn(source.NeverApplies, from.When, path, "is false in all versions of Kubernetes that are served, %s to %s: the rule never applies",
		views[0].minor, views[len(views)-1].minor)
	return nil
}

// tidy warns of what a profile has and does not use.
func (c *profileCompiler) tidy() {
	used := map[string]bool{}
	for _, r := range c.rules {
		c.scope.use(used, r.references())
	}
	sections := []struct {
		name  string
		names []string
	}{
		{parametersName, slices.Collect(maps.Keys(c.document.Parameters))},
		{lookupsName, slices.Collect(maps.Keys(c.document.Lookups))},
		{variablesName, slices.Collect(maps.Keys(c.document.Variables))},
	}
	for _, section := range sections {
		slices.Sort(section.names)
		for _, name := range section.names {
			if c.mayUse(name) {
				c.scope.use(used, []string{section.name + "." + name})
			}
		}
	}
	for _, section := range sections {
		for _, name := range section.names {
			if path := section.name + "." + name; !used[section.name] && !used[path] {
				c.warn(source.Unused, nodeAt(c.document.Node, section.name, name), path, "is not used by any rule")
			}
		}
	}
}

// mayUse says whether something that could not be compiled may use a name, or a misspelt name may be meant for it.
func (c *profileCompiler) mayUse(name string) bool {
	return slices.ContainsFunc(c.broken, mentions(name)) || slices.ContainsFunc(c.findings, func(f source.Finding) bool {
		return f.Rule == expression.UnknownName && strings.Contains(f.Message, strconv.Quote(name))
	})
}

// mentions says of a value whether a name stands in one of its texts.
func mentions(name string) func(source.Node) bool {
	var visit func(n *yaml.Node) bool
	visit = func(n *yaml.Node) bool {
		return n != nil && (strings.Contains(n.Value, name) || slices.ContainsFunc(n.Content, visit))
	}
	return func(n source.Node) bool { return visit(n.Node) }
}

// use adds parameters, lookups and variables that references reach, as <section>.<name>; a section alone is all of it.
func (s *scope) use(used map[string]bool, references []string) {
	for _, reference := range references {
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		key := strings.TrimSuffix(root+"."+name, ".")
		if used[key] || root != parametersName && root != lookupsName && root != variablesName {
			continue
		}
		used[key] = true
		for _, l := range s.lookups {
			if root == lookupsName && (name == "" || l.request.Name == name) {
				s.use(used, l.references())
			}
		}
		for _, v := range s.variables {
			if root == variablesName && (name == "" || v.name == name) {
				s.use(used, v.references())
			}
		}
	}
}

// names warns of names that two rules of an entry have: metrics and messages would not tell them apart.
func (c *profileCompiler) names(entry v1alpha1.TargetRules) {
	seen := map[string]source.Position{}
	for _, r := range entry.Rules {
		if r.Name == "" {
			continue
		}
		if earlier, ok := seen[r.Name]; ok {
			c.warn(source.DuplicateName, r.At, r.Path+".name", "the rule at %s has the name %q too", earlier, r.Name)
		}
		seen[r.Name] = r.At.Position()
	}
}

// order finds, for each selection, rules that have no effect because of a later one, and rules that are too early.
func (p *Program) order() source.Findings {
	var (
		findings source.Findings
		seen     = map[string]bool{}
	)
	once := func(into *source.Findings, finding source.Finding) {
		if !seen[finding.Error()] {
			seen[finding.Error()] = true
			*into = append(*into, finding)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(p.scopes), compareScopes) {
		for _, selected := range p.scopes[key] {
			for i, r := range selected.rules {
				later := selected.rules[i+1:]
				if hiding := slices.IndexFunc(later, func(l *rule) bool { return l.hides(r) }); hiding >= 0 {
					into, by := &findings, later[hiding]
					finding := source.Finding{Position: r.position, Path: r.path, Rule: NoEffect,
						Message: "has no effect: " + by.String() + " always writes the same places later"}
					if by.profile != r.profile {
						into, finding = &p.warnings, finding.Warn()
					}
					once(into, finding)
				}
				if p.partial[r.target.Name] {
					continue
				}
				for _, finding := range r.nowhere(selected.rules) {
					once(&p.warnings, finding)
				}
				if write, by := r.tooEarly(selected.rules[:i], later); by != nil {
					once(&findings, write.At.Finding(write.Path, "the container %s is added by a later rule, %s; this rule must stand behind it",
						write.Place.Container, by).Of(TooEarly))
				}
			}
		}
	}
	return findings
}

// hides says whether the rule always writes all that an earlier one writes, so that the earlier one has no effect.
func (r *rule) hides(earlier *rule) bool {
	if r.when != nil || r.family != nil || earlier.family != nil || r.observed != earlier.observed || r.target != earlier.target ||
		earlier.when == nil && earlier.constant() {
		// Of two rules without a condition that write constants, conflicts finds those that differ.
		return false
	}
	for i := range r.target.Forms {
		if form := &r.target.Forms[i]; form.Has(earlier.operation.Parts) && !form.Has(r.operation.Parts) {
			return false
		}
	}
	for _, purpose := range earlier.purposes {
		if !slices.Contains(r.purposes, purpose) {
			return false
		}
	}
	for i := range earlier.writes {
		if !slices.ContainsFunc(r.writes, func(w operation.Write) bool { return w.Place == earlier.writes[i].Place }) {
			return false
		}
	}
	return !r.scope.skips(r) // last, since it follows all variables of the rule
}

// skips says whether the rule is left out where a lookup finds nothing.
func (s *scope) skips(r *rule) bool {
	read := s.reach(r.references()).lookups[s]
	return slices.ContainsFunc(s.lookups, func(l *lookup) bool { return l.skip && read[l.request.Name] })
}

// constant says whether all values of the rule are known.
func (r *rule) constant() bool {
	return !slices.ContainsFunc(r.writes, func(w operation.Write) bool { _, ok := w.Value.Constant(); return !ok })
}

// tooEarly finds a write into a container that only a later rule brings.
func (r *rule) tooEarly(earlier, later []*rule) (operation.Write, *rule) {
	for _, write := range r.writes {
		container := write.Place.Container
		if container == "" || container == r.target.Container || slices.ContainsFunc(earlier, func(e *rule) bool { return e.brings(container) }) {
			continue
		}
		if i := slices.IndexFunc(later, func(l *rule) bool { return l.brings(container) }); i >= 0 {
			return write, later[i]
		}
	}
	return operation.Write{}, nil
}

// brings says whether the rule adds a whole container of a name.
func (r *rule) brings(container string) bool {
	return slices.ContainsFunc(r.writes, func(w operation.Write) bool {
		return (w.Place.Kind == operation.Container || w.Place.Kind == operation.InitContainer) && w.Place.Name == container &&
			slices.Contains(w.Value.Keys(), "image")
	})
}

// idle warns of entries that do nothing: targets without rules, and those that the contract keeps from being mutated.
func (c *profileCompiler) idle(entry v1alpha1.TargetRules, at string) {
	switch {
	case entry.Objects != nil:
	case len(entry.Rules) == 0:
		finding := entry.At.Finding(at+"."+entry.Target, "has no rules; leave it out").Of(NoEffect).Warn().Without(entry.At)
		c.program.warnings = append(c.program.warnings, finding)
	case entry.Target == serviceTarget && c.options.Generation == contract.Today:
		c.warn(NoEffect, entry.At, at+"."+entry.Target, "has no effect: with today's Gardener the Service of the kube-apiserver must not be mutated at all")
	}
}

// outdated warns of a rule that edits what only an object of the older generation has.
func (c *profileCompiler) outdated(r *rule, from v1alpha1.Rule) {
	if c.options.Generation != contract.Today || r.target.Other || r.target.HasToday(r.operation.Parts) {
		return
	}
	c.warn(NoEffect, from.At, r.path, "has no effect: with today's Gardener %s is an %s, which has no part for %s; use %s",
		r.target.Name, r.target.Forms[0].Kind, r.operation.Name, cmp.Or(onEtcd[r.operation.Name], "fields, for what an Etcd has itself"))
}

// onEtcd says how an Etcd of etcd-druid takes what other objects have in a pod template (etcd-druid: api/core/v1alpha1, EtcdSpec).
var onEtcd = map[string]string{
	"podAnnotations": "fields with spec.annotations, which the etcd's pods get", "checksumAnnotations": "fields with spec.annotations, which the etcd's pods get",
	"podLabels": "fields with spec.labels, which the etcd's pods get",
}

// serviceTarget is the target that exists in the older generation only.
const serviceTarget = "kube-apiserver-service"
