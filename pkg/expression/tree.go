// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Templates compiles strings; an Environment does.
type Templates interface {
	Template(text string, at source.Position) (*Template, error)
}

// NewTree compiles any YAML value; its strings may contain ${ CEL }. A missing value is null. The path is for findings.
func NewTree(templates Templates, n source.Node, path string) (*Tree, source.Findings) {
	if n.Node == nil {
		return &Tree{literal: []byte("null")}, nil
	}
	var findings source.Findings
	result := &Tree{}
	switch n.Kind {
	case yaml.MappingNode:
		for _, field := range n.Fields() {
			member, problems := NewTree(templates, field.Value, path+"."+field.Key.Value)
			findings = append(findings, problems...)
			result.keys, result.children = append(result.keys, field.Key.Value), append(result.children, member)
		}
	case yaml.SequenceNode:
		result.list = true
		for i, item := range n.Items() {
			entry, problems := NewTree(templates, item, path+"["+strconv.Itoa(i)+"]")
			findings = append(findings, problems...)
			result.children = append(result.children, entry)
		}
	default:
		return leaf(templates, n, path)
	}
	return result, findings
}

func leaf(templates Templates, n source.Node, path string) (*Tree, source.Findings) {
	if n.Tag == "!!str" {
		template, err := templates.Template(n.Value, At(n))
		if err != nil {
			return nil, source.FindingsOf(n, path, err).Of(FailingConstant)
		}
		return &Tree{template: template}, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, source.Findings{n.Finding(path, "cannot be read: %s", err).Of(source.WrongType)}
	}
	literal, err := json.Marshal(value)
	if err != nil {
		return nil, source.Findings{n.Finding(path, "has no form in JSON: %s", err).Of(source.WrongType)}
	}
	return &Tree{literal: literal}, nil
}

// Constant reports whether the tree uses no variables.
func (t *Tree) Constant() bool {
	if t == nil {
		return true
	}
	if t.template != nil {
		return t.template.Constant()
	}
	for _, child := range t.children {
		if !child.Constant() {
			return false
		}
	}
	return true
}

// References returns the dotted paths of the variables that the tree uses, with repetitions.
func (t *Tree) References() []string {
	if t == nil {
		return nil
	}
	var references []string
	if t.template != nil {
		references = t.template.References()
	}
	for _, child := range t.children {
		references = append(references, child.References()...)
	}
	return references
}

// JSON computes the value as JSON. It fails with an *EvaluationError, or with the context's error.
func (t *Tree) JSON(ctx context.Context, vars interpreter.Activation) ([]byte, error) {
	var out bytes.Buffer
	if err := t.write(ctx, vars, &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (t *Tree) write(ctx context.Context, vars interpreter.Activation, out *bytes.Buffer) error {
	switch {
	case t.literal != nil:
		out.Write(t.literal)
	case out.Len() > maximumValue:
		return errTooLarge
	case t.template != nil:
		value, err := t.template.JSON(ctx, vars)
		if err != nil {
			return err
		}
		out.Write(value)
	default:
		return t.writeChildren(ctx, vars, out)
	}
	return nil
}

// writeChildren writes a list or a mapping.
func (t *Tree) writeChildren(ctx context.Context, vars interpreter.Activation, out *bytes.Buffer) error {
	opening, closing := byte('{'), byte('}')
	if t.list {
		opening, closing = '[', ']'
	}
	out.WriteByte(opening)
	for i, child := range t.children {
		if i > 0 {
			out.WriteByte(',')
		}
		if !t.list {
			out.Write(append(document.Quote(t.keys[i]), ':'))
		}
		if err := child.write(ctx, vars, out); err != nil {
			return err
		}
	}
	out.WriteByte(closing)
	return nil
}

// Known returns the constant parts of the value in the form of encoding/json; computed parts are nil.
func (t *Tree) Known() any {
	switch {
	case t.Constant():
		var value any
		raw, err := t.JSON(context.Background(), nil)
		if err != nil || json.Unmarshal(raw, &value) != nil {
			return nil
		}
		return value
	case t.template != nil:
		return nil
	case t.list:
		items := make([]any, len(t.children))
		for i, item := range t.children {
			items[i] = item.Known()
		}
		return items
	default:
		members := make(map[string]any, len(t.keys))
		for i, key := range t.keys {
			members[key] = t.children[i].Known()
		}
		return members
	}
}
