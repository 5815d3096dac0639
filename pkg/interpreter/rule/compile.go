// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"
	"strings"
	"unicode/utf8"

	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// aggregate compiles a rule of aggregate.
func (c *compiler) aggregate(p place) compiledRule {
	h := c.head(c.plain, p)
	c.needed(p.At("field"))
	field := c.path(p.At("field"))
	if len(field.steps) > 0 && (field.steps[0].Key != "status" || len(field.steps) == 1) {
		c.add(p.At("field"), WrongPath, "must be below status, such as status.readyReplicas: Karmada ignores other fields")
	}
	c.checkNewValue(p.At("field"), field)
	c.record(interpreter.Aggregate, p, h.when, claim{p.At("field"), field.text, true})
	compilers := map[string]func(place) combine{
		"worst": c.worst, "union": c.union, "conditions": c.worstConditions,
		"value": func(at place) combine { return c.value(c.plain, at).evaluate },
	}
	for name, way := range ways {
		compilers[name] = func(at place) combine { return way.combine(c.inStatus(at)) }
	}
	var combined combine
	given := 0
	for name, compile := range compilers {
		switch at := p.At(name); {
		case at.Missing:
			continue
		case at.Absent() && name != "value":
			c.add(at, source.MissingField, "is empty")
		default:
			combined = compile(at)
		}
		given++
	}
	if given != 1 {
		c.add(p, source.ExclusiveFields, "exactly one of sum, min, max, all, any, same, first, join, common, worst, union, conditions and value is needed")
	}
	return compiledRule{h, func(q *question) (bool, error) {
		raw, err := combined(q)
		if err == nil {
			err = field.put(q.object.Root(), raw)
		}
		return true, err
	}}
}

// compiler compiles rules and collects findings.
type compiler struct {
	scopes map[interpreter.Operation]scope
	scope
	findings source.Findings
	// recorded has the rules of the document so far.
	recorded []recorded
	// of is the kind that is being compiled. profile is the name of the document.
	of      *kindRules
	profile string
}

// kindRules is the part of a document for some kinds.
type kindRules struct {
	// version is empty for all versions.
	group, version string
	kinds          []string
	rules          map[interpreter.Operation][]compiledRule
	// componentsAt and reviseAt are the places of these operations.
	componentsAt, reviseAt place
}

// has reports whether an entry applies to a kind; an entry for all versions applies to the version * too.
func (e *kindRules) has(kind interpreter.Kind) bool {
	return e.group == kind.Group && (e.version == "" || e.version == kind.Version) && slices.Contains(e.kinds, kind.Kind)
}

// document compiles the kinds of a document.
func (c *compiler) document(d *profile.Interpreter) []*kindRules {
	kinds := place{Node: d.Node}.At("kinds")
	if len(d.Kinds) == 0 {
		c.add(kinds, source.MissingField, "is empty: at least one kind is needed")
	}
	c.profile = d.Metadata.Name
	entries := make([]*kindRules, len(d.Kinds))
	for i := range entries {
		entries[i] = c.kind(kinds.Item(i))
	}
	c.hidden()
	c.overridden()
	c.recorded = nil
	return entries
}

// kind compiles the operations of a kind.
func (c *compiler) kind(p place) *kindRules {
	c.of = &kindRules{rules: map[interpreter.Operation][]compiledRule{}, componentsAt: p.At(string(interpreter.Components)), reviseAt: p.At(string(interpreter.Revise))}
	c.names(p)
	version := p.At("apiVersion")
	c.needed(version)
	if !version.Absent() {
		var ok bool
		if c.of.group, c.of.version, ok = splitVersion(version.Text().Value); !ok {
			c.add(version, source.InvalidName, "%q is neither v1, nor group/version, nor group/* for all versions", version.Text().Value)
		}
	}
	for o, compile := range map[interpreter.Operation]func(place) compiledRule{
		interpreter.Replicas: c.replicas, interpreter.Components: c.components, interpreter.Revise: c.edits(interpreter.Revise),
		interpreter.Retain: c.retain, interpreter.Aggregate: c.aggregate, interpreter.Status: c.status, interpreter.Health: c.health,
		interpreter.Dependencies: c.dependencies, interpreter.Prune: c.edits(interpreter.Prune),
	} {
		c.each(o, p.At(string(o)), compile)
	}
	if len(c.of.rules) == 0 {
		c.add(p, source.MissingField, "has no operation for the kind: at least one is needed, such as health")
	}
	return c.of
}

// names compiles the names of the kinds.
func (c *compiler) names(p place) {
	kind, kinds := p.At("kind"), p.At("kinds")
	if kinds.Missing {
		c.needed(kind)
		c.name(kind)
		return
	}
	all := kinds.Value().Items()
	if !kind.Missing || len(all) == 0 {
		c.add(p, source.ExclusiveFields, "exactly one of kind and kinds is needed")
	}
	for i, name := range all {
		if slices.Contains(c.of.kinds, name.Value) {
			c.add(kinds.Item(i), source.DuplicateName, "%q occurs twice", name.Value)
			continue
		}
		c.name(kinds.Item(i))
	}
}

// name compiles the name of a kind.
func (c *compiler) name(p place) {
	name := p.Value()
	if name.Absent() || name.Value == "" {
		return
	}
	if !isKind(name.Value) {
		c.add(p, source.InvalidName, "%q is not a valid kind, such as Deployment", name.Value)
	}
	c.of.kinds = append(c.of.kinds, name.Value)
}

// each compiles the rules of an operation.
func (c *compiler) each(o interpreter.Operation, list place, compile func(place) compiledRule) {
	c.scope = c.scopes[o]
	all := list.Value().Items()
	if !list.Missing && len(all) == 0 {
		c.add(list, source.MissingField, "has no rule; remove it or add one")
	}
	for i := range all {
		c.of.rules[o] = append(c.of.rules[o], compile(list.Item(i)))
	}
}

// components compiles a rule of components.
func (c *compiler) components(p place) compiledRule {
	list, env := c.forEach(p.At("forEach"))
	r := &components{head: c.head(env, p), items: list}
	r.each = true
	c.needed(p.At("name"))
	r.name = c.text(env, p.At("name"))
	if name, ok := constant(r.name, env); ok {
		if utf8.RuneCountInString(name) > interpreter.MaximumComponentName {
			c.add(p.At("name"), source.InvalidName, "has more than %d characters", interpreter.MaximumComponentName)
		}
		if list != nil {
			c.add(p.At("name"), source.DuplicateName, "is the same for all items; use ${ item… }")
		}
	}
	r.count = c.number(env, p.At("count"))
	r.requirements = c.requirements(env, p.At("requirements"))
	return compiledRule{r.head, r.answer}
}

// dependencies compiles a rule of dependencies.
func (c *compiler) dependencies(p place) compiledRule {
	list, env := c.forEach(p.At("forEach"))
	d := &dependencies{
		head: c.head(env, p), items: list, own: p.At("namespace").Absent(), named: !p.At("name").Absent(),
		apiVersion: c.text(env, p.At("apiVersion")), kind: c.text(env, p.At("kind")),
		namespace: c.text(env, p.At("namespace")), name: c.text(env, p.At("name")),
	}
	d.each = true
	c.needed(p.At("apiVersion"))
	c.needed(p.At("kind"))
	if version, ok := constant(d.apiVersion, env); ok && version != "" && !isVersion(version) {
		c.add(p.At("apiVersion"), source.InvalidName, "%q is neither v1 nor group/version", version)
	}
	if kind, ok := constant(d.kind, env); ok && kind != "" && !isKind(kind) {
		c.add(p.At("kind"), source.InvalidName, "%q is not a valid kind, such as Secret", kind)
	}
	c.dependencyNames(env, p, d)
	selector := p.At("labelSelector")
	if d.selector = c.value(env, selector); d.named != selector.Absent() {
		c.add(p, source.ExclusiveFields, "exactly one of name and labelSelector is needed")
	}
	if !selector.Absent() && d.selector.tree != nil && d.selector.tree.Constant() {
		if raw, err := d.selector.tree.JSON(background, nil); err == nil && !isSelector(raw) {
			c.add(selector, source.WrongValue, "must be a label selector, such as {matchLabels: {app: acme}}")
		}
	}
	return compiledRule{d.head, d.answer}
}

// dependencyNames reports names that no object can have. It checks names only in groups whose rules are known,
// because each API defines its own.
func (c *compiler) dependencyNames(env *expression.Environment, p place, d *dependencies) {
	if namespace, ok := constant(d.namespace, env); ok && namespace != "" && len(utilvalidation.IsDNS1123Label(namespace)) > 0 {
		c.add(p.At("namespace"), source.InvalidName, "%q is not a valid name of a namespace", namespace)
	}
	name, ok := constant(d.name, env)
	version, known := constant(d.apiVersion, env)
	switch group, _, _ := splitVersion(version); {
	case !ok:
	case strings.TrimSpace(name) == "":
		c.add(p.At("name"), source.WrongValue, "is empty")
	case len(pathvalidation.IsValidPathSegmentName(name)) > 0,
		known && (group == "" || group == "apps" || group == "batch") && len(utilvalidation.IsDNS1123Subdomain(name)) > 0:
		c.add(p.At("name"), source.InvalidName, "%q is not a valid name of an object", name)
	}
}

// edits compiles the rules of an operation that changes an object.
func (c *compiler) edits(o interpreter.Operation) func(place) compiledRule {
	return func(p place) compiledRule {
		e := c.changes(c.plain, p, c.identity)
		if len(e.set)+len(e.remove) == 0 && p.At("refuse").Absent() {
			c.add(p, NothingToDo, "changes nothing: set, remove or refuse is needed")
			return compiledRule{e.head, e.answer}
		}
		c.filled(p, "set", "remove")
		c.record(o, p, e.when, c.changed(p, e)...)
		return compiledRule{e.head, e.answer}
	}
}

// health compiles a rule of health.
func (c *compiler) health(p place) compiledRule {
	h := c.head(c.plain, p)
	c.needed(p.At("healthy"))
	healthy := condition{c.spot(p.At("healthy")), c.condition(c.plain, p.At("healthy"))}
	c.record(interpreter.Health, p, h.when)
	return compiledRule{h, func(q *question) (bool, error) {
		holds, err := healthy.holds(q)
		q.response.Healthy = &holds
		return true, err
	}}
}

// replicas compiles a rule of replicas.
func (c *compiler) replicas(p place) compiledRule {
	h := c.head(c.plain, p)
	number, needs := c.number(c.plain, p.At("count")), c.requirements(c.plain, p.At("requirements"))
	c.record(interpreter.Replicas, p, h.when)
	return compiledRule{h, func(q *question) (bool, error) {
		count, err := number.evaluate(q)
		if err == nil {
			q.response.Replicas = &count
			q.response.Requirements, err = needs.evaluate(q)
		}
		return err == nil, err
	}}
}

// retain compiles a rule of retain.
func (c *compiler) retain(p place) compiledRule {
	env, check := c.plain, c.identity
	items := c.both(p.At("items"))
	if items != nil {
		env, check = c.scope.each, func(place, path) {}
	}
	r := &retain{edit: c.changes(env, p, check), fields: c.paths(p.At("fields"), c.path, check), both: items}
	r.each = items != nil
	if len(r.fields)+len(r.set)+len(r.remove) == 0 && p.At("refuse").Absent() {
		c.add(p, NothingToDo, "changes nothing: fields, set, remove or refuse is needed")
		return compiledRule{r.head, r.answer}
	}
	c.filled(p, "fields", "set", "remove")
	if items == nil { // paths below items are relative to different items
		c.record(interpreter.Retain, p, r.when, slices.Concat(c.claims(p.At("fields"), r.fields, false), c.changed(p, r.edit))...)
	}
	return compiledRule{r.head, r.answer}
}

// Rules of findings in addition to those for all documents.
const (
	// WrongPath reports an invalid path, or a path that must not be changed.
	WrongPath source.LintRule = "wrong-path"
	// NothingToDo reports a rule that changes nothing.
	NothingToDo source.LintRule = "nothing-to-do"
	// WrittenTwice reports a path that one rule writes twice.
	WrittenTwice source.LintRule = "written-twice"
	// Conflict reports a path that two unconditional rules write.
	Conflict source.LintRule = "conflict"
	// ComponentsRevised reports a kind with both components and revise. It is a warning, because the server
	// does not register the components then.
	ComponentsRevised source.LintRule = "components-revised"
	// NoEffect reports a write that a later rule always overwrites.
	NoEffect source.LintRule = "no-effect"
)

// status compiles a rule of status.
func (c *compiler) status(p place) compiledRule {
	h := c.head(c.plain, p)
	s := &status{at: h.at, set: c.settings(c.plain, p.At("set"), c.checkNewValue)}
	s.keep = c.paths(p.At("keep"), c.inStatus, c.checkNewValue)
	s.all = p.At("keep").Absent() && p.At("set").Absent()
	if keep := p.At("keep"); !keep.Missing && len(s.keep)+len(s.set) == 0 {
		c.add(keep, source.MissingField, "is empty; remove it to reflect the whole status")
	} else {
		c.filled(p, "keep", "set")
	}
	c.record(interpreter.Status, p, h.when, slices.Concat(c.claims(p.At("keep"), s.keep, false), c.claimed(p.At("set"), s.set))...)
	return compiledRule{h, s.answer}
}
