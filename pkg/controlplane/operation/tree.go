// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// tree is a YAML value compiled: JSON in which some strings are still to be computed. Members keep the order of the file.
type tree struct {
	literal  []byte
	template *expression.Template
	keys     []string
	members  []*tree
	items    []*tree
	list     bool
}

// Tree compiles any YAML value; its strings may hold ${ CEL }.
func (c *Context) Tree(n source.Node, path string) (Value, source.Findings) {
	compiled, findings := c.tree(n, path)
	if len(findings) > 0 {
		return Value{}, findings
	}
	return treeValue(compiled, n, path)
}

func treeValue(compiled *tree, n source.Node, path string) (Value, source.Findings) {
	if !compiled.constant() {
		return Value{tree: compiled}, nil
	}
	var out bytes.Buffer
	if err := compiled.write(context.Background(), nothing{}, &out); err != nil {
		return Value{}, source.FindingsOf(n, path, err).Of(expression.FailingConstant)
	}
	return Value{constant: &Resolved{JSON: out.Bytes()}}, nil
}

func (c *Context) tree(n source.Node, path string) (*tree, source.Findings) {
	if n.Node == nil {
		return &tree{literal: []byte("null")}, nil
	}
	var findings source.Findings
	result := &tree{}
	switch n.Kind {
	case yaml.MappingNode:
		for _, field := range n.Fields() {
			member, problems := c.tree(field.Value, path+"."+field.Key.Value)
			findings = append(findings, problems...)
			result.keys, result.members = append(result.keys, field.Key.Value), append(result.members, member)
		}
	case yaml.SequenceNode:
		result.list = true
		for i, item := range n.Items() {
			entry, problems := c.tree(item, path+"["+strconv.Itoa(i)+"]")
			findings = append(findings, problems...)
			result.items = append(result.items, entry)
		}
	default:
		return c.leaf(n, path)
	}
	return result, findings
}

func (c *Context) leaf(n source.Node, path string) (*tree, source.Findings) {
	if n.Tag == "!!str" {
		template, err := c.Expressions.Template(n.Value, expression.At(n))
		if err != nil {
			return nil, source.FindingsOf(n, path, err).Of(expression.FailingConstant)
		}
		return &tree{template: template}, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, source.Findings{n.Finding(path, "cannot be read: %s", err).Of(source.WrongType)}
	}
	literal, err := json.Marshal(value)
	if err != nil {
		return nil, source.Findings{n.Finding(path, "has no form in JSON: %s", err).Of(source.WrongType)}
	}
	return &tree{literal: literal}, nil
}

func (t *tree) constant() bool {
	if t.template != nil {
		return t.template.Constant()
	}
	for _, child := range append(t.members, t.items...) {
		if !child.constant() {
			return false
		}
	}
	return true
}

func (t *tree) references() []string {
	if t == nil {
		return nil
	}
	var references []string
	if t.template != nil {
		references = t.template.References()
	}
	for _, children := range [][]*tree{t.members, t.items} {
		for _, child := range children {
			references = append(references, child.references()...)
		}
	}
	return references
}

func (t *tree) write(ctx context.Context, variables Variables, out *bytes.Buffer) error {
	switch {
	case t.literal != nil:
		out.Write(t.literal)
	case t.template != nil:
		value, err := t.template.JSON(ctx, variables)
		if err != nil {
			return err
		}
		out.Write(value)
	case t.list:
		return t.writeList(ctx, variables, out)
	default:
		return t.writeMap(ctx, variables, out)
	}
	return nil
}

func (t *tree) writeList(ctx context.Context, variables Variables, out *bytes.Buffer) error {
	out.WriteByte('[')
	for i, item := range t.items {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := item.write(ctx, variables, out); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func (t *tree) writeMap(ctx context.Context, variables Variables, out *bytes.Buffer) error {
	out.WriteByte('{')
	for i, member := range t.members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(document.Quote(t.keys[i]))
		out.WriteByte(':')
		if err := member.write(ctx, variables, out); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}
