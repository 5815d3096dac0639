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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// aggregate compiles a rule.
func (c *compiler) aggregate(p place, spec v1alpha1.InterpretAggregate) aggregate {
	a := aggregate{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	c.needed(p, "field", spec.Field)
	a.field = c.path(p.At("field"), spec.Field)
	if len(a.field.steps) > 0 && (a.field.steps[0].Key != "status" || len(a.field.steps) == 1) {
		c.add(p.At("field"), WrongPath, "must be below status, such as status.readyReplicas: Karmada takes nothing else")
	}
	c.made(p.At("field"), a.field)
	c.writes(interpreter.Aggregate, p, a.when, []claim{{p.At("field"), a.field.text, true}})
	ways := 0
	one := func(name string, compile func(place) combine) {
		if at := p.At(name); !at.Missing {
			ways++
			a.combine = compile(at)
		}
	}
	for name, t := range map[string]source.Text{
		"sum": spec.Sum, "min": spec.Min, "max": spec.Max, "all": spec.All, "any": spec.Any, "same": spec.Same, "first": spec.First, "join": spec.Join,
		"common": spec.Common,
	} {
		one(name, func(at place) combine { return c.byPath(at, name, t) })
	}
	one("worst", func(at place) combine { return c.worst(at, spec.Worst) })
	one("union", func(at place) combine { return c.union(at, spec.Union) })
	one("conditions", func(at place) combine { return c.worstConditions(at, spec.Conditions) })
	one("value", func(at place) combine { return c.value(c.plain, at).of })
	if ways != 1 {
		c.add(p, source.ExclusiveFields, "exactly one of sum, min, max, all, any, same, first, join, common, worst, union, conditions and value is needed")
	}
	return a
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

// components compiles a rule.
func (c *compiler) components(p place, spec v1alpha1.InterpretComponents) components {
	list, env := c.forEach(p, spec.ForEach)
	r := components{at: c.at(p), items: list, when: c.when(env, p, spec.When)}
	c.needed(p, "name", spec.Name)
	r.name = c.text(env, p.At("name"), spec.Name)
	if name, ok := constant(r.name, env); ok {
		if utf8.RuneCountInString(name) > interpreter.MaximumComponentName {
			c.add(p.At("name"), source.InvalidName, "has more than %d characters", interpreter.MaximumComponentName)
		}
		if list != nil {
			c.add(p.At("name"), source.DuplicateName, "is the same for all items; write it with ${ item… }")
		}
	}
	r.count = c.number(env, p.At("count"))
	r.requirements = c.requirements(env, p.At("requirements"))
	return r
}

// dependencies compiles a rule.
func (c *compiler) dependencies(p place, spec v1alpha1.InterpretDependencies) dependencies {
	list, env := c.forEach(p, spec.ForEach)
	d := dependencies{at: c.at(p), items: list, when: c.when(env, p, spec.When), own: spec.Namespace.At.Absent(), named: !spec.Name.At.Absent()}
	for _, field := range []struct {
		name string
		text source.Text
		into *text
	}{
		{"apiVersion", spec.APIVersion, &d.apiVersion}, {"kind", spec.Kind, &d.kind},
		{"namespace", spec.Namespace, &d.namespace}, {"name", spec.Name, &d.name},
	} {
		*field.into = c.text(env, p.At(field.name), field.text)
	}
	c.needed(p, "apiVersion", spec.APIVersion)
	c.needed(p, "kind", spec.Kind)
	if version, ok := constant(d.apiVersion, env); ok && version != "" && !isVersion(version) {
		c.add(p.At("apiVersion"), source.InvalidName, "%q is neither v1 nor group/version", version)
	}
	if kind, ok := constant(d.kind, env); ok && kind != "" && !kindName.MatchString(kind) {
		c.add(p.At("kind"), source.InvalidName, "%q is no kind, such as Secret", kind)
	}
	c.dependencyNames(env, p, &d)
	selector := p.At("labelSelector")
	if d.selector = c.value(env, selector); d.named != selector.Absent() {
		c.add(p, source.ExclusiveFields, "exactly one of name and labelSelector is needed")
	}
	if !selector.Absent() && d.selector.tree != nil && d.selector.tree.Constant() {
		if raw, err := d.selector.tree.JSON(background, nil); err == nil && !isSelector(raw) {
			c.add(selector, source.WrongValue, "is no selector of labels, such as {matchLabels: {app: acme}}")
		}
	}
	return d
}

// dependencyNames finds names that no object has. Beside the groups whose names are known, each API decides itself about those of its objects.
func (c *compiler) dependencyNames(env *expression.Environment, p place, d *dependencies) {
	if namespace, ok := constant(d.namespace, env); ok && namespace != "" && len(utilvalidation.IsDNS1123Label(namespace)) > 0 {
		c.add(p.At("namespace"), source.InvalidName, "%q is no name of a namespace", namespace)
	}
	name, ok := constant(d.name, env)
	version, known := constant(d.apiVersion, env)
	switch group, _, _ := splitVersion(version); {
	case !ok:
	case strings.TrimSpace(name) == "":
		c.add(p.At("name"), source.WrongValue, "is empty")
	case len(pathvalidation.IsValidPathSegmentName(name)) > 0,
		known && (group == "" || group == "apps" || group == "batch") && len(utilvalidation.IsDNS1123Subdomain(name)) > 0:
		c.add(p.At("name"), source.InvalidName, "%q is no name of an object", name)
	}
}

// edits compiles the rules of an operation that change an object.
func (c *compiler) edits(o interpreter.Operation) func(place, v1alpha1.InterpretEdit) edit {
	return func(p place, spec v1alpha1.InterpretEdit) edit {
		e := c.changes(c.plain, p, spec, c.identity)
		if len(spec.Set)+len(spec.Remove) == 0 && spec.Refuse.At.Absent() {
			c.add(p, NothingToDo, "changes nothing: set, remove or refuse is needed")
			return e
		}
		c.filled(p, "set", "remove")
		c.writes(o, p, e.when, c.changed(p, &e))
		return e
	}
}

// health compiles a rule.
func (c *compiler) health(p place, spec v1alpha1.InterpretHealth) health {
	h := health{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	c.needed(p, "healthy", spec.Healthy)
	h.healthy = condition{c.spot(p.At("healthy")), c.condition(c.plain, p.At("healthy"), spec.Healthy)}
	c.first(interpreter.Health, p, h.when)
	return h
}

// replicas compiles a rule.
func (c *compiler) replicas(p place, spec v1alpha1.InterpretReplicas) replicas {
	r := replicas{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	r.count = c.number(c.plain, p.At("count"))
	r.requirements = c.requirements(c.plain, p.At("requirements"))
	c.first(interpreter.Replicas, p, r.when)
	return r
}

// retain compiles a rule.
func (c *compiler) retain(p place, spec v1alpha1.InterpretRetain) retain {
	env, check := c.plain, c.identity
	items := c.both(p.At("items"), spec.Items)
	if items != nil {
		env, check = c.scope.each, func(place, path) {}
	}
	r := retain{edit: c.changes(env, p, spec.InterpretEdit, check), fields: c.paths(p.At("fields"), spec.Fields, c.path), both: items}
	for i, field := range r.fields {
		check(p.At("fields").Item(i), field)
	}
	if len(spec.Fields)+len(spec.Set)+len(spec.Remove) == 0 && spec.Refuse.At.Absent() {
		c.add(p, NothingToDo, "changes nothing: fields, set, remove or refuse is needed")
		return r
	}
	c.filled(p, "fields", "set", "remove")
	if items == nil { // else the paths are below items, of which the conditions are
		c.writes(interpreter.Retain, p, r.when, slices.Concat(c.claims(p.At("fields"), r.fields, false), c.changed(p, &r.edit)))
	}
	return r
}

// The rules of lint beside those of all documents.
const (
	// WrongPath is a text that is no path, or the path of what must not be changed.
	WrongPath source.Rule = "wrong-path"
	// NothingToDo is a rule that changes nothing.
	NothingToDo source.Rule = "nothing-to-do"
	// WrittenTwice is a place that a rule writes twice.
	WrittenTwice source.Rule = "written-twice"
	// Conflict is a place that two rules write which always apply.
	Conflict source.Rule = "conflict"
	// ComponentsRevised is a kind with components that is also revised. It is a warning for the server, which does not register the components.
	ComponentsRevised source.Rule = "components-revised"
	// NoEffect is a place that a later rule always writes again.
	NoEffect source.Rule = "no-effect"
)

// status compiles a rule.
func (c *compiler) status(p place, spec v1alpha1.InterpretStatus) status {
	s := status{at: c.at(p), when: c.when(c.plain, p, spec.When), set: c.settings(c.plain, p.At("set"), c.made)}
	s.keep = c.paths(p.At("keep"), spec.Keep, c.inStatus)
	s.all = p.At("keep").Absent() && p.At("set").Absent()
	for i, kept := range s.keep {
		c.made(p.At("keep").Item(i), kept)
	}
	if keep := p.At("keep"); !keep.Missing && len(s.keep)+len(s.set) == 0 {
		c.add(keep, source.MissingField, "names nothing; leave it out, and all of the status is reflected")
	} else {
		c.filled(p, "keep", "set")
	}
	c.writes(interpreter.Status, p, s.when, slices.Concat(c.claims(p.At("keep"), s.keep, false), c.claimed(p.At("set"), s.set)))
	return s
}
