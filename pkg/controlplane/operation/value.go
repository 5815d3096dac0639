// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Tree compiles any YAML value; its strings may hold ${ CEL }.
func (c *Context) Tree(n source.Node, path string) (Value, source.Findings) {
	compiled, findings := expression.NewTree(c.Expressions, n, path)
	if len(findings) > 0 {
		return Value{}, findings
	}
	if !compiled.Constant() {
		return Value{tree: compiled}, nil
	}
	raw, err := compiled.JSON(context.Background(), nil)
	if err != nil {
		return Value{}, source.FindingsOf(n, path, err).Of(expression.FailingConstant)
	}
	return Value{constant: &Resolved{JSON: raw}}, nil
}

var (
	optionName = regexp.MustCompile(`^[-.a-zA-Z0-9]+$`)
	// begun matches a text that begins with a section.
	begun = regexp.MustCompile(`\A(\s*[#;][^\n]*\n)*\s*\[`)
)

// ErrValue means that the value of an expression is not allowed in its place.
var ErrValue = errors.New("invalid value")

// visit calls a function with each constant value at a path.
func visit(n source.Node, at, path string, do func(n source.Node, at string)) {
	if n.Absent() || isComputed(n) {
		return
	}
	if path == "" {
		do(n, at)
		return
	}
	if rest, ok := strings.CutPrefix(path, "[]"); ok {
		for i, item := range n.Items() {
			visit(item, fmt.Sprintf("%s[%d]", at, i), strings.TrimPrefix(rest, "."), do)
		}
		return
	}
	if rest, ok := strings.CutPrefix(path, "{}"); ok {
		for _, field := range n.Fields() {
			visit(field.Value, at+"."+field.Key.Value, strings.TrimPrefix(rest, "."), do)
		}
		return
	}
	end := strings.IndexAny(path, ".[{")
	if end < 0 {
		end = len(path)
	}
	visit(n.Get(path[:end]), at+"."+path[:end], strings.TrimPrefix(path[end:], "."), do)
}

// isComputed reports whether a scalar may contain an expression.
func isComputed(n source.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, "${")
}

// Text returns the first text, or an empty string.
func (r Resolved) Text() string {
	if len(r.Texts) == 0 {
		return ""
	}
	return r.Texts[0]
}

// Equal reports whether two values have the same effect in a place.
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

// Remove returns the value that removes a place.
func Remove() Value { return Value{constant: &Resolved{Absent: true}} }

// Fixed returns a value of constant texts.
func Fixed(texts ...string) Value {
	if texts == nil {
		texts = []string{}
	}
	return Value{constant: &Resolved{Texts: texts}}
}

// Constant returns the value if it is known when the profile is loaded.
func (v Value) Constant() (Resolved, bool) {
	if v.constant == nil {
		return Resolved{}, false
	}
	return *v.constant, true
}

// References returns the dotted paths of the variables that the value needs.
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

// template compiles a scalar. Only strings are interpolated; numbers keep their spelling.
func (c *Context) template(n source.Node) (*expression.Template, error) {
	text := n.Value
	if n.Tag != "!!str" {
		text = literal(text)
	}
	return c.Expressions.Template(text, expression.At(n))
}

// literal returns a template for a text without expressions.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Keys returns the members of a mapping, except computed ones.
func (v Value) Keys() []string {
	known, _ := v.Known().(map[string]any)
	return slices.Sorted(maps.Keys(known))
}

// FromSecrets returns the write for a value that contains data of these Secrets: neither its text nor its errors
// display it.
func (w Write) FromSecrets(names ...string) Write {
	apply, from := w.Apply, fromSecrets(names)
	w.Value.secrets = names
	w.Apply = func(o *target.Object, v Resolved) error {
		err := apply(o, v)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return err // names only the missing object
		}
		return hide(err, from)
	}
	return w
}

// fromSecrets returns the replacement for a value in output.
func fromSecrets(names []string) string { return "(from Secret " + strings.Join(names, ", ") + ")" }

// hidden wraps an error with a message that may contain data of a Secret.
type hidden struct {
	err  error
	from string
}

// hide keeps the kind of an error without its message. Messages of evaluations contain no values.
func hide(err error, from string) error {
	var evaluation *expression.EvaluationError
	if err == nil || errors.As(err, &evaluation) {
		return err
	}
	return hidden{err, from}
}

// Error returns a message that names the source of the value.
func (h hidden) Error() string { return "the value " + h.from + " is not possible here" }

// Is reports whether the hidden error matches target.
func (h hidden) Is(target error) bool { return errors.Is(h.err, target) }

// text evaluates a template.
func (e escape) text(ctx context.Context, t *expression.Template, variables Variables) (string, error) {
	if e.computed == nil {
		return t.String(ctx, variables)
	}
	text, err := t.Escaped(ctx, variables, e.computed)
	if err != nil || e.whole == nil {
		return text, err
	}
	return e.whole(text), nil
}

// escaped returns the value with an escape; a constant is escaped at once.
func (v Value) escaped(e escape) Value {
	if v.constant == nil {
		v.escape = e
		return v
	}
	if e.whole != nil {
		constant := *v.constant
		constant.Texts = make([]string, len(v.constant.Texts))
		for i, text := range v.constant.Texts {
			constant.Texts[i] = e.whole(text)
		}
		v.constant = &constant
	}
	return v
}

// computedDollar marks a dollar sign from an expression until the whole value is escaped.
const computedDollar = "\x00"

var dollar = regexp.MustCompile(`\$(\{[a-zA-Z_][a-zA-Z0-9_]*\})?`)

// inCommand escapes the value of a kubelet flag, so that the kubelet receives the value in the profile. Only ${NAME},
// written as $${NAME} in a profile, remains a variable of the unit.
var inCommand = escape{
	computed: func(_, computed string) (string, error) {
		if strings.ContainsAny(computed, "\r\n") {
			return "", errLineBreak
		}
		return strings.ReplaceAll(computed, "$", computedDollar), nil
	},
	whole: func(text string) string {
		text = dollar.ReplaceAllStringFunc(text, func(match string) string {
			if match == "$" {
				return "$$"
			}
			return match
		})
		return strings.NewReplacer("%", "%%", computedDollar, "$$").Replace(text)
	},
}

var errLineBreak = errors.New("the value has a line break, which would start another line of the unit")

// execLine is a text that ends in a command of a unit, with the lines that continue it.
var execLine = regexp.MustCompile(`(?:^|[\r\n])[ \t]*Exec[A-Za-z]*[ \t]*=(?:\\\r?\n|[^\r\n])*$`)

// inUnitText escapes the results of expressions in the text of a unit or a drop-in, after its first section. An
// expression before the first section returns text of the unit itself.
var inUnitText = escape{computed: func(before, computed string) (string, error) {
	if !begun.MatchString(before) {
		return computed, nil
	}
	return unitValue(computed, execLine.MatchString(before))
}}

// inOption escapes the results of expressions in the value of an option.
func inOption(option string) escape {
	return escape{computed: func(_, computed string) (string, error) {
		return unitValue(computed, strings.HasPrefix(option, "Exec"))
	}}
}

// unitValue escapes a part of a value; in commands, a dollar sign begins a variable.
func unitValue(computed string, command bool) (string, error) {
	if strings.ContainsAny(computed, "\r\n") {
		return "", errLineBreak
	}
	computed = strings.ReplaceAll(computed, "%", "%%")
	if command {
		computed = strings.ReplaceAll(computed, "$", "$$")
	}
	return computed, nil
}

// Known returns the constant parts of a structured value, in the form of encoding/json:
// computed parts are nil. It returns nil for texts.
func (v Value) Known() any {
	if v.tree != nil {
		return v.tree.Known()
	}
	var value any
	if v.constant != nil && v.constant.JSON != nil && json.Unmarshal(v.constant.JSON, &value) != nil {
		return nil
	}
	return value
}

// Resolve computes the value of the write. The error names the place, and hides values of Secrets.
func (w Write) Resolve(ctx context.Context, variables Variables) (Resolved, error) {
	resolved, err := w.Value.resolve(ctx, variables)
	if secrets := w.Value.secrets; secrets != nil {
		resolved.From, err = secrets, hide(err, fromSecrets(secrets))
	}
	if err != nil {
		return Resolved{}, fmt.Errorf("computing %s: %w", w.Place, err)
	}
	return resolved, nil
}
