// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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

// providers returns the providers of the profile. It returns a placeholder if there are none, which is a separate
// finding, so that the rules are still compared.
func (c *profileCompiler) providers() []string {
	if len(c.document.Providers) == 0 {
		return []string{""}
	}
	return c.document.Providers
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
	finding := entry.At.Finding(at, "unknown target %q%s", entry.Target, source.Suggest(entry.Target, known)).Of(UnknownTarget).InPart()
	if meant, ok := source.Nearest(entry.Target, known); ok {
		finding = finding.Write(entry.At, meant)
		t, _ = target.Lookup(meant)
	}
	return t, source.Findings{finding}
}

// formsOfScope returns the selections of a scope.
func formsOfScope(p *Program, key scopeKey) map[formKey]*selection {
	if p.scopes[key] == nil {
		p.scopes[key] = map[formKey]*selection{}
	}
	return p.scopes[key]
}

// add puts rules behind those that other profiles have for the target.
func (c *profileCompiler) add(key scopeKey, t *target.Target, rules []*rule) {
	forms := formsOfScope(c.program, key)
	for i := range t.Forms {
		f := &t.Forms[i]
		at := formKey{f.Group, f.Kind, f.Name}
		if forms[at] == nil {
			forms[at] = &selection{target: t, form: f}
		}
		forms[at].rules = append(forms[at].rules, rules...)
	}
}

// compareRegistrations orders webhooks by set and provider.
func compareRegistrations(a, b Registration) int {
	return cmp.Or(
		cmp.Compare(slices.Index(target.Sets(), a.Set), slices.Index(target.Sets(), b.Set)),
		strings.Compare(a.Provider, b.Provider),
	)
}

// Compile checks and compiles the profiles. The error is of type source.Findings and contains all findings with their
// positions.
func Compile(profiles []*profile.Document, o Options) (*Program, error) {
	program, findings := Check(profiles, o)
	if program != nil {
		return program, nil
	}
	for _, document := range profiles {
		findings = append(findings, document.Findings...)
	}
	return nil, findings.Errors().Err()
}

// Check compiles the profiles and continues after each mistake: it compiles documents with findings as far as possible.
// It returns all findings and warnings, sorted, in addition to those of the documents, and omits consequences of
// another finding. The program is nil if the profiles cannot be used. Profiles for the other generation of Gardener are
// checked for that one, but not part of the program.
func Check(profiles []*profile.Document, o Options) (*Program, source.Findings) {
	own := slices.DeleteFunc(slices.Clone(profiles), func(d *profile.Document) bool { return !o.Generation.For(d.Gardener) })
	program, findings := check(own, o)
	if len(own) == len(profiles) {
		return program, findings
	}
	others := slices.DeleteFunc(slices.Clone(profiles), func(d *profile.Document) bool { return o.Generation.For(d.Gardener) })
	if o.Generation = contract.Labelled; contract.Today.For(others[0].Gardener) {
		o.Generation = contract.Today
	}
	other, more := check(others, o)
	findings = append(findings, more...)
	findings.Sort()
	if other == nil {
		return nil, findings
	}
	return program, findings
}

func check(profiles []*profile.Document, o Options) (*Program, source.Findings) {
	p := &Program{generation: o.Generation, marks: o.Mark, scopes: map[scopeKey]map[formKey]*selection{}, partial: map[string]bool{}, memory: newMemory()}
	profiles = slices.SortedFunc(slices.Values(profiles), func(a, b *profile.Document) int {
		return strings.Compare(a.Metadata.Name, b.Metadata.Name)
	})
	found := newFound(profiles)
	for _, document := range profiles {
		p.profiles = append(p.profiles, ProfileVersion{document.Metadata.Name, document.Hash, document.Providers})
		c := profileCompiler{program: p, document: WithLookups(document), options: o}
		c.compile()
		found.add(c.findings)
	}
	inheritRules(p)
	found.add(append(findConflicts(p), checkOrder(p)...))
	settleSelections(p)
	refused, warned := rehearseAll(p, !found.refused())
	p.warnings = found.beyond(append(p.warnings, found.sound(found.declared(warned))...))
	found.add(found.sound(refused))
	p.warnings.Sort()
	all := slices.Concat(found.findings, p.warnings)
	all.Sort()
	if found.refused() {
		return nil, all
	}
	return p, all
}

// found are the findings of all stages so far, and those that the documents had before.
type found struct {
	findings source.Findings
	// starts holds the documents by file, in their order there; of holds the findings of each.
	starts map[string][]*profile.Document
	of     map[*profile.Document]source.Findings
}

func newFound(documents []*profile.Document) *found {
	f := &found{starts: map[string][]*profile.Document{}, of: map[*profile.Document]source.Findings{}}
	for _, d := range documents {
		f.of[d] = slices.Clone(d.Findings)
		f.starts[d.Node.File] = append(f.starts[d.Node.File], d)
	}
	for _, inFile := range f.starts {
		slices.SortFunc(inFile, func(a, b *profile.Document) int { return a.Node.Position().Line - b.Node.Position().Line })
	}
	return f
}

// document returns the document that contains a position, or nil.
func (f *found) document(at source.Position) *profile.Document {
	var in *profile.Document
	for _, d := range f.starts[at.File] {
		if d.Node.Position().Line <= at.Line {
			in = d
		}
	}
	return in
}

// beyond returns the findings that are not consequences of those so far.
func (f *found) beyond(findings source.Findings) source.Findings {
	var beyond source.Findings
	for _, finding := range findings {
		beyond = append(beyond, source.Findings{finding}.Beyond(f.of[f.document(finding.Position)])...)
	}
	return beyond
}

// add adds the findings of a stage. It omits a finding of a rule that repeats one for the same place, as for a lookup
// that the rule makes implicitly.
func (f *found) add(findings source.Findings) {
	for _, finding := range f.beyond(findings) {
		d := f.document(finding.Position)
		if finding.Column > 0 && slices.ContainsFunc(f.of[d], func(earlier source.Finding) bool {
			return earlier.Position == finding.Position && earlier.Message == finding.Message
		}) {
			continue
		}
		f.findings = append(f.findings, finding)
		f.of[d] = append(f.of[d], finding)
	}
}

// sound returns the findings of rules that have no findings so far.
func (f *found) sound(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.File == finding.File && source.Within(earlier.Path, finding.Path)
		})
	})
}

// declared removes findings about denied samples if the declarations of the document have findings: the values of
// expressions are then unknown.
func (f *found) declared(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return finding.Rule == SampleDenied && slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.Severity == source.Error && !strings.HasPrefix(earlier.Path, string(target.ControlPlane))
		})
	})
}

// refused reports whether the profiles cannot be used.
func (f *found) refused() bool {
	for _, findings := range f.of {
		if len(findings.Errors()) > 0 {
			return true
		}
	}
	return len(f.findings) > 0
}

// anyName is the key of selections for other objects with any name; a name followed by * is a prefix.
const anyName = "*"

// otherTarget makes the target of an entry of objects.
func otherTarget(entry v1alpha1.TargetRules, at string) (*target.Target, source.Findings) {
	o := entry.Objects
	var findings source.Findings
	add := func(rule source.Rule, field, format string, arguments ...any) {
		findings = append(findings, nodeAt(entry.At, field).Finding(at+"."+field, format, arguments...).Of(rule))
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
	case o.Name == anyName:
		add(source.WrongValue, "name", "leave it out for objects of any name")
		findings[len(findings)-1] = findings[len(findings)-1].Without(nodeAt(entry.At, "name"))
	case strings.Contains(prefix, "*") || len(problems) > 0:
		add(source.InvalidName, "name", "must be a name, or the beginning of one and a * behind, is %q", o.Name)
	}
	if len(entry.Rules) == 0 {
		add(source.MissingField, "rules", "is missing: an operation for the objects")
	}
	form := target.Form{Group: version.Group, Version: version.Version, Kind: o.Kind, Name: o.Name, Resource: o.Resource}
	if form.Resource == "" {
		form.Resource = strings.ToLower(o.Kind) + "s"
	}
	if t := contracted(form, isPrefix); t != nil && len(findings) == 0 {
		add(operation.WrongTarget, "name", "%s is the target %s of the contract; its rules stand there", form, t.Name)
	}
	if form.Version == "" || form.Kind == "" {
		return nil, findings
	}
	return target.Other(form), findings
}

// contracted returns the target of the contract for objects of a form, or nil.
func contracted(form target.Form, isPrefix bool) *target.Target {
	name := form.Name
	if isPrefix {
		name = ""
	}
	t, _ := target.Match(false, form.Group, form.Kind, name)
	return t
}

// addOther puts the rules for other objects behind those that other profiles have for the same.
func (c *profileCompiler) addOther(key scopeKey, entry v1alpha1.TargetRules, t *target.Target, rules []*rule, at string) {
	form := &t.Forms[0]
	for _, known := range c.program.others {
		if known.Group == form.Group && known.Kind == form.Kind && (known.Version != form.Version || known.Resource != form.Resource) {
			c.findings = append(c.findings, entry.At.Finding(at, "%s is %s/%s %s elsewhere; all rules for a kind must name the same version and resource",
				form.Kind, known.Group, known.Version, known.Resource).Of(Conflict))
			return
		}
	}
	c.program.others = append(c.program.others, form)
	forms := formsOfScope(c.program, key)
	place := formKey{form.Group, form.Kind, cmp.Or(form.Name, anyName)}
	if forms[place] == nil {
		forms[place] = &selection{target: t, form: form}
	}
	forms[place].rules = append(forms[place].rules, rules...)
}

// unnamedContainers finds writes into a container where the contract names none.
func unnamedContainers(r *rule) source.Findings {
	var findings source.Findings
	for _, write := range r.writes {
		switch write.Place.Kind {
		case operation.Flag, operation.FeatureGate, operation.ListFlagItem, operation.MapFlagEntry, operation.AdmissionPlugin, operation.Env,
			operation.VolumeMount:
			if r.target.Other && write.Place.Container == "" {
				findings = append(findings, write.At.Finding(write.Path, "a container must be named, as the contract requires none in %s", r.target.Name).Of(UnnamedContainer))
			}
		}
	}
	return findings
}

// inheritRules gives each selection of other objects the rules of those that are wider: first those for any name, then the longer
// and longer beginnings, last its own, so that the more exact rule wins.
func inheritRules(p *Program) {
	for _, forms := range p.scopes {
		merged := map[formKey][]*rule{}
		for at, selected := range forms {
			if selected.target.Other {
				merged[at] = inherited(forms, at)
			}
		}
		for at, rules := range merged {
			forms[at].rules = rules
		}
	}
}

func inherited(forms map[formKey]*selection, of formKey) []*rule {
	var wider []formKey
	for at := range forms {
		prefix, isPrefix := strings.CutSuffix(at.name, "*")
		if at.group == of.group && at.kind == of.kind && (at == of || isPrefix && strings.HasPrefix(of.name, prefix)) {
			wider = append(wider, at)
		}
	}
	slices.SortFunc(wider, func(a, b formKey) int {
		if a == of || b == of {
			return cmp.Compare(isSame(a, of), isSame(b, of))
		}
		return cmp.Compare(len(a.name), len(b.name))
	})
	var rules []*rule
	for _, at := range wider {
		rules = append(rules, forms[at].rules...)
	}
	return rules
}

func isSame(a, b formKey) int {
	if a == b {
		return 1
	}
	return 0
}

// membersKept is how many members of a family are kept compiled.
const membersKept = 512

// family compiles the forEach of a rule.
func (c *profileCompiler) family(r v1alpha1.Rule, context operation.Context, arguments source.Node, path string) (*family, source.Findings) {
	f := &family{
		items: items{node: r.ForEach}, context: context, arguments: arguments, path: path, generation: c.options.Generation,
		members: lru.New(membersKept),
	}
	seen := c.seenBy(context.Target)
	result, findings := f.items.compile(seen, r.Path+".forEach")
	if len(findings) > 0 {
		return nil, findings
	}
	declared, problem := f.items.declare(result)
	if problem != "" {
		return nil, source.Findings{r.ForEach.Finding(r.Path+".forEach", "%s", problem).Of(source.WrongType)}
	}
	var err error
	if f.environment, err = seen.Extend(declared); err != nil {
		return nil, source.FindingsOf(r.ForEach, r.Path+".forEach", err).Of(expression.WrongResult)
	}
	f.values = &compiledValues{environment: f.environment, at: map[source.Position]bool{}, templates: map[compiledValue]*expression.Template{}}
	f.context.Expressions = f.values
	f.secret = len(c.scope.secretsIn(f.items.references())) > 0 || c.scope.readsSecret(context.Target, f.items.references())
	return f, nil
}

// compile reads the list or mapping, which is one expression or is written out; it gives the type.
func (i *items) compile(environment *expression.Environment, path string) (*cel.Type, source.Findings) {
	if i.node.Kind == yaml.ScalarNode {
		template, err := environment.Template(i.node.Value, expression.At(i.node))
		if err != nil {
			return nil, source.FindingsOf(i.node, path, err).Of(expression.WrongResult)
		}
		i.template = template
		return template.Type(), nil
	}
	context := operation.Context{Expressions: environment}
	tree, findings := context.Tree(i.node, path)
	i.tree = tree
	return typeOfNode(i.node), findings
}

// declare gives the variable item for a list or mapping of a type.
func (i *items) declare(result *cel.Type) (expression.Variable, string) {
	declared := expression.Variable{Name: itemName, Type: cel.DynType}
	switch result.Kind() {
	case types.DynKind:
	case types.ListKind:
		declared.Type = result.Parameters()[0]
	case types.MapKind:
		value := result.Parameters()[1]
		if value.Kind() == types.StructKind {
			value = cel.DynType
		}
		i.record = expression.NewObject("graft.Item", map[string]*cel.Type{"key": cel.StringType, "value": value})
		declared = expression.Variable{Name: itemName, Object: i.record}
	default:
		return declared, "must be a list or a mapping, is " + cel.FormatCELType(result)
	}
	return declared, ""
}

func newMemory() *memory { return &memory{seed: maphash.MakeSeed(), outcomes: map[uint64]*outcome{}} }

// purposesOf returns the purposes of OperatingSystemConfigs to which a rule applies, or nil for targets without
// purposes.
func purposesOf(t *target.Target, r v1alpha1.Rule) ([]string, source.Findings) {
	path := r.Path + ".purposes"
	if r.Purposes.Absent() {
		if t.Purposed {
			return knownPurposes[:1], nil
		}
		return nil, nil
	}
	if !t.Purposed {
		return nil, source.Findings{r.Purposes.Finding(path, "only kubelet and node have purposes").Of(operation.WrongTarget)}
	}
	var purposes []string
	findings := source.Decode(r.Purposes, path, &purposes)
	for _, purpose := range purposes {
		if !slices.Contains(knownPurposes, purpose) {
			findings = append(findings, r.Purposes.Finding(path, "unknown purpose %q%s: reconcile or provision", purpose, source.Suggest(purpose, knownPurposes)).
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

// WithLookups returns the profile with implicit lookups of its rules' operations added to the declared ones.
func WithLookups(d *profile.Document) *profile.Document {
	own := map[string]v1alpha1.Lookup{}
	for _, set := range []v1alpha1.Set{d.ControlPlane, d.ControlPlaneExposure, d.ControlPlaneBackup} {
		for _, entry := range set {
			for _, rule := range entry.Rules {
				for _, field := range rule.Operations {
					name := field.Key.Value
					known := slices.Concat(operation.Names(), v1alpha1.RuleFields)
					if meant, near := source.Nearest(name, known); near && !slices.Contains(known, name) {
						name = meant // as where the rule is compiled
					}
					if definition, ok := operation.Lookup(name); ok && definition.Lookups != nil {
						maps.Copy(own, definition.Lookups(field.Value))
					}
				}
			}
		}
	}
	if len(own) == 0 {
		return d
	}
	maps.Copy(own, d.Lookups)
	with, declared := *d, *d.ProviderProfile
	declared.Lookups = own
	with.ProviderProfile = &declared
	return &with
}

// rule compiles a rule and continues after each mistake. It returns nil if the rule cannot be compiled; then checks of
// the whole rule are omitted.
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

// fill compiles the expressions and the operation of a rule. The operation is empty if it is unknown.
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
			// The type of an item is unknown, and with it the meaning of the rest of the rule.
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

// check returns the findings of a rule as a whole.
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
	findings = append(findings, checkVersions(c, compiled)...)
	return append(findings, checkKeep(compiled)...)
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

// settleSelections computes the properties of each selection once.
func settleSelections(p *Program) {
	for key, forms := range p.scopes {
		for _, selected := range forms {
			settleSelection(selected)
			if applied := appliedRules(selected); p.marks {
				applied.mark, applied.record = markOf(key.set, applied.rules, p.profiles), recordAnnotation+string(key.set)
				applied.lasts = slices.ContainsFunc(applied.rules, lastsOnObject)
			}
		}
	}
}

// appliedRules returns the selection of the rules that are enforced.
func appliedRules(s *selection) *selection {
	if s.enforced != nil {
		return s.enforced
	}
	return s
}

func settleSelection(s *selection) {
	s.need()
	findContests(s)
	s.confides = confides(s.rules)
	enforced := slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool { return r.observed })
	if len(enforced) < len(s.rules) {
		s.enforced = &selection{target: s.target, form: s.form, rules: enforced}
		settleSelection(s.enforced)
		s.enforced.confides = s.confides
	}
}

// findContests finds which writes meet.
func findContests(s *selection) {
	s.contests.places = map[operation.Place]bool{}
	seen := map[operation.Place]bool{}
	for _, r := range s.rules {
		if r.family != nil {
			s.contests.any = true
			continue
		}
		for i := range r.writes {
			if place := r.writes[i].Place; seen[place] {
				s.contests.places[place] = true
			} else {
				seen[place] = true
			}
		}
	}
}

// markOf returns the mark of the rules of a set. Its value is empty if there are no rules, so that an earlier mark is
// removed.
func markOf(set target.Set, rules []*rule, profiles []ProfileVersion) mark {
	var versions []string
	for _, p := range profiles {
		if slices.ContainsFunc(rules, func(r *rule) bool { return r.profile == p.Name }) {
			versions = append(versions, p.Name+"@"+p.Hash[:min(len(p.Hash), markDigits)])
		}
	}
	m := mark{key: markAnnotation + string(set)}
	if versions != nil {
		m.value = document.Quote(strings.Join(versions, ","))
	}
	return m
}
