// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options are what an installation says about all profiles.
type Options struct {
	// Generation is the generation of Gardener that is served.
	Generation contract.Generation
	// Kubernetes are the versions that are served; nil: all. Rules are not held against the flags of others.
	Kubernetes *semver.Constraints
	// ImageOverwrite has images that take the place of those in the image vectors of profiles; nil for none.
	ImageOverwrite *image.Vector
	// Mark makes a patch say, in annotations, which profiles and which versions of them it is of, and what stood where it writes, so
	// that it can be taken back.
	Mark bool
}

// Program is every loaded profile compiled. It is immutable and safe for concurrent use.
type Program struct {
	generation contract.Generation
	marks      bool
	profiles   []ProfileVersion
	scopes     map[scopeKey]map[formKey]*selection
	warnings   source.Findings
	// others are the forms of objects that the contract does not name.
	others []*target.Form
	// partial are the names of the targets for which a rule could not be compiled: what the others lack, it may bring.
	partial map[string]bool
	// memory is what became of texts of the kubelet so far.
	memory *memory
}

// ProfileVersion names a profile that is part of a program.
type ProfileVersion struct {
	Name, Hash string
	Providers  []string
}

// scopeKey is what a webhook is registered for; provider is empty for the garden namespace.
type scopeKey struct {
	set      target.Set
	provider string
	garden   bool
}

// Profiles are the profiles of the program, sorted by name.
func (p *Program) Profiles() []ProfileVersion { return p.profiles }

// profileCompiler compiles one profile.
type profileCompiler struct {
	program  *Program
	document *profile.Document
	options  Options
	scope    *scope
	findings source.Findings
	// views are what is seen of the versions of Kubernetes, by the variable that holds the version.
	views map[string][]versionView
	// seen are what expressions see, by what targets have in common for that.
	seen map[[2]bool]*expression.Environment
	// set is the set of which rules are compiled, and rules are those compiled so far.
	set   target.Set
	rules []*rule
	// broken are the values and rules that could not be compiled; what they would use is not known.
	broken []source.Node
}

func (c *profileCompiler) compile() {
	c.scope, c.findings = newScope(c.document, c.options)
	if c.scope == nil {
		return
	}
	c.broken = c.scope.broken
	for _, set := range target.Sets() {
		c.set = set
		objects := 0
		for _, entry := range c.rulesOf(set) {
			at := string(set)
			if entry.Objects != nil {
				at = fmt.Sprintf("%s.%s[%d]", set, v1alpha1.ObjectsField, objects)
				objects++
			}
			c.target(set, entry, at)
			c.names(entry)
			c.idle(entry, at)
		}
	}
	c.checkDenials()
	c.tidy()
}

func (c *profileCompiler) rulesOf(set target.Set) v1alpha1.Set {
	switch set {
	case target.Exposure:
		return c.document.ControlPlaneExposure
	case target.Backup:
		return c.document.ControlPlaneBackup
	default:
		return c.document.ControlPlane
	}
}

func (c *profileCompiler) target(set target.Set, entry v1alpha1.TargetRules, at string) {
	t, findings := targetOf(entry, at)
	c.findings = append(c.findings, findings...)
	if t == nil {
		c.broken = append(c.broken, entry.At)
		for _, r := range entry.Rules {
			c.broken = append(c.broken, r.At)
		}
		return
	}
	var rules []*rule
	for i, r := range entry.Rules {
		compiled, findings := c.rule(t, r, i)
		c.findings = append(c.findings, findings...)
		if compiled != nil {
			rules = append(rules, compiled)
		} else {
			c.broken = append(c.broken, r.At)
			c.program.partial[t.Name] = true
		}
	}
	c.rules = append(c.rules, rules...)
	if len(rules) > 0 && len(findings) == 0 {
		denials := c.denials(t)
		c.rules = append(c.rules, denials...)
		c.put(set, entry, t, append(denials, rules...), at)
	}
}

// put adds the rules for a target to the program.
func (c *profileCompiler) put(set target.Set, entry v1alpha1.TargetRules, t *target.Target, rules []*rule, at string) {
	if c.document.Retired {
		rules = nil
	}
	switch {
	case t.Garden:
		c.add(scopeKey{set: set, garden: true}, t, rules)
	case t.Other:
		for _, provider := range c.providers() {
			c.addOther(scopeKey{set: set, provider: provider}, entry, t, rules, at)
		}
	default:
		for _, provider := range c.providers() {
			c.add(scopeKey{set: set, provider: provider}, t, rules)
		}
	}
}

// providers are those of the profile; without any, which is a finding of its own, its rules are compared all the same.
func (c *profileCompiler) providers() []string {
	if len(c.document.Providers) == 0 {
		return []string{""}
	}
	return c.document.Providers
}

// targetOf is the target of an entry of a set. With findings it is the one that is likely meant, or nil.
func targetOf(entry v1alpha1.TargetRules, at string) (*target.Target, source.Findings) {
	if entry.Objects != nil {
		return otherTarget(entry, at)
	}
	t, ok := target.Lookup(entry.Target)
	if ok {
		return t, nil
	}
	known := append(target.Names(), v1alpha1.ObjectsField)
	finding := entry.At.Finding(at, "unknown target %q%s", entry.Target, source.Suggest(entry.Target, known)).Of(UnknownTarget).InPart()
	if meant, ok := source.Nearest(entry.Target, known); ok {
		finding = finding.Write(entry.At, meant)
		t, _ = target.Lookup(meant)
	}
	return t, source.Findings{finding}
}

// formsOf are the selections of a scope.
func (p *Program) formsOf(key scopeKey) map[formKey]*selection {
	if p.scopes[key] == nil {
		p.scopes[key] = map[formKey]*selection{}
	}
	return p.scopes[key]
}

// add puts rules behind those that other profiles have for the target.
func (c *profileCompiler) add(key scopeKey, t *target.Target, rules []*rule) {
	forms := c.program.formsOf(key)
	for i := range t.Forms {
		f := &t.Forms[i]
		at := formKey{f.Group, f.Kind, f.Name}
		if forms[at] == nil {
			forms[at] = &selection{target: t, form: f}
		}
		forms[at].rules = append(forms[at].rules, rules...)
	}
}

// Registrations are the webhooks that the program needs, in the order in which sets apply, then by provider. With today's Gardener the Service of
// the kube-apiserver is not among the objects, since it must not be mutated at all.
func (p *Program) Registrations() []Registration {
	var registrations []Registration
	for key, forms := range p.scopes {
		r := Registration{Set: key.set, Provider: key.provider, Garden: key.garden, Observed: true}
		for _, selected := range forms {
			r.Observed = r.Observed && selected.enforced != nil && len(selected.enforced.rules) == 0
			if selected.form.Kind != "Service" || selected.target.Other || p.generation != contract.Today {
				r.Forms = append(r.Forms, *selected.form)
			}
		}
		slices.SortFunc(r.Forms, target.Compare)
		if len(r.Forms) > 0 {
			registrations = append(registrations, r)
		}
	}
	slices.SortFunc(registrations, compareRegistrations)
	return registrations
}

// compareRegistrations orders webhooks by set and provider.
func compareRegistrations(a, b Registration) int {
	return cmp.Or(
		cmp.Compare(slices.Index(target.Sets(), a.Set), slices.Index(target.Sets(), b.Set)),
		strings.Compare(a.Provider, b.Provider),
	)
}
