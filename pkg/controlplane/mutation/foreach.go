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

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// maxCompiledItems limits the cached compiled rules for the items of a forEach.
const maxCompiledItems = 512

// maximumItems limits the items of a forEach, which come from objects that users write.
const maximumItems = 256

// ForEach is a rule with forEach: it expands to one rule for each item of a list or mapping. Operations are compiled
// without knowing it. For each item, computed names are inserted into the arguments, and the operation is compiled with
// them. Values are compiled once, when the profile is loaded.
type ForEach struct {
	Items scope.Computed
	// record is the type of an item with key and value. It is nil for items of a list and for unknown types.
	record      *expression.ObjectType
	Names       []*computedName
	values      *compiledValues
	context     operation.Context
	Environment *expression.Environment
	arguments   source.Node
	path        string
	generation  contract.Generation
	// members caches the rules for the most recent names.
	members *lru.Cache
	// secret reports that the items come from a Secret, so that messages must not contain them.
	secret bool
}

// computedName is a key or a scalar in the arguments of a rule with forEach that depends on the item. Expressions that
// the operation compiles itself are values instead.
type computedName struct {
	Node     source.Node
	Path     string
	key      bool
	Template *expression.Template
	// number distinguishes samples of different names, and shape is an index of sampleShapes.
	number, shape int
}

// compiledValues compiles the values of a rule with forEach and remembers their positions. It is written while the
// profile is loaded, and only read afterwards.
type compiledValues struct {
	environment *expression.Environment
	at          map[source.Position]bool
	templates   map[compiledValue]*expression.Template
	done        bool
}

type compiledValue struct {
	text string
	at   source.Position
}

// sampleShapes lists typical forms of names. They are tried in this order until the operation accepts one.
var sampleShapes = []string{"item%d", "/item%d", "item%d.service", "Item%d", "ITEM%d", "item%d.conf", "%d", "0%d", "item%d=a", "item%d.item"}

// NewForEach compiles the list or mapping of a rule with forEach. The environment is the one for expressions of the
// target.
func NewForEach(
	in *scope.Scope, seen *expression.Environment, node source.Node, rulePath string, context operation.Context, arguments source.Node, path string,
	g contract.Generation,
) (*ForEach, source.Findings) {
	f := &ForEach{
		context: context, arguments: arguments, path: path, generation: g, members: lru.New(maxCompiledItems),
	}
	var findings source.Findings
	if f.Items, findings = scope.Compile(seen, node, rulePath+".forEach"); len(findings) > 0 {
		return nil, findings
	}
	declared, problem := f.declare()
	if problem != "" {
		return nil, source.Findings{node.Finding(rulePath+".forEach", "%s", problem).Of(source.WrongType)}
	}
	var err error
	if f.Environment, err = seen.Extend(declared); err != nil {
		return nil, source.FindingsOf(node, rulePath+".forEach", err).Of(expression.WrongResult)
	}
	f.values = &compiledValues{environment: f.Environment, at: map[source.Position]bool{}, templates: map[compiledValue]*expression.Template{}}
	f.context.Expressions = f.values
	f.secret = in.NamesOf(context.Target, f.Items.References()) != nil
	return f, nil
}

// declare returns the declaration of the variable item for the type of the list or mapping, or a message about a wrong
// type.
func (f *ForEach) declare() (expression.Variable, string) {
	declared := expression.Variable{Name: scope.ItemName, Type: cel.DynType}
	switch result := f.Items.Type; result.Kind() {
	case types.DynKind:
	case types.ListKind:
		declared.Type = result.Parameters()[0]
	case types.MapKind:
		value := result.Parameters()[1]
		if value.Kind() == types.StructKind {
			value = cel.DynType
		}
		f.record = expression.NewObjectType("graft.Item", map[string]*cel.Type{"key": cel.StringType, "value": value})
		declared = expression.Variable{Name: scope.ItemName, Object: f.record}
	default:
		return declared, "must be a list or a mapping, is " + cel.FormatCELType(result)
	}
	return declared, ""
}

// compileMember compiles the operation with names inserted into its arguments.
func (f *ForEach) compileMember(definition operation.Definition, replaced map[*yaml.Node]*yaml.Node) ([]operation.Write, source.Findings) {
	context := f.context
	return definition.Compile(&context, source.Node{Node: replace(f.arguments.Node, replaced), File: f.arguments.File}, f.path)
}

// WithItem returns the variables together with the item that the rule was made for, if any.
func (r *Rule) WithItem(variables operation.Variables) operation.Variables {
	if r.whole == nil {
		return variables
	}
	item, _ := interpreter.NewActivation(map[string]any{scope.ItemName: r.item}) // a map is always valid
	return interpreter.NewHierarchicalActivation(variables, item)
}

// planForEach plans the rule for each of its items. It fails if the list of items, a condition or a value cannot be
// evaluated.
func planForEach(ctx context.Context, r *Rule, variables operation.Variables, mode PlanMode) ([]PlannedRule, error) {
	found, err := r.ForEach.itemsFor(ctx, variables)
	if err != nil {
		return nil, evaluationFailure(r, err)
	}
	if len(found) == 0 {
		return []PlannedRule{{Rule: r, Skipped: "there are no items"}}, nil
	}
	planned := make([]PlannedRule, len(found))
	for i, item := range found {
		if planned[i], err = r.planItem(ctx, i, item, variables, mode); err != nil {
			return nil, err
		}
	}
	return planned, nil
}

// planItem plans the rule for the item with an index.
func (r *Rule) planItem(ctx context.Context, index int, item ref.Val, variables operation.Variables, mode PlanMode) (PlannedRule, error) {
	named := *r
	named.Item, named.item, named.ForEach, named.whole = r.ForEach.labelOf(item, index), item, nil, r
	planned := PlannedRule{Rule: &named}
	variables = named.WithItem(variables)
	holds, err := planned.holds(ctx, variables, mode)
	if err != nil || !holds {
		return planned, err
	}
	writes, failure := r.member(ctx, &named, variables)
	if failure != nil {
		return planned, failure
	}
	named.Writes = writes
	return planned, planned.compute(ctx, variables, mode)
}

// member returns the writes for the names that the variables give.
func (r *Rule) member(ctx context.Context, named *Rule, variables operation.Variables) ([]operation.Write, error) {
	f := r.ForEach
	replaced := make(map[*yaml.Node]*yaml.Node, len(f.Names))
	var key strings.Builder
	for _, name := range f.Names {
		node, err := name.evaluate(ctx, variables)
		if err != nil {
			return nil, evaluationFailure(named, fmt.Errorf("computing a name: %w", err))
		}
		replaced[name.Node.Node] = node
		fmt.Fprintf(&key, "%s%q", node.Tag, node.Value)
	}
	if known, ok := f.members.Get(key.String()); ok {
		return known.([]operation.Write), nil
	}
	compiled := *named
	var findings source.Findings
	if compiled.Writes, findings = f.compileMember(r.Operation, replaced); len(findings) == 0 {
		findings = append(DoubleWrites(&compiled), CheckKeep(&compiled)...)
	}
	if err := findings.Err(); err != nil {
		return nil, fail(ExpressionFailed, err, "rule %s: the computed names", named)
	}
	if err := CheckContract(r.Target, &compiled, f.generation, source.Node{}).Err(); err != nil {
		return nil, fail(ContractBroken, err, "rule %s", named)
	}
	r.Scope.MarkSecrets(r.Target, compiled.Writes, f.Items.References())
	f.members.Add(key.String(), compiled.Writes)
	return compiled.Writes, nil
}

// itemsFor computes the items, those of a mapping sorted by key. It fails if the value is neither a list nor a mapping,
// or has more than 256 items.
func (f *ForEach) itemsFor(ctx context.Context, variables operation.Variables) ([]ref.Val, error) {
	computed, err := f.Items.Evaluate(ctx, variables)
	if err != nil {
		return nil, err
	}
	value := expression.Value(computed)
	if sized, ok := value.(traits.Sizer); ok {
		if size, _ := sized.Size().(types.Int); size > maximumItems {
			return nil, fmt.Errorf("forEach has %d items, at most %d are allowed", size, maximumItems)
		}
	}
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case traits.Lister:
		var found []ref.Val
		for i := value.Iterator(); i.HasNext() == types.True; {
			found = append(found, i.Next())
		}
		return found, nil
	case traits.Mapper:
		return f.entries(value)
	default:
		return nil, errors.New("forEach must be a list or a mapping, is " + value.Type().TypeName())
	}
}

// entries returns the items of a mapping: objects with key and value.
func (f *ForEach) entries(m traits.Mapper) ([]ref.Val, error) {
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
	found := make([]ref.Val, len(keys))
	for n, key := range keys {
		fields := map[string]any{"key": key, "value": values[key]}
		if f.record != nil {
			found[n] = f.record.Value(expression.Values(fields))
		} else {
			found[n] = expression.Value(fields)
		}
	}
	return found, nil
}

// labelOf returns the name of an item in messages: a scalar itself, its name or key, or its number.
func (f *ForEach) labelOf(value ref.Val, index int) string {
	const most = 60
	if f.secret {
		return fmt.Sprint(index)
	}
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

// CompileSample finds the texts whose expressions are names, and compiles the operation with sample names in their
// place.
func (f *ForEach) CompileSample(definition operation.Definition) ([]operation.Write, source.Findings) {
	texts := computed(f.arguments, f.path)
	// At first, all texts that are no keys may be values.
	f.Names = slices.DeleteFunc(slices.Clone(texts), func(n *computedName) bool { return !n.key })
	var first source.Findings
	for range len(texts)*len(sampleShapes) + 2 {
		if findings := f.compileNames(); len(findings) > 0 {
			return nil, findings
		}
		known := len(f.values.at)
		writes, findings := f.compileMember(definition, f.Samples())
		names := slices.DeleteFunc(slices.Clone(texts), func(n *computedName) bool { return !n.key && f.values.at[expression.At(n.Node)] })
		switch {
		case len(names) != len(f.Names):
			f.Names, first = names, nil
		case len(findings) == 0:
			f.values.done = true
			return writes, nil
		default:
			if first == nil || len(f.values.at) > known {
				first = findings
			}
			if !tryNextShapes(f.Names, findings) {
				return nil, first
			}
		}
	}
	return nil, first
}

// compileNames compiles the names that are not compiled yet, and numbers them: the same text gets the same number.
func (f *ForEach) compileNames() source.Findings {
	var findings source.Findings
	numbers := map[string]int{}
	for _, name := range f.Names {
		if numbers[name.Node.Value] == 0 {
			numbers[name.Node.Value] = len(numbers) + 1
		}
		name.number = numbers[name.Node.Value]
		if name.Template != nil {
			continue
		}
		var err error
		if name.Template, err = f.Environment.Template(name.Node.Value, expression.At(name.Node)); err != nil {
			findings = append(findings, source.FindingsOf(name.Node, name.Path, err).Of(expression.WrongResult)...)
		}
	}
	return findings
}

// Samples returns the sample values of the computed names by their nodes.
func (f *ForEach) Samples() map[*yaml.Node]*yaml.Node {
	replaced := make(map[*yaml.Node]*yaml.Node, len(f.Names))
	for _, name := range f.Names {
		value, tag := name.Template.With(fmt.Sprintf(sampleShapes[name.shape], name.number)), "!!str"
		switch name.Template.Type().Kind() {
		case types.IntKind:
			value, tag = fmt.Sprint(name.number), "!!int"
		case types.BoolKind:
			value, tag = "true", "!!bool"
		}
		replaced[name.Node.Node] = name.as(value, tag)
	}
	return replaced
}

// tryNextShapes gives each name with a finding its next sample shape. It returns false if no name has another one.
func tryNextShapes(names []*computedName, findings source.Findings) bool {
	tried := false
	for _, name := range names {
		if slices.ContainsFunc(findings, name.isAbout) && name.shape+1 < len(sampleShapes) {
			name.shape++
			tried = true
		}
	}
	return tried
}

// isAbout reports whether a finding is about the name.
func (n *computedName) isAbout(f source.Finding) bool {
	return f.Position == n.Node.Position() || !n.key && f.Path == n.Path
}

// as returns the node with another value.
func (n *computedName) as(value, tag string) *yaml.Node {
	node := *n.Node.Node
	node.Value, node.Tag = value, tag
	return &node
}

// evaluate computes the name and returns it as a YAML node.
func (n *computedName) evaluate(ctx context.Context, variables operation.Variables) (*yaml.Node, error) {
	value, err := n.Template.Evaluate(ctx, variables)
	if err != nil {
		return nil, err
	}
	text, err := n.Template.String(ctx, variables)
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
			found = append(found, &computedName{Node: field.Key, Path: path, key: true})
		}
		found = append(found, computed(field.Value, path+"."+field.Key.Value)...)
	}
	for _, item := range n.Items() {
		found = append(found, computed(item, path)...)
	}
	if hasExpression(n) {
		found = append(found, &computedName{Node: n, Path: path})
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

// references returns the dotted paths that the forEach needs in addition to those of its condition and values.
func (f *ForEach) references() []string {
	references := f.Items.References()
	for _, name := range f.Names {
		references = append(references, name.Template.References()...)
	}
	return references
}
