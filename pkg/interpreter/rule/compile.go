// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Compile makes a program of documents that are in force together, in their order, and finds all that is wrong with them beside what is known
// already. There is no program where anything is wrong that is more than a warning.
func Compile(documents []*profile.Interpreter) (*Program, source.Findings) {
	scopes, err := theScopes()
	if err != nil {
		return nil, source.Findings{{Message: err.Error(), Rule: source.WrongValue}}
	}
	c := &compiler{scopes: scopes}
	var (
		entries []*entry
		known   source.Findings
	)
	for _, d := range documents {
		entries = append(entries, c.document(d)...)
		known = append(known, d.Findings...)
	}
	c.excluded(entries)
	findings := c.findings.Beyond(known)
	findings.Sort()
	if len(findings.Errors())+len(known.Errors()) > 0 {
		return nil, findings
	}
	return newProgram(entries), findings
}

// compiler compiles rules, and collects what is wrong.
type compiler struct {
	scopes map[interpreter.Operation]scope
	scope
	findings  source.Findings
	answering []answering
	claimants []claimant
	// of is the kind that the rules are of, and profile the name of the document.
	of      *entry
	profile string
}

// entry is what a document says of kinds.
type entry struct {
	// version is empty where it is any.
	group, version string
	kinds          []string
	rules
	// componentsAt and reviseAt are where these operations are written.
	componentsAt, reviseAt place
}

// place is where something stands in a profile.
type place = source.Place

func (c *compiler) add(p place, rule source.Rule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...))
}

func (c *compiler) addAll(findings source.Findings) { c.findings = append(c.findings, findings...) }

// document compiles what a document says of kinds.
func (c *compiler) document(d *profile.Interpreter) []*entry {
	root := place{Node: d.Node}
	if len(d.Kinds) == 0 {
		c.add(root.At("kinds"), source.MissingField, "says nothing: at least one kind is needed")
	}
	c.profile = d.Metadata.Name
	entries := make([]*entry, len(d.Kinds))
	for i, spec := range d.Kinds {
		entries[i] = c.kind(root.At("kinds").Item(i), spec)
	}
	c.hidden()
	c.overridden()
	return entries
}

// kind compiles what is said of a kind, operation by operation.
func (c *compiler) kind(p place, spec v1alpha1.InterpretedKind) *entry {
	c.of = &entry{componentsAt: p.At(string(interpreter.Components)), reviseAt: p.At(string(interpreter.Revise))}
	c.names(p, spec)
	c.needed(p, "apiVersion", spec.APIVersion)
	if !spec.APIVersion.At.Absent() {
		var ok bool
		if c.of.group, c.of.version, ok = splitVersion(spec.APIVersion.Value); !ok {
			c.add(p.At("apiVersion"), source.InvalidName, "%q is neither v1, nor group/version, nor group/* for all versions", spec.APIVersion.Value)
		}
	}
	r := &c.of.rules
	r.replicas = each(c, interpreter.Replicas, p, spec.Replicas, c.replicas)
	r.components = each(c, interpreter.Components, p, spec.Components, c.components)
	r.revise = each(c, interpreter.Revise, p, spec.Revise, c.edits(interpreter.Revise))
	r.retain = each(c, interpreter.Retain, p, spec.Retain, c.retain)
	r.aggregate = each(c, interpreter.Aggregate, p, spec.Aggregate, c.aggregate)
	r.status = each(c, interpreter.Status, p, spec.Status, c.status)
	r.health = each(c, interpreter.Health, p, spec.Health, c.health)
	r.dependencies = each(c, interpreter.Dependencies, p, spec.Dependencies, c.dependencies)
	r.prune = each(c, interpreter.Prune, p, spec.Prune, c.edits(interpreter.Prune))
	if !r.any() {
		c.add(p, source.MissingField, "says nothing of the kind: at least one operation is needed, such as health")
	}
	return c.of
}

// names reads the names of the kinds.
func (c *compiler) names(p place, spec v1alpha1.InterpretedKind) {
	if p.At("kinds").Missing {
		c.needed(p, "kind", spec.Kind)
		c.name(p.At("kind"), spec.Kind)
		return
	}
	if !p.At("kind").Missing || len(spec.Kinds) == 0 {
		c.add(p, source.ExclusiveFields, "exactly one of kind and kinds is needed")
	}
	for i, name := range spec.Kinds {
		at := p.At("kinds").Item(i)
		if slices.Contains(c.of.kinds, name.Value) {
			c.add(at, source.DuplicateName, "%q stands twice", name.Value)
			continue
		}
		c.name(at, name)
	}
}

// name reads the name of a kind.
func (c *compiler) name(p place, name source.Text) {
	if name.At.Absent() || name.Value == "" {
		return
	}
	if !kindName.MatchString(name.Value) {
		c.add(p, source.InvalidName, "%q is no kind, such as Deployment", name.Value)
	}
	c.of.kinds = append(c.of.kinds, name.Value)
}

// each compiles the rules of an operation.
func each[S, R any](c *compiler, o interpreter.Operation, p place, specs []S, compile func(place, S) R) []R {
	c.scope = c.scopes[o]
	list := p.At(string(o))
	if !list.Missing && len(specs) == 0 {
		c.add(list, source.MissingField, "has no rule; without one, leave it out")
	}
	compiled := make([]R, len(specs))
	for i, spec := range specs {
		compiled[i] = compile(list.Item(i), spec)
	}
	return compiled
}

// at is what answers call a place.
func (c *compiler) at(p place) string { return c.profile + ": " + p.Path }

// spot is a place for what fails there.
func (c *compiler) spot(p place) spot { return spot{c.at(p), p.Node.Position().String()} }

// needed finds that a text is missing or empty.
func (c *compiler) needed(p place, name string, t source.Text) {
	switch {
	case t.At.Absent():
		c.add(p.At(name), source.MissingField, "is missing")
	case strings.TrimSpace(t.Value) == "":
		c.add(p.At(name), source.WrongValue, "is empty")
	}
}

// partial is what is known of an expression before there is an object: the kind.
func (c *compiler) partial(env *expression.Environment) *expression.Partial {
	partial := env.Partial()
	if len(c.of.kinds) == 1 {
		partial = partial.With("kind", "kind", expression.Value(c.of.kinds[0]))
	}
	partial = partial.With("kind", "group", expression.Value(c.of.group))
	if c.of.version != "" {
		partial = partial.With("kind", "version", expression.Value(c.of.version))
	}
	return partial
}

var (
	kindName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	versionName = regexp.MustCompile(`^[a-z][a-z0-9]{0,62}$`)
)

// splitVersion takes an apiVersion apart; the version is empty for all of a group.
func splitVersion(text string) (group, version string, ok bool) {
	group, version, found := strings.Cut(text, "/")
	if !found {
		return "", text, versionName.MatchString(text)
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 {
		return "", "", false
	}
	if version == "*" {
		return group, "", true
	}
	return group, version, versionName.MatchString(version)
}
