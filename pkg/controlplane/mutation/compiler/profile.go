// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// profileCompiler compiles one profile.
type profileCompiler struct {
	all      *compilation
	document *profile.Document
	options  Options
	scope    *scope.Scope
	findings source.Findings
	// views holds the properties of the versions of Kubernetes, by the variable that holds the version.
	views map[string][]versionView
	// seen holds the environments of expressions, by the properties of targets that determine them.
	seen map[[2]bool]*expression.Environment
	// set is the set of the rules that are being compiled, and rules are the rules compiled so far.
	set   target.Set
	rules []*mutation.Rule
	// ruled is true for the targets with rules.
	ruled map[string]bool
	// broken holds the values and rules that could not be compiled; the names that they use are unknown.
	broken []source.Node
}

func (c *profileCompiler) compile() {
	c.scope, c.findings = scope.New(c.document, c.options.ImageOverwrite)
	if c.scope == nil {
		return
	}
	c.broken, c.ruled = c.scope.Broken, map[string]bool{}
	c.views, c.seen = map[string][]versionView{}, map[[2]bool]*expression.Environment{}
	for _, set := range target.Sets() {
		c.set = set
		objects := 0
		for _, entry := range c.rulesOf(set) {
			at := string(set)
			if entry.Objects != nil {
				at = fmt.Sprintf("%s.%s[%d]", set, v1alpha1.ObjectsField, objects)
				objects++
			}
			c.ruled[entry.Target] = c.ruled[entry.Target] || len(entry.Rules) > 0
			c.target(set, entry, at)
			c.names(entry)
			c.idle(entry, at)
		}
	}
	c.checkDenials()
	c.tidy()
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
	var rules []*mutation.Rule
	for i, r := range entry.Rules {
		compiled, findings := c.rule(t, r, i)
		c.findings = append(c.findings, findings...)
		if compiled != nil {
			rules = append(rules, compiled)
		} else {
			c.broken = append(c.broken, r.At)
			c.all.partial[t.Name] = true
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
func (c *profileCompiler) put(set target.Set, entry v1alpha1.TargetRules, t *target.Target, rules []*mutation.Rule, at string) {
	if c.document.Retired {
		rules = nil
	}
	providers := c.document.Providers
	if len(providers) == 0 || t.Garden {
		// Without providers, which another finding reports, the rules are still compared.
		providers = []string{""}
	}
	for _, provider := range providers {
		if known := c.all.program.Add(mutation.ScopeKey{Set: set, Provider: provider, Garden: t.Garden}, t, rules); known != nil {
			c.findings = append(c.findings, entry.At.Finding(at, "%s is %s/%s %s elsewhere; all rules for a kind must name the same version and resource",
				known.Kind, known.Group, known.Version, known.Resource).Of(Conflict))
		}
	}
}

// targetOf returns the target of an entry of a set. With findings, it returns the probable target, or nil.
func targetOf(entry v1alpha1.TargetRules, at string) (*target.Target, source.Findings) {
	if entry.Objects != nil {
		return otherTarget(entry, at)
	}
	t, ok := target.Lookup(entry.Target)
	if ok {
		return t, nil
	}
	known := append(target.Names(), v1alpha1.ObjectsField)
	hint := source.Suggest(entry.Target, known)
	if similar := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !strings.Contains(name, entry.Target) }); hint == "" && len(similar) > 0 {
		hint = "; " + source.ListKnown(similar)
	}
	finding := entry.At.Finding(at, "unknown target %q%s", entry.Target, hint).Of(UnknownTarget).InPart()
	if meant, ok := source.Nearest(entry.Target, known); ok {
		finding = finding.Write(entry.At, meant)
		t, _ = target.Lookup(meant)
	}
	return t, source.Findings{finding}
}

// otherTarget makes the target of an entry of objects.
func otherTarget(entry v1alpha1.TargetRules, at string) (*target.Target, source.Findings) {
	o := entry.Objects
	var findings source.Findings
	add := func(rule source.LintRule, field, format string, arguments ...any) {
		findings = append(findings, scope.NodeAt(entry.At, field).Finding(at+"."+field, format, arguments...).Of(rule))
	}
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil || version.Version == "" {
		rule := source.WrongValue
		if o.APIVersion == "" {
			rule = source.MissingField
		}
		add(rule, "apiVersion", "must be that of the objects, such as v1 or apps/v1, is %q", o.APIVersion)
	}
	if o.Kind == "" {
		add(source.MissingField, "kind", "is missing")
	}
	prefix, isPrefix := strings.CutSuffix(o.Name, "*")
	switch problems := path.IsValidPathSegmentName(prefix); {
	case o.Name == mutation.AnyName:
		add(source.WrongValue, "name", "leave it out for objects of any name")
	case strings.Contains(prefix, "*") || len(problems) > 0:
		add(source.InvalidName, "name", "must be a name, or a prefix followed by *, is %q", o.Name)
	}
	if len(entry.Rules) == 0 {
		add(source.MissingField, "rules", "is missing: an operation for the objects")
	}
	form := target.Form{Group: version.Group, Version: version.Version, Kind: o.Kind, Name: o.Name, Resource: o.Resource}
	if form.Resource == "" {
		form.Resource = strings.ToLower(o.Kind) + "s"
	}
	name := o.Name
	if isPrefix {
		name = ""
	}
	if t, _ := target.Match(false, form.Group, form.Kind, name); t != nil && len(findings) == 0 {
		add(operation.WrongTarget, "name", "%s is the target %s of the contract; its rules stand there", form, t.Name)
	}
	if form.Version == "" || form.Kind == "" {
		return nil, findings
	}
	return target.Other(form), findings
}

// unnamedContainers reports writes into a container without a name, if the contract names no default.
func unnamedContainers(r *mutation.Rule) source.Findings {
	var findings source.Findings
	for _, write := range r.Writes {
		switch write.Place.Kind {
		case operation.Flag, operation.FeatureGate, operation.MapFlagEntry, operation.AdmissionPlugin, operation.Env,
			operation.VolumeMount:
			if r.Target.Other && write.Place.Container == "" {
				findings = append(findings, write.At.Finding(write.Path, "name the container, because %s has no default container", r.Target.Name).Of(UnnamedContainer))
			}
		}
	}
	return findings
}

// purposesOf returns the purposes of OperatingSystemConfigs to which a rule applies, or nil for targets without
// purposes.
func purposesOf(t *target.Target, r v1alpha1.Rule) ([]string, source.Findings) {
	path := r.Path + ".purposes"
	switch {
	case r.Purposes.Absent() && t.Purposed:
		return mutation.KnownPurposes[:1], nil
	case r.Purposes.Absent():
		return nil, nil
	case !t.Purposed:
		return nil, source.Findings{r.Purposes.Finding(path, "only kubelet and node have purposes").Of(operation.WrongTarget)}
	}
	var purposes []string
	findings := source.Decode(r.Purposes, path, &purposes)
	for _, purpose := range purposes {
		if !slices.Contains(mutation.KnownPurposes, purpose) {
			findings = append(findings, r.Purposes.Finding(path, "unknown purpose %q%s: reconcile or provision", purpose, source.Suggest(purpose, mutation.KnownPurposes)).
				Of(source.WrongValue))
		}
	}
	if len(purposes) == 0 && len(findings) == 0 {
		findings = source.Findings{r.Purposes.Finding(path, "names no purpose").Of(source.MissingField)}
	}
	return purposes, findings
}

// usable lists the operations that can be used on a target.
func usable(t *target.Target) string {
	var names []string
	for _, definition := range operation.All() {
		if definition.On(t) {
			names = append(names, definition.Name)
		}
	}
	return strings.Join(names, ", ")
}

// rule compiles a rule and continues after each mistake. It returns nil if the rule cannot be compiled; then checks of
// the whole rule are omitted.
func (c *profileCompiler) rule(t *target.Target, r v1alpha1.Rule, index int) (*mutation.Rule, source.Findings) {
	definition, arguments, findings := operationOf(t, r)
	purposes, problems := purposesOf(t, r)
	findings = append(findings, problems...)
	compiled := &mutation.Rule{
		Target: t, Purposes: purposes, Profile: c.document.Metadata.Name, Name: r.Name, Position: r.At.Position(), Path: r.Path,
		Operation: definition, Override: r.Override != "", Scope: c.scope,
	}
	compiled.Observed = c.observes(r)
	if compiled.Name == "" {
		compiled.Name = fmt.Sprintf("%s[%d].%s", t.Name, index, definition.Name)
	}
	findings = append(findings, c.fill(compiled, r, arguments)...)
	if len(findings) > 0 {
		return nil, findings
	}
	var items []string
	if compiled.ForEach != nil {
		items = compiled.ForEach.Items.References()
	}
	c.scope.MarkSecrets(t, compiled.Writes, items)
	return compiled, c.check(compiled, r)
}

// fill compiles the expressions and the operation of a rule. The operation is empty if it is unknown.
func (c *profileCompiler) fill(compiled *mutation.Rule, r v1alpha1.Rule, arguments source.Field) source.Findings {
	var findings, problems source.Findings
	definition, path := compiled.Operation, r.Path+"."+compiled.Operation.Name
	unusable := definition.Name == ""
	if !unusable && !compiled.Target.Has(definition.Parts) {
		findings, unusable = append(findings, arguments.Key.Finding(path, "%s cannot be used on %s; these can: %s", definition.Name,
			compiled.Target.Name, usable(compiled.Target)).Of(operation.WrongTarget)), true
	}
	environment := c.seenBy(compiled.Target)
	context := operation.Context{Target: compiled.Target, Expressions: environment, Files: c.document.Attachments, Refused: c.document.Refused}
	if r.ForEach.Node != nil {
		compiled.ForEach, problems = mutation.NewForEach(c.scope, environment, r.ForEach, r.Path, context, arguments.Value, path, c.options.Generation)
		if len(problems) > 0 {
			// The type of an item is unknown, and with it the meaning of the rest of the rule.
			return append(findings, problems...)
		}
		environment = compiled.ForEach.Environment
	}
	compiled.When, problems = condition(environment, r)
	findings = append(findings, problems...)
	switch {
	case unusable:
		return findings
	case compiled.ForEach != nil:
		compiled.Writes, problems = compiled.ForEach.CompileSample(definition)
	default:
		compiled.Writes, problems = definition.Compile(&context, arguments.Value, path)
	}
	return append(findings, problems...)
}

// check returns the findings of a rule as a whole.
func (c *profileCompiler) check(compiled *mutation.Rule, from v1alpha1.Rule) source.Findings {
	compiled.Keep = from.OnUpdate == v1alpha1.OnUpdateKeep || from.OnUpdate == "" && compiled.Operation.KeepsByDefault
	findings := append(mutation.DoubleWrites(compiled), mutation.CheckContract(compiled.Target, compiled, c.options.Generation, from.At)...)
	if compiled.Override && len(findings) == 0 && mutation.GivesUnusedReason(compiled.Target, compiled) {
		override := scope.NodeAt(from.At, "override")
		findings = append(findings, override.Finding(compiled.Path+".override", "is not needed: the rule writes nothing that the contract reserves").
			Of(NeedlessOverride))
	}
	findings = append(findings, unnamedContainers(compiled)...)
	findings = append(findings, c.notKnown(compiled, from)...)
	if compiled.ForEach != nil {
		findings = append(findings, c.checkNameSecrets(compiled)...)
	}
	findings = append(findings, c.dead(compiled, from)...)
	c.outdated(compiled, from)
	findings = append(findings, checkVersions(c, compiled)...)
	return append(findings, mutation.CheckKeep(compiled)...)
}

// checkNameSecrets finds names that are computed from a Secret.
func (c *profileCompiler) checkNameSecrets(r *mutation.Rule) source.Findings {
	var findings source.Findings
	for _, name := range r.ForEach.Names {
		references := name.Template.References()
		if scope.UsesItem(references) {
			references = append(references, r.ForEach.Items.References()...)
		}
		findings = append(findings, c.checkSecrets(r, references, name.Node, name.Path, "a name")...)
	}
	return findings
}

// operationOf finds the operation of a rule. With findings, it returns the likely intended one, or none.
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
