// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// rule is a compiled rule.
type rule struct {
	target    *target.Target
	purposes  []string
	profile   string
	name      string
	position  source.Position
	path      string
	operation operation.Definition
	when      *expression.Expression
	whenText  string // as it is written; empty for a family, whose items each see another one
	writes    []operation.Write
	// keep says that on UPDATE the places stay what the old object has.
	keep bool
	// observed says that the rule is computed and not applied.
	observed bool
	// override says that the rule gave a reason for writing what the contract reserves.
	override bool
	scope    *scope
	// family is set for a rule with forEach, of which the writes are samples; item is set for one of its members.
	family *family
	item   string
	// whole is the rule of which this is a member.
	whole *rule
	// reach is what its expressions need; early says that its condition needs no lookup, though the rule does.
	reach *needs
	early bool
	// inKubelet says that it writes nothing but the texts of the kubelet.
	inKubelet bool
}

// String names the rule for messages: profile, rule with its item, and position.
func (r *rule) String() string {
	return fmt.Sprintf("%s/%s (%s)", r.profile, nameOf(r.name, r.item), r.position)
}

// nameOf is the name of a rule with its item.
func nameOf(rule, item string) string {
	if item == "" {
		return rule
	}
	return rule + "[" + item + "]"
}

// rule compiles a rule. It goes on after each mistake; the rule is nil when it could not be compiled, and what depends on it as a
// whole is not checked.
func (c *profileCompiler) rule(t *target.Target, r v1alpha1.Rule, index int) (*rule, source.Findings) {
	definition, arguments, findings := operationOf(t, r)
	purposes, problems := purposesOf(t, r)
	findings = append(findings, problems...)
	compiled := &rule{
		target: t, purposes: purposes, profile: c.document.Metadata.Name, name: r.Name, position: r.At.Position(), path: r.Path,
		operation: definition, override: r.Override != "", scope: c.scope,
	}
	compiled.observed = c.observes(r)
	if compiled.name == "" {
		compiled.name = fmt.Sprintf("%s[%d].%s", t.Name, index, definition.Name)
	}
	findings = append(findings, c.fill(compiled, r, arguments)...)
	if len(findings) > 0 {
		return nil, findings
	}
	c.scope.taint(t, compiled.writes, compiled.itemReferences())
	return compiled, c.check(compiled, r)
}

// fill compiles the expressions and the operation of a rule; the operation is empty where nobody knows which is meant.
func (c *profileCompiler) fill(compiled *rule, r v1alpha1.Rule, arguments source.Field) source.Findings {
	var findings, problems source.Findings
	definition, path := compiled.operation, r.Path+"."+compiled.operation.Name
	unusable := definition.Name == ""
	if !unusable && !compiled.target.Has(definition.Parts) {
		findings, unusable = append(findings, arguments.Key.Finding(path, "%s cannot be used on %s; these can: %s", definition.Name,
			compiled.target.Name, usable(compiled.target)).Of(operation.WrongTarget)), true
	}
	environment := c.seenBy(compiled.target)
	context := operation.Context{Target: compiled.target, Expressions: environment, Files: c.document.Attachments, Refused: c.document.Refused}
	if r.ForEach.Node != nil {
		if compiled.family, problems = c.family(r, context, arguments.Value, path); len(problems) > 0 {
			// What an item is, and so what the rest of the rule means, is not known.
			return append(findings, problems...)
		}
		environment = compiled.family.environment
	}
	compiled.when, problems = condition(environment, r)
	findings = append(findings, problems...)
	if compiled.when != nil && compiled.family == nil {
		compiled.whenText = r.When.Value
		c.scope.conditions[r.When.Value]++
	}
	switch {
	case unusable:
		return findings
	case compiled.family != nil:
		compiled.writes, problems = compiled.family.sample(definition)
	default:
		compiled.writes, problems = definition.Compile(&context, arguments.Value, path)
	}
	return append(findings, problems...)
}

// itemReferences are the dotted paths of what the items of the rule come from; nil without forEach.
func (r *rule) itemReferences() []string {
	if r.family == nil {
		return nil
	}
	return r.family.items.references()
}

// observes says whether a rule is computed only: the rule itself says so, or else its set or the profile.
func (c *profileCompiler) observes(r v1alpha1.Rule) bool {
	if r.Mode != "" {
		return r.Mode == v1alpha1.ModeObserve
	}
	return c.document.Mode == v1alpha1.ModeObserve || slices.Contains(c.document.Observe, string(c.set))
}

// check finds what is wrong with a rule as a whole.
func (c *profileCompiler) check(compiled *rule, from v1alpha1.Rule) source.Findings {
	compiled.keep = from.OnUpdate == v1alpha1.OnUpdateKeep || from.OnUpdate == "" && compiled.operation.KeepsByDefault
	findings := append(doubleWrites(compiled), refuse(compiled.target, compiled, c.options.Generation)...)
	if compiled.override && len(findings) == 0 && needless(compiled.target, compiled) {
		override := nodeAt(from.At, "override")
		findings = append(findings, override.Finding(compiled.path+".override", "is not needed: the rule writes nothing that the contract reserves").
			Of(NeedlessOverride).Without(override))
	}
	findings = append(findings, unnamedContainers(compiled)...)
	findings = append(findings, c.notKnown(compiled, from)...)
	if compiled.family != nil {
		findings = append(findings, c.tellsSecrets(compiled)...)
	}
	findings = append(findings, c.dead(compiled, from)...)
	c.outdated(compiled, from)
	findings = append(findings, c.kubernetes(compiled)...)
	return append(findings, compiled.cannotKeep()...)
}

// tellsSecrets finds names that are computed from a Secret: names stand in messages, plans and metrics.
func (c *profileCompiler) tellsSecrets(r *rule) source.Findings {
	var findings source.Findings
	for _, name := range r.family.names {
		references := name.template.References()
		if usesItem(references) {
			references = append(references, r.family.items.references()...)
		}
		for _, lookup := range c.scope.secretsIn(references) {
			findings = append(findings, name.node.Finding(name.path, "a name must not come from a Secret, as this one does from the lookup %s",
				lookup.request.Name).Of(SecretInName))
		}
		if c.scope.readsSecret(r.target, references) {
			findings = append(findings, name.node.Finding(name.path, "a name must not come from a Secret, as this one does from the object").Of(SecretInName))
		}
	}
	return findings
}

// cannotKeep finds a place that cannot stay what the old object has.
func (r *rule) cannotKeep() source.Findings {
	if !r.keep {
		return nil
	}
	for _, write := range r.writes {
		if write.Keep == nil {
			return source.Findings{write.At.Finding(r.path+".onUpdate", "%s cannot keep what the old object has; onUpdate must be set", write.Place).Of(CannotKeep)}
		}
	}
	return nil
}

// operationOf finds the one operation of a rule. With findings it is the one that is likely meant, or none.
func operationOf(t *target.Target, r v1alpha1.Rule) (operation.Definition, source.Field, source.Findings) {
	known := slices.Concat(operation.Names(), v1alpha1.RuleFields)
	var (
		definition operation.Definition
		arguments  source.Field
		findings   source.Findings
		named      []string
	)
	for _, field := range r.Operations {
		found, ok := operation.Lookup(field.Key.Value)
		if !ok {
			finding := unknownOperation(t, r, field, known)
			findings = append(findings, finding)
			if meant, near := source.Nearest(field.Key.Value, known); near {
				found, ok = operation.Lookup(meant)
			}
		}
		if ok {
			definition, arguments, named = found, field, append(named, found.Name)
		}
	}
	switch {
	case len(named) == 0 && len(findings) == 0:
		findings = append(findings, r.At.Finding(r.Path, "a rule needs one operation, such as flags").Of(OneOperation))
	case len(named) > 1 && len(findings) == 0:
		findings = append(findings, arguments.Key.Finding(r.Path, "a rule has one operation, this one has %s and %s", named[0], named[1]).Of(OneOperation))
	}
	return definition, arguments, findings
}

func unknownOperation(t *target.Target, r v1alpha1.Rule, field source.Field, known []string) source.Finding {
	hint := source.Suggest(field.Key.Value, known)
	if hint == "" {
		hint = "; these can be used on " + t.Name + ": " + usable(t)
	}
	finding := field.Key.Finding(r.Path, "unknown operation %q%s", field.Key.Value, hint).Of(UnknownOperation).InPart()
	if meant, ok := source.Nearest(field.Key.Value, known); ok && !r.At.Has(meant) {
		finding = finding.Write(field.Key, meant)
	}
	return finding
}

func condition(environment *expression.Environment, r v1alpha1.Rule) (*expression.Expression, source.Findings) {
	if r.When.Absent() {
		return nil, nil
	}
	path := r.Path + ".when"
	if r.When.Kind != yaml.ScalarNode || r.When.Tag != "!!str" {
		finding := r.When.Finding(path, "must be one expression in braces, such as ${ shoot.hibernated }")
		return nil, source.Findings{finding.Of(expression.WrongCondition)}
	}
	condition, err := environment.Condition(r.When.Value, expression.At(r.When))
	findings := source.FindingsOf(r.When, path, err).Of(expression.WrongResult)
	if len(findings) == 1 && findings[0].Rule == expression.WrongCondition && !strings.Contains(r.When.Value, "${") {
		braced := "${ " + r.When.Value + " }"
		if _, err := environment.Condition(braced, expression.At(r.When)); err == nil {
			findings[0] = findings[0].Write(r.When, braced)
		}
	}
	return condition, findings
}

// doubleWrites finds places that one rule writes twice.
func doubleWrites(r *rule) source.Findings {
	var findings source.Findings
	seen := map[operation.Place]operation.Write{}
	for _, write := range r.writes {
		if earlier, ok := seen[write.Place]; ok {
			findings = append(findings, write.At.Finding(write.Path, "%s is already written at %s", write.Place, earlier.At.Position()).Of(operation.WrittenTwice))
		}
		seen[write.Place] = write
	}
	return findings
}

// references are the dotted paths of the variables that the rule needs.
func (r *rule) references() []string {
	var references []string
	if r.family != nil {
		references = r.family.references()
	}
	if r.when != nil {
		references = append(references, r.when.References()...)
	}
	for _, write := range r.writes {
		references = append(references, write.Value.References()...)
	}
	return references
}
