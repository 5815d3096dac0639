// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// compileMember compiles the operation on the arguments with names in them.
func (f *family) compileMember(definition operation.Definition, replaced map[*yaml.Node]*yaml.Node) ([]operation.Write, source.Findings) {
	context := f.context
	return definition.Compile(&context, source.Node{Node: replace(f.arguments.Node, replaced), File: f.arguments.File}, f.path)
}

// maximumItems is how many items a forEach may have.
const maximumItems = 256

// item is one item of a family with its name in messages.
type item struct {
	value ref.Val
	label string
}

// itemView provides the variables for expressions of a rule with forEach.
type itemView struct {
	operation.Variables

	item ref.Val
}

// ResolveName implements the CEL activation.
func (v itemView) ResolveName(name string) (any, bool) {
	if name == itemName {
		return v.item, true
	}
	return v.Variables.ResolveName(name)
}

// Parent implements the CEL activation; ResolveName asks the parent itself.
func (v itemView) Parent() operation.Variables { return nil }

// planFamily plans the rule for each of its items.
func planFamily(ctx context.Context, r *rule, variables operation.Variables, how how) ([]PlannedRule, error) {
	found, err := r.family.itemsFor(ctx, variables)
	if err != nil {
		return nil, evaluationFailure(r, err)
	}
	if len(found) == 0 {
		return []PlannedRule{{rule: r, Skipped: "there are no items"}}, nil
	}
	planned := make([]PlannedRule, len(found))
	for i, it := range found {
		if planned[i], err = r.planItem(ctx, it, itemView{variables, it.value}, how); err != nil {
			return nil, err
		}
	}
	return planned, nil
}

// planItem plans the rule for one item.
func (r *rule) planItem(ctx context.Context, it item, variables operation.Variables, how how) (PlannedRule, error) {
	named := *r
	named.item, named.family, named.whole = it.label, nil, r
	planned := PlannedRule{rule: &named}
	holds, err := planned.holds(ctx, variables, how)
	if err != nil || !holds {
		return planned, err
	}
	writes, failure := r.member(ctx, &named, variables)
	if failure != nil {
		return planned, failure
	}
	named.writes = writes
	return planned, planned.compute(ctx, variables, how, make([]Step, len(writes)))
}

// member finds the writes of the family for the names that variables give.
func (r *rule) member(ctx context.Context, named *rule, variables operation.Variables) ([]operation.Write, error) {
	f := r.family
	replaced := make(map[*yaml.Node]*yaml.Node, len(f.names))
	var key strings.Builder
	for _, name := range f.names {
		node, err := name.evaluate(ctx, variables)
		if err != nil {
			return nil, evaluationFailure(named, fmt.Errorf("computing a name: %w", err))
		}
		replaced[name.node.Node] = node
		fmt.Fprintf(&key, "%s%q", node.Tag, node.Value)
	}
	if known, ok := f.members.Get(key.String()); ok {
		return known.([]operation.Write), nil
	}
	compiled := *named
	var findings source.Findings
	if compiled.writes, findings = f.compileMember(r.operation, replaced); len(findings) == 0 {
		findings = append(doubleWrites(&compiled), checkKeep(&compiled)...)
	}
	if err := findings.Err(); err != nil {
		return nil, fail(ExpressionFailed, err, "rule %s: the computed names", named)
	}
	if err := refuse(r.target, &compiled, f.generation).Err(); err != nil {
		return nil, fail(ContractBroken, err, "rule %s", named)
	}
	r.scope.taint(r.target, compiled.writes, f.items.references())
	f.members.Add(key.String(), compiled.writes)
	return compiled.writes, nil
}

// itemsFor computes the items, those of a mapping sorted by key.
func (f *family) itemsFor(ctx context.Context, variables operation.Variables) ([]item, error) {
	value, err := f.items.evaluate(ctx, variables)
	if err != nil {
		return nil, err
	}
	if sized, ok := value.(traits.Sizer); ok {
		if size, _ := sized.Size().(types.Int); size > maximumItems {
			return nil, fmt.Errorf("forEach has %d items, at most %d are allowed", size, maximumItems)
		}
	}
	var found []item
	switch value := value.(type) {
	case types.Null:
	case traits.Lister:
		for i := value.Iterator(); i.HasNext() == types.True; {
			found = append(found, item{value: i.Next()})
		}
	case traits.Mapper:
		found, err = f.items.entries(value)
	default:
		err = errors.New("forEach must be a list or a mapping, is " + value.Type().TypeName())
	}
	for i := range found {
		found[i].label = f.labelOf(found[i].value, i)
	}
	return found, err
}

func (i *items) evaluate(ctx context.Context, variables operation.Variables) (ref.Val, error) {
	if i.template != nil {
		return i.template.Evaluate(ctx, variables)
	}
	resolved, err := operation.Write{Value: i.tree}.Resolve(ctx, variables)
	if err != nil {
		return nil, err
	}
	value, err := expression.ParseComputed(ctx, resolved.JSON)
	return expression.Value(value), err
}

// entries returns the items of a mapping: objects with key and value.
func (i *items) entries(m traits.Mapper) ([]item, error) {
	values := map[string]ref.Val{}
	var keys []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return nil, errors.New("the keys of a mapping in forEach must be strings")
		}
		keys = append(keys, string(key))
		values[string(key)] = m.Get(key)
	}
	slices.Sort(keys)
	found := make([]item, len(keys))
	for n, key := range keys {
		fields := map[string]any{"key": key, "value": values[key]}
		if i.record != nil {
			found[n].value = i.record.Value(expression.Values(fields))
		} else {
			found[n].value = expression.Value(fields)
		}
	}
	return found, nil
}

// labelOf returns the name of an item in messages: a scalar itself, its name or key, or its number.
func (f *family) labelOf(value ref.Val, index int) string {
	if f.secret {
		return fmt.Sprint(index)
	}
	return labelOf(value, index)
}

// labelOf returns the readable name of an item without secret data.
func labelOf(value ref.Val, index int) string {
	const most = 60
	if indexed, ok := value.(traits.Indexer); ok {
		for _, field := range []types.String{"name", "key"} {
			if text, ok := indexed.Get(field).(types.String); ok && text != "" {
				value = text
				break
			}
		}
	}
	if text, err := expression.Text(value); err == nil && text != "" && len(text) <= most {
		return text
	}
	return fmt.Sprint(index)
}

// sampleShapes lists typical forms of names. They are tried in this order until the operation accepts one.
var sampleShapes = []string{"item%d", "/item%d", "item%d.service", "Item%d", "ITEM%d", "item%d.conf", "%d", "0%d", "item%d=a", "item%d.item"}

// Template implements expression.Templates.
func (v *compiledValues) Template(text string, at source.Position) (*expression.Template, error) {
	key := compiledValue{text, at}
	if known, ok := v.templates[key]; ok {
		return known, nil
	}
	template, err := v.environment.Template(text, at)
	if v.done {
		return template, err
	}
	v.at[at] = true
	if err == nil {
		v.templates[key] = template
	}
	return template, err
}

// sample finds out which of the texts with expressions are names, and compiles the operation with samples in their place.
func (f *family) sample(definition operation.Definition) ([]operation.Write, source.Findings) {
	texts := computed(f.arguments, f.path)
	f.names = slices.DeleteFunc(slices.Clone(texts), func(n *computedName) bool { return !n.key })
	if findings := f.compileNames(); len(findings) > 0 {
		return nil, findings
	}
	// Compile once to find the errors of the operation itself.
	_, _ = f.compileMember(definition, f.samples())
	var first source.Findings
	for range len(texts)*len(sampleShapes) + 2 {
		f.names = slices.DeleteFunc(slices.Clone(texts), func(n *computedName) bool { return !n.key && f.values.at[expression.At(n.node)] })
		if findings := f.compileNames(); len(findings) > 0 {
			return nil, findings
		}
		known := len(f.values.at)
		writes, findings := f.compileMember(definition, f.samples())
		switch {
		case slices.ContainsFunc(f.names, func(n *computedName) bool { return !n.key && f.values.at[expression.At(n.node)] }):
			first = nil
		case len(findings) == 0:
			f.values.done = true
			return writes, nil
		default:
			if first == nil || len(f.values.at) > known {
				first = findings
			}
			if !blame(f.names, findings) {
				return nil, first
			}
		}
	}
	return nil, first
}

// compileNames compiles the names that are not compiled yet, and numbers them: the same text gets the same number.
func (f *family) compileNames() source.Findings {
	var findings source.Findings
	numbers := map[string]int{}
	for _, name := range f.names {
		if numbers[name.node.Value] == 0 {
			numbers[name.node.Value] = len(numbers) + 1
		}
		name.number = numbers[name.node.Value]
		if name.template != nil {
			continue
		}
		var err error
		if name.template, err = f.environment.Template(name.node.Value, expression.At(name.node)); err != nil {
			findings = append(findings, source.FindingsOf(name.node, name.path, err).Of(expression.WrongResult)...)
		}
	}
	return findings
}

func (f *family) samples() map[*yaml.Node]*yaml.Node {
	replaced := make(map[*yaml.Node]*yaml.Node, len(f.names))
	for _, name := range f.names {
		value, tag := name.template.With(fmt.Sprintf(sampleShapes[name.shape], name.number)), "!!str"
		switch name.template.Type().Kind() {
		case types.IntKind:
			value, tag = fmt.Sprint(name.number), "!!int"
		case types.BoolKind:
			value, tag = "true", "!!bool"
		}
		replaced[name.node.Node] = name.as(value, tag)
	}
	return replaced
}

// blame gives the names with which findings are about another shape; false when there is none left to try.
func blame(names []*computedName, findings source.Findings) bool {
	blamed := false
	for _, name := range names {
		if slices.ContainsFunc(findings, name.isBlamed) && name.shape+1 < len(sampleShapes) {
			name.shape++
			blamed = true
		}
	}
	return blamed
}

func (n *computedName) isBlamed(f source.Finding) bool {
	return f.Position == n.node.Position() || !n.key && f.Path == n.path
}

// as returns the node with another value.
func (n *computedName) as(value, tag string) *yaml.Node {
	node := *n.node.Node
	node.Value, node.Tag = value, tag
	return &node
}

// evaluate computes the name and returns it as a YAML node.
func (n *computedName) evaluate(ctx context.Context, variables operation.Variables) (*yaml.Node, error) {
	value, err := n.template.Evaluate(ctx, variables)
	if err != nil {
		return nil, err
	}
	text, err := n.template.String(ctx, variables)
	if err != nil {
		return nil, err
	}
	tag := "!!str"
	switch value.(type) {
	case types.Int, types.Uint:
		tag = "!!int"
	case types.Bool:
		tag = "!!bool"
	}
	return n.as(text, tag), nil
}

// computed returns the keys and strings below a node that contain an expression.
func computed(n source.Node, path string) []*computedName {
	var found []*computedName
	for _, field := range n.Fields() {
		if hasExpression(field.Key) {
			found = append(found, &computedName{node: field.Key, path: path, key: true})
		}
		found = append(found, computed(field.Value, path+"."+field.Key.Value)...)
	}
	for _, item := range n.Items() {
		found = append(found, computed(item, path)...)
	}
	if hasExpression(n) {
		found = append(found, &computedName{node: n, path: path})
	}
	return found
}

func hasExpression(n source.Node) bool {
	return n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "${")
}

// replace copies a tree with some of its scalars replaced.
func replace(n *yaml.Node, replaced map[*yaml.Node]*yaml.Node) *yaml.Node {
	if other, ok := replaced[n]; ok {
		return other
	}
	if n == nil || len(n.Content) == 0 {
		return n
	}
	result := *n
	result.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		result.Content[i] = replace(child, replaced)
	}
	return &result
}
