// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// computedName is a key or a scalar in the arguments of a rule with forEach that is known for an item only. What an operation
// compiles itself is none: that is a value.
type computedName struct {
	node     source.Node
	path     string
	key      bool
	template *expression.Template
	// number tells samples of different names apart, and shape is the one of sampleShapes that is tried.
	number, shape int
}

// sampleShapes are what names look like, in the order in which they are tried: one that the operation accepts will do.
var sampleShapes = []string{"item%d", "/item%d", "item%d.service", "Item%d", "ITEM%d", "item%d.conf", "%d", "0%d", "item%d=a", "item%d.item"}

// compiledValues compiles the values of a family and remembers where they stand. It is written while the profile is loaded,
// and read only from then on.
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
	// A first time to see what the operation compiles itself.
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

// as is the node with another value.
func (n *computedName) as(value, tag string) *yaml.Node {
	node := *n.node.Node
	node.Value, node.Tag = value, tag
	return &node
}

// evaluate computes the name as the node that stands for it.
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

// computed are the keys and strings below a node that hold an expression.
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
