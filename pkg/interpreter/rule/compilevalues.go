// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is a place in a profile.
type place = source.Place

func (c *compiler) add(p place, rule source.LintRule, format string, arguments ...any) {
	c.findings = append(c.findings, p.FindingOf(rule, format, arguments...))
}

func (c *compiler) addAll(findings source.Findings) { c.findings = append(c.findings, findings...) }

// at returns the description of a place in answers.
func (c *compiler) at(p place) string { return c.profile + ": " + p.Path }

// spot returns a place for failures.
func (c *compiler) spot(p place) spot { return spot{c.at(p), p.Node.Position().String()} }

// needed reports a text that is missing or empty.
func (c *compiler) needed(p place) {
	switch {
	case p.Absent():
		c.add(p, source.MissingField, "is missing")
	case strings.TrimSpace(p.Value().Value) == "":
		c.add(p, source.WrongValue, "is empty")
	}
}

// partial returns what an expression can use without an object: the kind.
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

// example shows the syntax of conditions.
const example = "a condition is one expression in braces, such as ${ has(object.spec.replicas) }"

// head compiles the common part of a rule.
func (c *compiler) head(env *expression.Environment, p place) *head {
	return &head{Place: Place{c.profile, p}, at: c.at(p), when: c.when(env, p.At("when"))}
}

// when compiles the condition of a rule.
func (c *compiler) when(env *expression.Environment, p place) condition {
	compiled := c.condition(env, p)
	switch {
	case compiled == nil:
	case c.partial(env).False(compiled):
		c.add(p, source.NeverApplies, "is always false: the rule never applies")
	case compiled.Constant():
		c.findings = append(c.findings, p.FindingOf(source.AlwaysTrue, "is always true; leave it out").Warn())
	}
	return condition{c.spot(p), compiled}
}

// condition compiles a condition.
func (c *compiler) condition(env *expression.Environment, p place) *expression.Expression {
	compiled, findings := env.ConditionOf(p.Text(), p.Path, example)
	c.addAll(findings)
	return compiled
}

// text compiles a text. The result has no template if it is invalid or missing.
func (c *compiler) text(env *expression.Environment, p place) text {
	compiled, findings := env.TemplateOf(p.Text(), p.Path)
	c.addAll(findings)
	if compiled == nil {
		return text{}
	}
	switch compiled.Type().Kind() {
	case types.ListKind, types.MapKind, types.NullTypeKind, types.StructKind:
		c.add(p, expression.WrongResult, "must be a string, is a %s", compiled.Type().TypeName())
		return text{}
	}
	return text{c.spot(p), compiled}
}

// constant returns the result of a template that does not depend on the object.
func constant(t text, env *expression.Environment) (string, bool) {
	if t.template == nil || !t.template.Constant() {
		return "", false
	}
	value, ok := env.Partial().Value(t.template)
	if !ok {
		return "", false
	}
	text, err := expression.Text(value)
	return text, err == nil
}

// value compiles a value. The result has no tree if it is invalid or missing.
func (c *compiler) value(env *expression.Environment, p place) value {
	if p.Missing {
		return value{}
	}
	tree, findings := expression.NewTree(env, p.Value(), p.Path)
	c.addAll(findings)
	if len(findings) > 0 {
		return value{}
	}
	return value{c.spot(p), tree}
}

// changed returns the paths that a rule changes.
func (c *compiler) changed(p place, e *edit) []claim {
	return slices.Concat(c.claimed(p.At("set"), e.set), c.claims(p.At("remove"), e.remove, true))
}

// changes compiles the parts that all rules that change objects share.
func (c *compiler) changes(env *expression.Environment, p place, check func(place, path)) *edit {
	e := &edit{head: c.head(env, p), refuse: c.text(env, p.At("refuse"))}
	e.refuses = e.refuse.template != nil
	e.set = c.settings(env, p.At("set"), check)
	e.remove = c.paths(p.At("remove"), c.path, check)
	if !p.At("refuse").Absent() && len(e.set)+len(e.remove) > 0 {
		c.add(p, source.ExclusiveFields, "changes the object and refuses it: split it into two rules")
	}
	return e
}

// settings compiles values with their paths, in order.
func (c *compiler) settings(env *expression.Environment, p place, check func(place, path)) []setting {
	var settings []setting
	p.Members(func(key, v place) {
		s := setting{c.path(key), c.value(env, v)}
		check(key, s.path)
		settings = append(settings, s)
	})
	return settings
}

// identity reports a path that identifies the object.
func (c *compiler) identity(p place, at path) {
	switch at.text {
	case "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "metadata.uid":
		c.add(p, WrongPath, "%s identifies the object and must not be changed", at.text)
	}
}

// forEach compiles a forEach and returns the environment for the other fields of the rule.
func (c *compiler) forEach(p place) (*items, *expression.Environment) {
	if p.Absent() {
		return nil, c.plain
	}
	list, findings := c.plain.TemplateOf(p.Text(), p.Path)
	c.addAll(findings)
	if list == nil {
		return nil, c.scope.each
	}
	if kind := list.Type().Kind(); kind != types.ListKind && kind != types.DynKind {
		c.add(p, expression.WrongResult, "must be a list, such as ${ object.spec.pools }, is a %s", list.Type().TypeName())
	}
	return &items{c.spot(p), list}, c.scope.each
}

// number compiles a number or an expression for one.
func (c *compiler) number(env *expression.Environment, p place) number {
	n := number{at: c.spot(p)}
	switch node := p.Value(); {
	case node.Absent():
		c.add(p, source.MissingField, "is missing")
	case node.Kind != yaml.ScalarNode, node.Tag != "!!int" && (node.Tag != "!!str" || !strings.Contains(node.Value, "${")):
		c.add(p, source.WrongType, "must be a whole number, or an expression for one")
	case node.Tag == "!!int":
		fixed, err := strconv.ParseInt(node.Value, 0, 32)
		if err != nil || fixed < 0 {
			c.add(p, source.WrongValue, "must be 0 to %d", math.MaxInt32)
		}
		n.fixed = int32(fixed) // #nosec G115 -- parsed with 32 bits
	default:
		n.template = c.text(env, p).template
		if n.template == nil {
			break
		}
		switch n.template.Type().Kind() {
		case types.IntKind, types.UintKind, types.DoubleKind, types.DynKind:
		default:
			c.add(p, expression.WrongResult, "must be a whole number, is a %s", n.template.Type().TypeName())
		}
	}
	return n
}

// claim is a path that a rule writes.
type claim struct {
	place
	// text is the path for messages, or "" if it is invalid.
	text string
	// sure is true if the path is written whenever the rule applies. A kept field is not, because it may not
	// exist.
	sure bool
}

// claims returns the paths in a list.
func (c *compiler) claims(list place, paths []path, sure bool) []claim {
	all := make([]claim, len(paths))
	for i, p := range paths {
		all[i] = claim{list.Item(i), p.text, sure}
	}
	return all
}

// claimed returns the paths of settings, in order.
func (c *compiler) claimed(p place, settings []setting) []claim {
	all := make([]claim, 0, len(settings))
	p.Members(func(key, _ place) { all = append(all, claim{key, settings[len(all)].text, true}) })
	return all
}

// filled reports empty lists and mappings.
func (c *compiler) filled(p place, names ...string) {
	for _, name := range names {
		if at := p.At(name); !at.Missing && len(at.Value().Items())+len(at.Value().Fields()) == 0 {
			c.add(at, source.MissingField, "is empty; remove it")
		}
	}
}

// path compiles a path. It returns the zero path if it is invalid.
func (c *compiler) path(p place) path {
	if p.Absent() {
		return path{}
	}
	steps, err := fieldpath.Parse(p.Node.Value)
	if err != nil {
		c.add(p, WrongPath, "%q is not a valid path: %s", p.Node.Value, err)
		return path{}
	}
	return path{steps, steps.String(), c.spot(p)}
}

// inStatus compiles a path relative to status. It warns if the path starts with status again.
func (c *compiler) inStatus(p place) path {
	read := c.path(p)
	if rest, found := strings.CutPrefix(p.Text().Value, "status."); found && len(read.steps) > 1 {
		warning := p.FindingOf(WrongPath, "is relative to status, so that it means status.%s; write %s", read.text, rest).Warn()
		c.findings = append(c.findings, warning.Write(p.Node, rest))
	}
	return read
}

// paths compiles and checks a list of paths.
func (c *compiler) paths(list place, one func(place) path, check func(place, path)) []path {
	read := make([]path, len(list.Value().Items()))
	for i := range read {
		p := list.Item(i)
		if p.Absent() {
			c.add(p, source.MissingField, "is empty")
		}
		read[i] = one(p)
		check(p, read[i])
	}
	return read
}

// wholeField is the field name for requirements that are invalid as a whole.
const wholeField = "requirements"

// requirements compiles the requirements of a replica and checks literal values.
func (c *compiler) requirements(env *expression.Environment, p place) requirements {
	compiled := requirements{c.value(env, p)}
	switch {
	case p.Absent() || compiled.tree == nil:
		return compiled
	case p.Node.Kind == yaml.ScalarNode && strings.HasPrefix(p.Node.Value, "${"):
		return compiled
	case p.Node.Kind != yaml.MappingNode:
		c.add(p, source.WrongType, "must be a mapping, or an expression for one")
		return compiled
	}
	c.keys(p, requirementFields)
	c.keys(p.At("nodeClaim"), nodeClaimFields)
	p.At("resourceRequest").Members(func(_, v place) {
		n := v.Value()
		if n.Kind != yaml.ScalarNode || n.Absent() || strings.Contains(n.Value, "${") {
			return
		}
		if quantity, err := resource.ParseQuantity(n.Value); err != nil || quantity.Sign() < 0 {
			c.add(v, source.WrongValue, "%q is not a quantity, such as 500m or 2Gi", n.Value)
		}
	})
	c.written(p, compiled)
	return compiled
}

// written checks requirements that do not depend on the object.
func (c *compiler) written(p place, r requirements) {
	if !r.tree.Constant() || slices.ContainsFunc(c.findings, func(f source.Finding) bool { return source.Within(f.Path, p.Path) }) {
		return
	}
	raw, err := r.tree.JSON(background, nil)
	if err != nil {
		return
	}
	if _, field, why := readRequirements(raw); field != "" {
		if field != wholeField {
			p = p.At(field)
		}
		c.add(p, source.WrongValue, "%s", cmp.Or(why, "does not have the form of Karmada's API"))
	}
}

// keys reports unknown members of a mapping.
func (c *compiler) keys(p place, known []string) {
	for _, field := range p.Value().Fields() {
		if !slices.Contains(known, field.Key.Value) {
			c.findings = append(c.findings, source.UnknownKey(field.Key, p.Path, p.Node, known))
		}
	}
}

// both compiles the items of a list, or returns nil if the rule has none.
func (c *compiler) both(p place) *both {
	if p.Absent() {
		return nil
	}
	c.needed(p.At("path"))
	c.needed(p.At("key"))
	b := &both{c.path(p.At("path")), c.path(p.At("key"))}
	c.identity(p.At("path"), b.list)
	return b
}

// checkNewValue reports list positions in a path of a new value, which has no items yet.
func (c *compiler) checkNewValue(p place, at path) {
	if slices.ContainsFunc(at.steps, func(s fieldpath.Step) bool { return s.Position }) {
		c.add(p, WrongPath, "selects an item by position in a new list; use [member=value], or write the whole list")
	}
}

// union compiles a union of the members' lists.
func (c *compiler) union(p place) combine {
	c.needed(p.At("path"))
	at, key, prefix := c.inStatus(p.At("path")), c.path(p.At("key")), c.path(p.At("prefix"))
	c.checkNewValue(p.At("prefix"), prefix)
	return union(at, key, prefix)
}

// worst compiles the selection of the worst value of an order.
func (c *compiler) worst(p place) combine {
	c.needed(p.At("path"))
	at, by := c.inStatus(p.At("path")), c.path(p.At("by"))
	values := p.At("order").Value().Items()
	if len(values) == 0 {
		c.add(p.At("order"), source.MissingField, "is missing: list the values from worst to best")
	}
	order := map[string]int{}
	for i, value := range values {
		if _, double := order[value.Value]; double {
			c.add(p.At("order").Item(i), source.DuplicateName, "%q occurs twice", value.Value)
		}
		order[value.Value] = i + 1
	}
	return func(q *question) ([]byte, error) {
		var (
			chosen []byte
			rank   int
		)
		all, err := q.typed(at, document.Invalid)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			judged := by.find(f.Node)
			if judged == nil {
				continue
			}
			word, ok := judged.Text()
			if !ok {
				if kind := judged.Kind(); kind == document.Object || kind == document.Array {
					return nil, found{f.member, judged}.misfit(path{text: strings.TrimSuffix(at.text+"."+by.text, "."), at: cmp.Or(by.at, at.at)}, document.String)
				}
				word = string(judged.Raw())
			}
			if of := order[word]; chosen == nil || of < rank {
				chosen, rank = f.Raw(), of
			}
		}
		return chosen, nil
	}
}

// worstConditions compiles the worst condition of each type.
func (c *compiler) worstConditions(p place) combine {
	c.needed(p.At("path"))
	at := c.inStatus(p.At("path"))
	bad := map[string]bool{}
	for i, t := range p.At("negative").Value().Items() {
		if bad[t.Value] {
			c.add(p.At("negative").Item(i), source.DuplicateName, "%q occurs twice", t.Value)
		}
		if t.Value == "" {
			c.add(p.At("negative").Item(i), source.WrongValue, "is empty")
		}
		bad[t.Value] = true
	}
	return func(q *question) ([]byte, error) {
		var chosen []*document.Node
		places := map[string]int{} // indexes by type
		all, err := q.typed(at, document.Array)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		for _, f := range all {
			for _, condition := range f.Items() {
				name, typed := condition.Get("type").Text()
				status := condition.Get("status")
				if !typed || status.Kind() != document.String {
					return nil, unfit("%s: the member %s: a condition in status.%s has no type or no status", at.at, f.Cluster, at.text)
				}
				if i, known := places[name]; !known {
					places[name] = len(chosen)
					chosen = append(chosen, condition)
				} else if severity(status, bad[name]) < severity(chosen[i].Get("status"), bad[name]) {
					chosen[i] = condition
				}
			}
		}
		return listOf(chosen), nil
	}
}
