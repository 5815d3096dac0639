// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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

// observes reports whether a rule is only observed, as set by the rule itself, its set, or the profile, in this order.
func (c *profileCompiler) observes(r v1alpha1.Rule) bool {
	if r.Mode != "" {
		return r.Mode == v1alpha1.ModeObserve
	}
	return c.document.Mode == v1alpha1.ModeObserve || slices.Contains(c.document.Observe, string(c.set))
}

// denials compiles the denials of the profile for a target. They are rules that write only the message, and come before
// the target's other rules.
func (c *profileCompiler) denials(t *target.Target) []*mutation.Rule {
	var rules []*mutation.Rule
	for i, d := range c.document.Deny {
		if d.Name.Value == "" || d.When.Value == "" || d.Message.Value == "" {
			continue // another finding reports it
		}
		if len(d.Targets) > 0 && !slices.ContainsFunc(d.Targets, func(name source.Text) bool { return name.Value == t.Name }) {
			continue
		}
		compiled, findings := c.denial(t, d, fmt.Sprintf("%s[%d]", v1alpha1.DenyField, i))
		c.findings = append(c.findings, findings...)
		if len(findings) == 0 && compiled != nil {
			rules = append(rules, compiled)
		}
	}
	return rules
}

// denial compiles one denial for a target.
func (c *profileCompiler) denial(t *target.Target, d v1alpha1.Denial, path string) (*mutation.Rule, source.Findings) {
	from := v1alpha1.Rule{Name: d.Name.Value, When: d.When.At, At: d.Name.At, Path: path}
	compiled := &mutation.Rule{
		Target: t, Profile: c.document.Metadata.Name, Name: from.Name, Position: from.At.Position(), Path: path,
		Operation: operation.Definition{Name: v1alpha1.DenyField}, Scope: c.scope, Observed: c.observes(from),
	}
	if t.Purposed {
		compiled.Purposes = mutation.KnownPurposes
	}
	environment := c.seenBy(t)
	var findings source.Findings
	if compiled.When, findings = condition(environment, from); compiled.When == nil {
		return nil, findings
	}
	if compiled.When.Constant() && !c.scope.Environment.Partial().False(compiled.When) {
		return nil, append(findings, from.When.Finding(path+".when", "is always true: the rule denies everything").Of(source.AlwaysTrue))
	}
	context := operation.Context{Target: t, Expressions: environment}
	message, problems := context.Text(d.Message.At, path+".message")
	if len(problems) > 0 {
		return nil, append(findings, problems...)
	}
	compiled.Writes = []operation.Write{{
		Place: operation.Place{Kind: operation.Denied, Name: compiled.Profile + "/" + compiled.Name},
		Value: message, At: d.Message.At, Path: path + ".message",
		Apply: func(*target.Object, operation.Resolved) error { return errors.New("a denied object is not changed") },
	}}
	findings = append(findings, c.checkSecrets(compiled, message.References(), d.Message.At, path+".message", "the message")...)
	return compiled, append(findings, c.dead(compiled, from)...)
}

// checkSecrets finds a text of a rule that contains a value from a Secret, because it appears in responses, Events, logs,
// plans or metrics. The references are those of the text; what is its subject in the message.
func (c *profileCompiler) checkSecrets(r *mutation.Rule, references []string, at source.Node, path, what string) source.Findings {
	names := c.scope.NamesOf(r.Target, references)
	if names == nil {
		return nil
	}
	return source.Findings{at.Finding(path, "%s must not come from a Secret, as this one does from the Secret %s", what, strings.Join(names, ", ")).Of(SecretInName)}
}

// checkDenials reports denials that lack a field, have a duplicate name, or are for a target without rules.
func (c *profileCompiler) checkDenials() {
	seen := map[string]bool{}
	for i, d := range c.document.Deny {
		path := fmt.Sprintf("%s[%d]", v1alpha1.DenyField, i)
		for _, field := range []struct {
			name string
			text source.Text
		}{{"name", d.Name}, {"when", d.When}, {"message", d.Message}} {
			if field.text.Value == "" && (field.text.At.Absent() || field.text.At.Tag == "!!str") {
				at := field.text.At
				if at.Node == nil {
					at = c.document.Node.Get(v1alpha1.DenyField).Items()[i]
				}
				c.findings = append(c.findings, at.Finding(path+"."+field.name, "is missing").Of(source.MissingField))
			}
		}
		if name := d.Name.Value; name != "" && seen[name] {
			c.findings = append(c.findings, d.Name.At.Finding(path+".name", "another denial has the name %q", name).Of(source.DuplicateName))
		}
		seen[d.Name.Value] = true
		for j, name := range d.Targets {
			if !c.ruled[name.Value] {
				known := slices.DeleteFunc(target.Names(), func(known string) bool { return !c.ruled[known] })
				c.findings = append(c.findings, name.At.Finding(fmt.Sprintf("%s.targets[%d]", path, j), "the profile has no rules for %q%s", name.Value,
					source.Suggest(name.Value, known)).Of(UnknownTarget))
			}
		}
	}
}

// unknownTo returns the variables that are never known for objects of a target, with the places in which they are
// known.
func unknownTo(t *target.Target) map[string]string {
	const ofShoots = "the target %s is of a virtual garden, where there is no shoot"
	switch {
	case t.Garden:
		said := fmt.Sprintf(ofShoots, t.Name)
		return map[string]string{"shoot": said, "seed": said, "cloudProfile": said, "pool": said}
	case t.Purposed || t.Other:
		return map[string]string{"garden": "only the targets of a virtual garden know it"}
	default:
		return map[string]string{"garden": "only the targets of a virtual garden know it", "pool": "only the targets kubelet and node know it"}
	}
}

// seenBy returns the environment of expressions of rules for a target. Targets with the same properties share one.
func (c *profileCompiler) seenBy(t *target.Target) *expression.Environment {
	like := [2]bool{t.Garden, t.Purposed || t.Other}
	if known := c.seen[like]; known != nil {
		return known
	}
	environment, err := c.scope.Environment.Without(unknownTo(t))
	if err != nil {
		environment = c.scope.Environment // which is built of the same
	}
	c.seen[like] = environment
	return environment
}

// notKnown reports variables and lookups of the profile that a rule uses and that need facts unknown for its target. It
// ignores conditional uses, because the condition may depend on the target.
func (c *profileCompiler) notKnown(r *mutation.Rule, from v1alpha1.Rule) source.Findings {
	elsewhere := unknownTo(r.Target)
	var findings source.Findings
	seen := map[string]bool{}
	var visit func(references []string, through string, at source.Position)
	visit = func(references []string, through string, at source.Position) {
		for _, reference := range references {
			root, name := scope.SplitReference(reference)
			key := root + "." + name
			if where := elsewhere[root]; where != "" && through != "" && !seen["in "+through] {
				seen["in "+through] = true
				findings = append(findings, from.At.Finding(r.Path, "%s (%s) needs '%s', which %s does not know; %s", through, at, root, r.Target.Name, where).
					Of(expression.UnknownName))
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			switch root {
			case scope.VariablesName:
				if v := c.scope.VariableOf[name]; v != nil && v.Template != nil {
					visit(v.Template.Certain(), key, v.Node.Position())
				}
			case scope.LookupsName:
				if i := slices.IndexFunc(c.scope.Lookups, func(l *scope.Lookup) bool { return l.Request.Name == name }); i >= 0 {
					visit(certainKeys(c.scope.Lookups[i]), key, c.scope.Lookups[i].At)
				}
			}
		}
	}
	visit(r.References(), "", source.Position{})
	return findings
}

// certainKeys returns the references that the object name of the lookup always needs.
func certainKeys(l *scope.Lookup) []string {
	var references []string
	for _, template := range []*expression.Template{l.Name, l.Namespace} {
		if template != nil {
			references = append(references, template.Certain()...)
		}
	}
	return references
}
