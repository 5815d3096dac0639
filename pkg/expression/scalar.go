// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Scalar is a text, a number or a boolean within a value, with the parts of it that expressions gave.
type Scalar struct {
	// Keys lead to it: those of mappings, and the names of items that have one.
	Keys []string
	Text string
	// Parts are what expressions gave, in their order; what stands between them is as the author wrote it.
	Parts []Part
}

// Part is what an expression gave.
type Part struct {
	// From and To are where it stands in the text, in bytes.
	From, To int
	// References are the dotted paths of the variables of which it is made.
	References []string
}

// Scalars computes the template again and tells what of the result is computed: one scalar for a text, and each scalar of a list or mapping.
func (t *Template) Scalars(ctx context.Context, vars interpreter.Activation, keys ...string) ([]Scalar, error) {
	if t.value != nil {
		return nil, nil
	}
	if t.whole != nil {
		value, err := t.whole.evaluate(ctx, vars)
		if err != nil {
			return nil, err
		}
		return t.whole.scalars(value, keys)
	}
	scalar := Scalar{Keys: keys}
	var err error
	scalar.Text, err = t.write(ctx, vars, func(p *program, before, computed string) (string, error) {
		if p.value == nil {
			scalar.Parts = append(scalar.Parts, Part{len(before), len(before) + len(computed), p.references})
		}
		return computed, nil
	})
	if err != nil {
		return nil, err
	}
	return []Scalar{scalar}, nil
}

// scalars are those of a result of the program.
func (p *program) scalars(value ref.Val, keys []string) ([]Scalar, error) {
	raw, err := JSON(value)
	if err != nil {
		return nil, p.failed(err.Error())
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, p.failed(err.Error())
	}
	return p.within(decoded, keys), nil
}

func (p *program) within(value any, keys []string) []Scalar {
	var (
		all  []Scalar
		text string
	)
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		for _, item := range value {
			inner := keys
			if members, ok := item.(map[string]any); ok {
				if name, ok := members[itemName].(string); ok {
					inner = slices.Concat(keys, []string{name})
				}
			}
			all = append(all, p.within(item, inner)...)
		}
		return all
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, p.within(value[key], slices.Concat(keys, []string{key}))...)
		}
		return all
	case string:
		text = value
	case json.Number:
		text = value.String()
	case bool:
		text = "false"
		if value {
			text = "true"
		}
	}
	return []Scalar{{Keys: keys, Text: text, Parts: []Part{{0, len(text), p.references}}}}
}

// Variable is the dotted path of a template that is nothing but a variable or a field of one; empty for any other.
func (t *Template) Variable() string {
	if t.whole == nil {
		return ""
	}
	i := inspector{variables: t.whole.environment.variables}
	return strings.Join(i.path(t.whole.ast.NativeRep().Expr()), ".")
}

// itemName is the key of mappings in lists by which people tell them apart.
const itemName = "name"

// Templates tells of each template of the tree, with the keys that lead to it.
func (t *Tree) Templates(tell func(template *Template, keys []string) error) error {
	return t.templates(nil, tell)
}

func (t *Tree) templates(keys []string, tell func(template *Template, keys []string) error) error {
	switch {
	case t == nil || t.literal != nil:
		return nil
	case t.template != nil:
		return tell(t.template, keys)
	}
	for _, item := range t.items {
		inner := keys
		if name := item.name(); name != "" {
			inner = slices.Concat(keys, []string{name})
		}
		if err := item.templates(inner, tell); err != nil {
			return err
		}
	}
	for i, member := range t.members {
		if err := member.templates(slices.Concat(keys, []string{t.keys[i]}), tell); err != nil {
			return err
		}
	}
	return nil
}

// name is that of an item of a list, where it is written as it is.
func (t *Tree) name() string {
	i := slices.Index(t.keys, itemName)
	if i < 0 || t.members[i].template == nil {
		return ""
	}
	name, _ := t.members[i].template.value.(types.String)
	return string(name)
}
