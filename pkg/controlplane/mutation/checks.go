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
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func compareScopes(a, b scopeKey) int {
	return cmp.Or(cmp.Compare(slices.Index(target.Sets(), a.set), slices.Index(target.Sets(), b.set)), strings.Compare(a.provider, b.provider))
}

// warn adds a warning: the profile is valid, but probably not as its author intended.
func (c *profileCompiler) warn(rule source.Rule, at source.Node, path, format string, arguments ...any) {
	c.program.warnings = append(c.program.warnings, at.Finding(path, format, arguments...).Of(rule).Warn())
}

// dead reports a condition that never holds, either for any facts or in every supported version of Kubernetes.
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
	views := viewsOfVersions(c, r.target)
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

// tidy warns of unused declarations of a profile.
func (c *profileCompiler) tidy() {
	used := map[string]bool{}
	for _, r := range c.rules {
		markUsed(c.scope, used, r.references())
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
				markUsed(c.scope, used, []string{section.name + "." + name})
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

// markUsed adds parameters, lookups and variables that references reach, as <section>.<name>; a section alone is all of it.
func markUsed(s *scope, used map[string]bool, references []string) {
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
				markUsed(s, used, l.references())
			}
		}
		for _, v := range s.variables {
			if root == variablesName && (name == "" || v.name == name) {
				markUsed(s, used, v.references())
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

// checkOrder finds, for each selection, rules that have no effect because of a later one, and rules that are too early.
func checkOrder(p *Program) source.Findings {
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
				if hiding := slices.IndexFunc(later, func(l *rule) bool { return hidesEarlier(l, r) }); hiding >= 0 {
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
				for _, finding := range checkContainers(r, selected.rules) {
					once(&p.warnings, finding)
				}
				if write, by := writesTooEarly(r, selected.rules[:i], later); by != nil {
					once(&findings, write.At.Finding(write.Path, "the container %s is added by a later rule, %s; move this rule after it",
						write.Place.Container, by).Of(TooEarly))
				}
			}
		}
	}
	return findings
}

// hidesEarlier reports whether the rule always overwrites everything that an earlier one writes, so that the earlier
// one has no effect.
func hidesEarlier(r *rule, earlier *rule) bool {
	if r.when != nil || r.family != nil || earlier.family != nil || r.observed != earlier.observed || r.target != earlier.target ||
		earlier.when == nil && isConstantRule(earlier) {
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
	return !skipsLookup(r.scope, r) // last, since it follows all variables of the rule
}

// skipsLookup reports whether the rule is skipped if a lookup finds nothing.
func skipsLookup(s *scope, r *rule) bool {
	read := s.reach(r.references()).lookups[s]
	return slices.ContainsFunc(s.lookups, func(l *lookup) bool { return l.skip && read[l.request.Name] })
}

// isConstantRule reports whether all values of the rule are constants.
func isConstantRule(r *rule) bool {
	return !slices.ContainsFunc(r.writes, func(w operation.Write) bool { _, ok := w.Value.Constant(); return !ok })
}

// writesTooEarly finds a write into a container that only a later rule brings.
func writesTooEarly(r *rule, earlier, later []*rule) (operation.Write, *rule) {
	for _, write := range r.writes {
		container := write.Place.Container
		if container == "" || container == r.target.Container || slices.ContainsFunc(earlier, func(e *rule) bool { return bringsContainer(e, container) }) {
			continue
		}
		if i := slices.IndexFunc(later, func(l *rule) bool { return bringsContainer(l, container) }); i >= 0 {
			return write, later[i]
		}
	}
	return operation.Write{}, nil
}

// bringsContainer reports whether the rule adds a whole container with a name.
func bringsContainer(r *rule, container string) bool {
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

// outdated warns of a rule that edits a part that only objects of the older Gardener generation have.
func (c *profileCompiler) outdated(r *rule, from v1alpha1.Rule) {
	if c.options.Generation != contract.Today || r.target.Other || r.target.HasToday(r.operation.Parts) {
		return
	}
	c.warn(NoEffect, from.At, r.path, "has no effect: with today's Gardener %s is an %s, which has no part for %s; use %s",
		r.target.Name, r.target.Forms[0].Kind, r.operation.Name, cmp.Or(onEtcd[r.operation.Name], "fields, for what an Etcd has itself"))
}

// onEtcd names the fields of an Etcd of etcd-druid that correspond to fields of a pod template (etcd-druid:
// api/core/v1alpha1, EtcdSpec).
var onEtcd = map[string]string{
	"podAnnotations": "fields with spec.annotations, which the etcd's pods get", "checksumAnnotations": "fields with spec.annotations, which the etcd's pods get",
	"podLabels": "fields with spec.labels, which the etcd's pods get",
}

// serviceTarget is the target that exists in the older generation only.
const serviceTarget = "kube-apiserver-service"

// findConflicts reports unconditional rules that always write different values to the same place: in one profile or in
// several, in one set or in the two sets of one provider, which meet if a shoot's seed is on the same cloud. It ignores
// conditions and computed values: there, the order of the rules decides during the admission.
func findConflicts(p *Program) source.Findings {
	var findings source.Findings
	seen := map[string]bool{}
	for _, rules := range rulesByPlace(p) {
		for _, finding := range conflictsAmong(rules) {
			if !seen[finding.Error()] {
				seen[finding.Error()] = true
				findings = append(findings, finding)
			}
		}
	}
	return findings
}

// meetingKey is a form of objects of a provider, in any set.
type meetingKey struct {
	provider string
	garden   bool
	form     formKey
}

// rulesByPlace returns the rules that can apply to the same object, in the order of their application.
func rulesByPlace(p *Program) map[meetingKey][]*rule {
	rules := map[meetingKey][]*rule{}
	for _, set := range target.Sets() {
		for key, forms := range p.scopes {
			if key.set != set {
				continue
			}
			for form, selected := range forms {
				at := meetingKey{key.provider, key.garden, form}
				rules[at] = append(rules[at], selected.rules...)
			}
		}
	}
	return rules
}

func conflictsAmong(rules []*rule) source.Findings {
	var (
		findings source.Findings
		always   []constantWrite
	)
	for _, r := range rules {
		if r.when != nil || r.family != nil {
			continue
		}
		for _, write := range r.writes {
			value, ok := write.Value.Constant()
			if !ok {
				continue
			}
			now := constantWrite{r, write, value}
			if i := slices.IndexFunc(always, now.contradicts); i >= 0 {
				findings = append(findings, write.At.Finding(write.Path, "%s of %s is written as %s here and as %s at %s; both rules always apply",
					write.Place, r.target.Name, value, always[i].value, always[i].write.At.Position()).Of(Conflict))
			}
			always = append(always, now)
		}
	}
	return findings
}

type constantWrite struct {
	rule  *rule
	write operation.Write
	value operation.Resolved
}

// contradicts reports whether two writes exclude each other: different values for one place, a field and one inside it,
// or a whole flag and one of its entries.
func (w constantWrite) contradicts(other constantWrite) bool {
	a, b := w.write.Place, other.write.Place
	if w.rule.observed != other.rule.observed {
		// One of the two is not applied.
		return false
	}
	if w.rule.target.Other && w.rule.target.Name != other.rule.target.Name {
		// The rule for the more exact name is meant to win.
		return false
	}
	if w.rule.purposes != nil && other.rule.purposes != nil && !slices.ContainsFunc(w.rule.purposes, func(p string) bool {
		return slices.Contains(other.rule.purposes, p)
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
	return oneIsFlag && a.Container == b.Container && flagOf(a) != "" && flagOf(a) == flagOf(b)
}

// samplePods returns the parts of the pods of each target in all samples.
var samplePods = sync.OnceValue(func() map[string]podParts {
	parts := map[string]podParts{}
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			parsed, err := document.Parse(raw)
			if err != nil {
				continue
			}
			request := requestFor(parsed.Root(), plane.Garden)
			if t, _ := target.Match(plane.Garden, request.Group, request.Kind, request.Name); t != nil {
				if parts[t.Name].volumes == nil {
					parts[t.Name] = podParts{volumes: map[string]bool{}, containers: map[string]bool{}}
				}
				parts[t.Name].add(parsed.Root().Get("spec"))
			}
			parsed.Release()
		}
	}
	return parts
})

// podParts are the names of volumes and of containers of both kinds.
type podParts struct{ volumes, containers map[string]bool }

func (p podParts) add(spec *document.Node) {
	pod := spec.Find("template", "spec")
	for _, volume := range pod.Get("volumes").Items() {
		p.volumes[text(volume.Get("name"))] = true
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Items() {
		p.volumes[text(claim.Find("metadata", "name"))] = true
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range pod.Get(list).Items() {
			p.containers[text(container.Get("name"))] = true
		}
	}
}

// checkContainers finds mounts of volumes, and containers without an image, that no rule brings and no sample has. Another version of Gardener may have them.
func checkContainers(r *rule, all []*rule) source.Findings {
	if r.family != nil || r.target.Other {
		return nil
	}
	var findings source.Findings
	for i := range r.writes {
		write := &r.writes[i]
		write.Mounts(func(volume string, at source.Node, path string) {
			if !samplePods()[r.target.Name].volumes[volume] && !brought(all, volume) {
				findings = append(findings, at.Finding(path, "no volume %s is known: neither does a rule bring it, nor does %s have it in the samples",
					volume, r.target.Name).Of(UnknownVolume).Warn())
			}
		})
		if kind := write.Place.Kind; kind != operation.Container && kind != operation.InitContainer || removes(write) {
			continue
		}
		container := write.Place.Name
		bringing := func(by *rule) bool { return by.family != nil || bringsContainer(by, container) }
		if !samplePods()[r.target.Name].containers[container] && !slices.ContainsFunc(all, bringing) {
			findings = append(findings, write.At.Finding(write.Path,
				"has no image, and no container %s is known that it could be for: neither does a rule bring it, nor does %s have it in the samples",
				container, r.target.Name).Of(UnknownContainer).Warn())
		}
	}
	return findings
}

// brought reports whether a rule may add a volume with a name.
func brought(rules []*rule, name string) bool {
	for _, r := range rules {
		for i := range r.writes {
			if write := &r.writes[i]; write.Place.Kind == operation.Volume && !removes(write) && (write.Place.Name == name || r.family != nil) {
				return true
			}
		}
	}
	return false
}
