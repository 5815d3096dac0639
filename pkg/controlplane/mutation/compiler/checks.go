// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// warn adds a warning: the profile is valid, but probably not as its author intended.
func (c *profileCompiler) warn(rule source.LintRule, at source.Node, path, format string, arguments ...any) {
	c.all.warnings = append(c.all.warnings, at.Finding(path, format, arguments...).Of(rule).Warn())
}

// dead reports a condition that is always false, for any facts or in each supported version of Kubernetes.
func (c *profileCompiler) dead(r *mutation.Rule, from v1alpha1.Rule) source.Findings {
	if r.When == nil {
		return nil
	}
	path := r.Path + ".when"
	if c.scope.Environment.Partial().False(r.When) {
		return source.Findings{from.When.Finding(path, "is always false: the rule never applies").Of(source.NeverApplies)}
	}
	if r.When.Constant() {
		c.warn(source.AlwaysTrue, from.When, path, "is always true; leave it out")
		return nil
	}
	views := viewsOfVersions(c, r.Target)
	if c.options.Generation == contract.Labelled || len(views) == 0 ||
		slices.ContainsFunc(views, func(v versionView) bool { return !v.partial.False(r.When) }) {
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

// tidy warns of unused declarations of a profile.
func (c *profileCompiler) tidy() {
	used := map[string]bool{}
	for _, r := range c.rules {
		markUsed(c.scope, used, r.References())
	}
	sections := []struct {
		name  string
		names []string
	}{
		{scope.ParametersName, slices.Collect(maps.Keys(c.document.Parameters))},
		{scope.LookupsName, slices.Collect(maps.Keys(c.document.Lookups))},
		{scope.VariablesName, slices.Collect(maps.Keys(c.document.Variables))},
	}
	for _, section := range sections {
		slices.Sort(section.names)
		for _, name := range section.names {
			if c.mayUse(name) {
				markUsed(c.scope, used, []string{section.name + "." + name})
			}
		}
	}
	for _, section := range sections {
		for _, name := range section.names {
			if path := section.name + "." + name; !used[section.name] && !used[path] {
				c.warn(source.Unused, scope.NodeAt(c.document.Node, section.name, name), path, "is not used by any rule")
			}
		}
	}
}

// mayUse reports whether a rule that could not be compiled may use a name, or whether a misspelt name may mean it.
func (c *profileCompiler) mayUse(name string) bool {
	return slices.ContainsFunc(c.broken, mentions(name)) || slices.ContainsFunc(c.findings, func(f source.Finding) bool {
		return f.Rule == expression.UnknownName && strings.Contains(f.Message, strconv.Quote(name))
	})
}

// mentions returns a function that reports whether a value contains a name in one of its texts.
func mentions(name string) func(source.Node) bool {
	var visit func(n *yaml.Node) bool
	visit = func(n *yaml.Node) bool {
		return n != nil && (strings.Contains(n.Value, name) || slices.ContainsFunc(n.Content, visit))
	}
	return func(n source.Node) bool { return visit(n.Node) }
}

// markUsed adds parameters, lookups and variables that references reach, as <section>.<name>; a section alone is all of
// it.
func markUsed(s *scope.Scope, used map[string]bool, references []string) {
	for reference := range s.Expand(references) {
		root, name := scope.SplitReference(reference)
		used[strings.TrimSuffix(root+"."+name, ".")] = true
	}
}

// names warns of two rules of an entry with the same name, because metrics and messages cannot distinguish them.
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

// checkOrder finds, for each selection, rules that have no effect because of a later one, and rules that are too early.
func checkOrder(all *compilation) source.Findings {
	var findings source.Findings
	for _, selected := range all.program.Selections() {
		for i, r := range selected.Rules {
			later := selected.Rules[i+1:]
			if hiding := slices.IndexFunc(later, func(l *mutation.Rule) bool { return hidesEarlier(l, r) }); hiding >= 0 {
				by := later[hiding]
				finding := source.Finding{Position: r.Position, Path: r.Path, Rule: NoEffect,
					Message: "has no effect: " + by.String() + " always writes the same places later"}
				if by.Profile == r.Profile {
					findings = append(findings, finding)
				} else {
					all.warnings = append(all.warnings, finding.Warn())
				}
			}
			if all.partial[r.Target.Name] {
				continue
			}
			if write, by := writesTooEarly(r, selected.Rules[:i], later); by != nil {
				findings = append(findings, write.At.Finding(write.Path, "the container %s is added by a later rule, %s; move this rule after it",
					write.Place.Container, by).Of(TooEarly))
			}
		}
	}
	return findings
}

// hidesEarlier reports whether the rule always overwrites everything that an earlier one writes, so that the earlier
// one has no effect.
func hidesEarlier(r *mutation.Rule, earlier *mutation.Rule) bool {
	if r.When != nil || r.ForEach != nil || earlier.ForEach != nil || r.Observed != earlier.Observed || r.Target != earlier.Target ||
		earlier.When == nil && isConstantRule(earlier) {
		// Of two rules without a condition that write constants, conflicts finds those that differ.
		return false
	}
	for i := range r.Target.Forms {
		if form := &r.Target.Forms[i]; form.Has(earlier.Operation.Parts) && !form.Has(r.Operation.Parts) {
			return false
		}
	}
	for _, purpose := range earlier.Purposes {
		if !slices.Contains(r.Purposes, purpose) {
			return false
		}
	}
	return !slices.ContainsFunc(earlier.Writes, func(e operation.Write) bool {
		return !slices.ContainsFunc(r.Writes, func(w operation.Write) bool { return w.Place == e.Place })
	})
}

// isConstantRule reports whether all values of the rule are constants.
func isConstantRule(r *mutation.Rule) bool {
	return !slices.ContainsFunc(r.Writes, func(w operation.Write) bool { _, ok := w.Value.Constant(); return !ok })
}

// writesTooEarly finds a write into a container that only a later rule adds.
func writesTooEarly(r *mutation.Rule, earlier, later []*mutation.Rule) (operation.Write, *mutation.Rule) {
	for _, write := range r.Writes {
		container := write.Place.Container
		if container == "" || container == r.Target.Container || slices.ContainsFunc(earlier, func(e *mutation.Rule) bool { return addsContainer(e, container) }) {
			continue
		}
		if i := slices.IndexFunc(later, func(l *mutation.Rule) bool { return addsContainer(l, container) }); i >= 0 {
			return write, later[i]
		}
	}
	return operation.Write{}, nil
}

// addsContainer reports whether the rule adds a whole container with a name.
func addsContainer(r *mutation.Rule, container string) bool {
	return slices.ContainsFunc(r.Writes, func(w operation.Write) bool {
		return w.Place.Kind == operation.Container && w.Place.Name == container &&
			slices.Contains(w.Value.Keys(), "image")
	})
}

// idle warns of entries without effect: targets without rules, and targets that the contract excludes from mutation.
func (c *profileCompiler) idle(entry v1alpha1.TargetRules, at string) {
	switch _, known := target.Lookup(entry.Target); {
	case !known:
	case len(entry.Rules) == 0:
		c.warn(NoEffect, entry.At, at+"."+entry.Target, "has no rules; leave it out")
	case entry.Target == serviceTarget && c.options.Generation == contract.Today:
		c.warn(NoEffect, entry.At, at+"."+entry.Target, "has no effect: current versions of Gardener do not allow changes of the Service of the kube-apiserver")
	}
}

// outdated warns of a rule that edits a part that only objects of the older Gardener generation have.
func (c *profileCompiler) outdated(r *mutation.Rule, from v1alpha1.Rule) {
	if c.options.Generation != contract.Today || r.Target.Other || r.Target.HasToday(r.Operation.Parts) {
		return
	}
	c.warn(NoEffect, from.At, r.Path, "has no effect: with current versions of Gardener, %s is an %s, which has no part for %s; use %s",
		r.Target.Name, r.Target.Forms[0].Kind, r.Operation.Name, cmp.Or(onEtcd[r.Operation.Name], "fields, for the fields of the Etcd itself"))
}

// onEtcd names the fields of an Etcd of etcd-druid that correspond to fields of a pod template (etcd-druid:
// api/core/v1alpha1, EtcdSpec).
var onEtcd = map[string]string{
	"podAnnotations": "fields with spec.annotations, which the etcd's pods get",
	"podLabels":      "fields with spec.labels, which the etcd's pods get",
}

// serviceTarget is the target that exists in the older generation only.
const serviceTarget = "kube-apiserver-service"

// findConflicts reports unconditional rules that always write different values to the same place: in one or several
// profiles, in one set, or in the two sets of a provider, which apply to the same object if a shoot's seed is on the
// same cloud. It ignores conditions and computed values: for these, the order of the rules decides during the
// admission.
func findConflicts(p *mutation.Program) source.Findings {
	var findings source.Findings
	for _, rules := range rulesByPlace(p) {
		findings = append(findings, conflictsAmong(rules)...)
	}
	return findings
}

// meetingKey identifies objects of a provider, in any set.
type meetingKey struct {
	provider          string
	garden            bool
	group, kind, name string
}

// rulesByPlace returns the rules that can apply to the same object, in the order of their application.
func rulesByPlace(p *mutation.Program) map[meetingKey][]*mutation.Rule {
	rules := map[meetingKey][]*mutation.Rule{}
	for key, selected := range p.Selections() {
		at := meetingKey{key.Provider, key.Garden, selected.Form.Group, selected.Form.Kind, selected.Form.Name}
		rules[at] = append(rules[at], selected.Rules...)
	}
	return rules
}

func conflictsAmong(rules []*mutation.Rule) source.Findings {
	var (
		findings source.Findings
		always   []constantWrite
	)
	for _, r := range rules {
		if r.When != nil || r.ForEach != nil {
			continue
		}
		for _, write := range r.Writes {
			value, ok := write.Value.Constant()
			if !ok {
				continue
			}
			now := constantWrite{r, write, value}
			if i := slices.IndexFunc(always, now.contradicts); i >= 0 {
				findings = append(findings, write.At.Finding(write.Path, "%s of %s is written as %s here and as %s at %s; both rules always apply",
					write.Place, r.Target.Name, value, always[i].value, always[i].write.At.Position()).Of(Conflict))
			}
			always = append(always, now)
		}
	}
	return findings
}

type constantWrite struct {
	rule  *mutation.Rule
	write operation.Write
	value operation.Resolved
}

// contradicts reports whether two writes exclude each other: different values for one place, a field and one inside it,
// or a whole flag and one of its entries.
func (w constantWrite) contradicts(other constantWrite) bool {
	a, b := w.write.Place, other.write.Place
	if w.rule.Observed != other.rule.Observed {
		// One of the two is not applied.
		return false
	}
	if w.rule.Target.Other && w.rule.Target.Name != other.rule.Target.Name {
		// The rule for the more specific name wins by intention.
		return false
	}
	if w.rule.Purposes != nil && other.rule.Purposes != nil && !slices.ContainsFunc(w.rule.Purposes, func(p string) bool {
		return slices.Contains(other.rule.Purposes, p)
	}) {
		return false
	}
	if a == b {
		return !w.value.Equal(other.value)
	}
	if a.Covers(b) || b.Covers(a) {
		outer := w
		if b.Covers(a) {
			outer = other
		}
		return string(outer.value.JSON) != "{}"
	}
	oneIsFlag := (a.Kind == operation.Flag) != (b.Kind == operation.Flag)
	return oneIsFlag && a.Container == b.Container && mutation.FlagOf(a) != "" && mutation.FlagOf(a) == mutation.FlagOf(b)
}
