// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Resolved is a value after its expressions were evaluated. Exactly one of the three is meant.
type Resolved struct {
	// Absent says that the place must not be there.
	Absent bool
	// Texts are one or several strings: the value of a label, or each occurrence of a flag. An empty list that is not nil
	// means a flag without a value.
	Texts []string
	// JSON is a structured value.
	JSON []byte
	// From are the Secrets of which the value is made; nil: none. Such a value is written to the object and shown nowhere.
	From []string
}

// Text is the only or the first text.
func (r Resolved) Text() string {
	if len(r.Texts) == 0 {
		return ""
	}
	return r.Texts[0]
}

// Equal says whether two values would leave the same in a place.
func (r Resolved) Equal(s Resolved) bool {
	return r.Absent == s.Absent && slices.Equal(r.Texts, s.Texts) && bytes.Equal(r.JSON, s.JSON)
}

// String writes the value for a plan; texts in quotes.
func (r Resolved) String() string {
	switch {
	case r.From != nil:
		return fromSecrets(r.From)
	case r.Absent:
		return "absent"
	case r.JSON != nil:
		return string(r.JSON)
	case len(r.Texts) == 0:
		return "present"
	default:
		quoted, _ := json.Marshal(r.Texts)
		return strings.TrimSuffix(strings.TrimPrefix(string(quoted), "["), "]")
	}
}

// Value is what a write will leave in its place: constant, or computed from facts.
type Value struct {
	constant *Resolved
	texts    []*expression.Template
	tree     *expression.Tree
	shape    func([]byte) ([]byte, error)
	escape   escape
	secrets  []string // of which it is made
}

// Remove is the value that takes a place away.
func Remove() Value { return Value{constant: &Resolved{Absent: true}} }

// Fixed is a value of constant texts.
func Fixed(texts ...string) Value {
	if texts == nil {
		texts = []string{}
	}
	return Value{constant: &Resolved{Texts: texts}}
}

// Constant is the value if it is known when the profile is loaded.
func (v Value) Constant() (Resolved, bool) {
	if v.constant == nil {
		return Resolved{}, false
	}
	return *v.constant, true
}

// References are the dotted paths of the variables that the value needs.
func (v Value) References() []string {
	var references []string
	for _, text := range v.texts {
		references = append(references, text.References()...)
	}
	return append(references, v.tree.References()...)
}

func (v Value) resolve(ctx context.Context, variables Variables) (Resolved, error) {
	if v.constant != nil {
		return *v.constant, nil
	}
	if v.tree != nil {
		raw, err := v.tree.JSON(ctx, variables)
		if err == nil && v.shape != nil {
			raw, err = v.shape(raw)
		}
		return Resolved{JSON: raw}, err
	}
	resolved := Resolved{Texts: make([]string, len(v.texts))}
	for i, text := range v.texts {
		var err error
		if resolved.Texts[i], err = v.escape.text(ctx, text, variables); err != nil {
			return Resolved{}, err
		}
	}
	return resolved, nil
}

// Text compiles a scalar: a string with ${ CEL }, a number or a boolean.
func (c *Context) Text(n source.Node, path string) (Value, source.Findings) {
	return c.Texts([]source.Node{n}, path)
}

// Texts compiles several scalars.
func (c *Context) Texts(nodes []source.Node, path string) (Value, source.Findings) {
	var (
		value    = Value{}
		findings source.Findings
		constant = true
	)
	for _, n := range nodes {
		if n.Node == nil || n.Kind != yaml.ScalarNode || n.Absent() {
			findings = append(findings, n.Finding(path, "must be a string, a number or a boolean").Of(source.WrongType))
			continue
		}
		template, err := c.template(n)
		if err != nil {
			findings = append(findings, source.FindingsOf(n, path, err).Of(expression.FailingConstant)...)
			continue
		}
		constant = constant && template.Constant()
		value.texts = append(value.texts, template)
	}
	if constant && len(findings) == 0 {
		resolved, err := value.resolve(context.Background(), nil)
		if err != nil {
			return Value{}, source.FindingsOf(nodes[0], path, err).Of(expression.FailingConstant)
		}
		value = Value{constant: &resolved}
	}
	return value, findings
}

// template compiles a scalar; only strings are interpolated, and a number stays as it is written.
func (c *Context) template(n source.Node) (*expression.Template, error) {
	text := n.Value
	if n.Tag != "!!str" {
		text = literal(text)
	}
	return c.Expressions.Template(text, expression.At(n))
}

// literal is a text in which ${ means nothing, as a template.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Size is the estimated size of a value that is computed as a whole; zero for others.
func (v Value) Size() expression.Size { return v.tree.Size() }

// Keys are the members of a value that is a mapping, as far as they are known when the profile is loaded: all but computed ones.
func (v Value) Keys() []string {
	if v.tree != nil {
		return v.tree.Keys()
	}
	if v.constant == nil || v.constant.JSON == nil {
		return nil
	}
	parsed, err := document.Parse(v.constant.JSON)
	if err != nil {
		return nil
	}
	var keys []string
	for key := range parsed.Root().Members() {
		keys = append(keys, key)
	}
	return keys
}
