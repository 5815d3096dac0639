// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// script is a script under construction.
type script struct {
	*translator
	kind      interpreter.Kind
	operation interpreter.Operation
	// profile is the document of the current rule. items is true if the rule has forEach or items.
	profile string
	items   bool
	lines   strings.Builder
	depth   int
	used    map[string]bool
	// known has the paths of variables, with quoted keys, that have a value here, and held those of the last condition.
	known, held []string
	// reads is true if an expression reads a part of the original object that rules may change.
	reads bool
	// begin is a line to write after the name of the first rule.
	begin string
	// flat is true if the rules keep and set only whole fields of the status, single if there is at most one dependency.
	flat, single bool
	variant
}

// use records the use of a runtime function and returns its name.
func (s *script) use(name string) string {
	s.used[name] = true
	return name
}

// line appends one or more lines.
func (s *script) line(text string) {
	for range s.depth {
		text = indent(text)
	}
	s.lines.WriteString(text + "\n")
}

// block appends a block with its head and end.
func (s *script) block(head string, inner func()) {
	s.line(head)
	s.depth++
	inner()
	s.depth--
	s.line("end")
}

// environment returns the CEL environment of the current rule.
func (s *script) environment() *expression.Environment {
	return s.program.Environment(s.operation, s.items)
}

func (s *script) writer(p source.Place, syntax *ast.AST) *writer {
	return &writer{script: s, ast: syntax, at: p}
}

// condition translates the condition at a place. ok is false if there is none, or if it is constantly true.
func (s *script) condition(p source.Place) (written code, ok bool) {
	if p.Absent() {
		return code{}, false
	}
	compiled, err := s.environment().Condition(p.Text().Value, expression.At(p.Node))
	if err != nil {
		s.add(p.FindingOf(NotInLua, "%s", err))
		return code{}, false
	}
	w := s.writer(p, compiled.Syntax())
	s.held = w.guarded(w.ast.Expr())
	written = w.condition(w.ast.Expr())
	return written, written.text != "true"
}

// when writes code that runs if the rule's condition holds.
func (s *script) when(p source.Place, do func()) {
	condition, ok := s.condition(p.At("when"))
	if !ok {
		do()
		return
	}
	s.known = s.held
	s.block("if "+condition.text+" then", do)
	s.known = nil
}

// template translates a string with expressions. With asText, the result is always a string.
func (s *script) template(p source.Place, asText bool) code {
	n := p.Value()
	compiled, err := s.environment().Template(n.Value, expression.At(n))
	if err != nil {
		s.add(p.FindingOf(NotInLua, "%s", err))
		return atom("nil")
	}
	if compiled.Whole() && !asText {
		w := s.writer(p, compiled.Pieces()[0].Syntax)
		return w.result(w.ast.Expr())
	}
	var parts []code
	for _, piece := range compiled.Pieces() {
		if piece.Syntax == nil {
			parts = append(parts, atom(quote(piece.Literal)))
			continue
		}
		w := s.writer(p, piece.Syntax)
		parts = append(parts, w.within(w.ast.Expr()))
	}
	if len(parts) == 0 {
		return atom(`""`)
	}
	return chain("..", rankConcat, parts)
}

// result translates a part to a field value.
func (w *writer) result(e ast.Expr) code {
	switch {
	case w.is(e, types.TimestampKind):
		return w.call("time_of", w.text(e))
	case w.is(e, types.DurationKind, types.BytesKind, types.TypeKind) || w.named(e, semverType) || w.is(e, types.StructKind) && !w.named(e, quantityType):
		return w.refuse("a %s as the value of a field", w.typed(e).TypeName())
	}
	return w.write(e)
}

// within translates a part that is embedded in a string.
func (w *writer) within(e ast.Expr) code {
	written := w.result(e)
	if w.is(e, types.StringKind, types.TimestampKind) || w.named(e, quantityType) {
		return written
	}
	if w.is(e, types.IntKind, types.UintKind, types.BoolKind) {
		return invoke("tostring", written.text)
	}
	return w.call("text", written.text)
}

// value translates any value. Strings in it may contain expressions.
func (s *script) value(p source.Place) code {
	n := p.Value()
	switch {
	case n.Absent():
		return atom(s.use("null"))
	case n.Kind == yaml.MappingNode:
		var members []string
		for _, field := range n.Fields() {
			members = append(members, member(field.Key.Value, s.value(p.At(field.Key.Value))))
		}
		return table(members)
	case n.Kind == yaml.SequenceNode:
		var items []string
		for i := range n.Items() {
			items = append(items, s.value(p.Item(i)).text)
		}
		return table(items)
	case n.Tag == "!!str":
		return s.template(p, false)
	}
	return s.plain(p)
}

// set writes a value to a path. Tables are copied, because Karmada rejects a table that is used in two places.
func (s *script) set(p source.Place, target, path string) {
	n := p.Value()
	scalar := !n.Absent() && n.Kind == yaml.ScalarNode
	if scalar && n.Tag == "!!str" {
		if compiled, err := s.environment().Template(n.Value, expression.At(n)); err == nil && compiled.Whole() {
			w := s.writer(p, compiled.Pieces()[0].Syntax)
			w.store(w.ast.Expr(), target, path)
			return
		}
	}
	written := s.value(p).text
	if !scalar {
		written = invoke(s.use("copy"), written).text
	}
	s.assign(p, target, path, written, scalar)
}

// store writes the value of an expression to a path. The path has no value if the expression is null.
func (w *writer) store(e ast.Expr, target, path string) {
	if isCall(e, "dyn") {
		e = e.AsCall().Args()[0]
	}
	switch {
	case isLiteral(e, types.NullValue):
		w.assign(w.at, target, path, "nil", false)
	case isCall(e, operators.Conditional):
		arguments := e.AsCall().Args()
		w.line("if " + w.condition(arguments[0]).text + " then")
		w.depth++
		w.store(arguments[1], target, path)
		w.depth--
		w.line("else")
		w.depth++
		w.store(arguments[2], target, path)
		w.depth--
		w.line("end")
	case isCall(e, "orValue") && isLiteral(e.AsCall().Args()[0], types.NullValue) && w.chained(e.AsCall().Target()):
		w.assign(w.at, target, path, w.call("copy", w.found(e.AsCall().Target(), "nil").text).text, false)
	case w.is(e, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind):
		w.assign(w.at, target, path, w.result(e).text, true)
	default:
		w.assign(w.at, target, path, w.call("copy", w.result(e).text).text, false)
	}
}

// plain translates a number or a boolean.
func (s *script) plain(p source.Place) code {
	var value any
	raw, err := []byte(nil), p.Value().Decode(&value)
	if err == nil {
		raw, err = json.Marshal(value)
	}
	if err != nil {
		s.add(p.FindingOf(NotInLua, "%s", err))
		return atom("nil")
	}
	if float, err := strconv.ParseFloat(string(raw), 64); err == nil {
		if float >= largest || float <= -largest {
			s.add(p.FindingOf(NotInLua, "the number is too large for Lua"))
		}
		return number(float)
	}
	return atom(string(raw))
}

// count translates a number of replicas.
func (s *script) count(p source.Place) code {
	if p.Value().Tag == "!!int" {
		return s.plain(p)
	}
	return invoke(s.use("count"), s.template(p, false).text)
}

// requirements translates the requirements of a replica.
func (s *script) requirements(p source.Place) code {
	return invoke(s.use("requirements"), s.value(p).text)
}

// path translates a path to a table: a string for a key, a number for a list index, and {member, value} for the
// list item with that value. A third element true marks a quoted value that looks like a number.
func (s *script) path(p source.Place) string {
	if p.Absent() {
		return "{}"
	}
	return s.way(p, p.Value().Value)
}

func (s *script) way(p source.Place, text string) string {
	steps, err := fieldpath.Parse(text)
	if err != nil {
		s.add(p.FindingOf(NotInLua, "%s", err))
		return "{}"
	}
	s.selects = s.selects || len(steps.Keys()) < len(steps)
	parts := make([]string, len(steps))
	for i, step := range steps {
		parts[i] = quote(step.Key)
		switch {
		case step.Position:
			at, _ := strconv.Atoi(step.Key) // fieldpath checked the number
			parts[i] = strconv.Itoa(at + 1)
		case step.By != "" && step.Quoted:
			parts[i] = table([]string{quote(step.By), quote(step.Key), "true"}).text
		case step.By != "":
			parts[i] = table([]string{quote(step.By), quote(step.Key)}).text
		}
	}
	return table(parts).text
}

// keys returns the keys of a path without list items, or nil for other paths.
func keys(text string) []string {
	steps, err := fieldpath.Parse(text)
	if err != nil || len(steps.Keys()) < len(steps) {
		return nil
	}
	return steps.Keys()
}

// assign writes a value to a path. certain is true if the value is never nil.
func (s *script) assign(p source.Place, target, text, value string, certain bool) {
	switch keys := keys(text); {
	case len(keys) == 1:
		s.line(entry(target, keys[0]) + " = " + value)
	case len(keys) == 2 && certain && s.operation == interpreter.Revise:
		parent := entry(target, keys[0])
		s.block("if "+parent+" == nil then", func() { s.line(parent + " = {}") })
		s.line("assert(" + parent + "[1] == nil)") // a list is no parent
		s.line(entry(parent, keys[1]) + " = " + value)
	default:
		s.line(invoke(s.use("put"), target, s.way(p, text), value).text)
	}
}

// finished returns the complete script.
func (s *script) finished() *Script {
	s.nulls = s.used["null"]
	runtime, body := prelude(s.used, s.variant), s.lines.String()
	if len(runtime) > 0 && strings.HasPrefix(runtime[0], "local function check(") {
		runtime, body = append([]string{"local rule"}, runtime...), ruleComment.ReplaceAllString(body, `${1}rule = "$2"`)
	}
	constants, body := named(body, strings.Join(runtime, "\n"))
	if before := slices.Concat(runtime, constants); len(before) > 0 {
		body = strings.Join(before, "\n") + "\n\n" + body
	}
	return &Script{LuaScript: body}
}

// ruleComment matches the comment that names a rule. Scripts that check values have a variable instead.
var ruleComment = regexp.MustCompile(`(?m)^( *)-- (.*)$`)

// named declares variables for long strings that a body repeats, with their last words as names, and replaces the strings.
func named(body, runtime string) (declared []string, replaced string) {
	names, taken := map[string]string{}, append(word.FindAllString(literal.ReplaceAllString(body+runtime, " "), -1), keywords...)
	replaced = literal.ReplaceAllStringFunc(body, func(text string) string {
		words := word.FindAllString(text, -1)
		if len(text) > 20 && text[0] == '"' && strings.Count(body, text)*len(text) > 60 && strings.Count(body, text) > 1 && len(words) > 0 && names[text] == "" {
			last := strings.TrimPrefix(words[len(words)-1], ".")
			name := last
			for i := 2; slices.Contains(taken, name) || !identifier.MatchString(name); i++ {
				name = "the_" + last + strconv.Itoa(i)
			}
			taken, names[text] = append(taken, name), name
			declared = append(declared, "local "+name+" = "+text)
		}
		return cmp.Or(names[text], text)
	})
	return declared, replaced
}

// hides reports whether a rule always applies, so that rules after it never do.
func (s *script) hides(p source.Place) bool {
	condition, ok := s.condition(p.At("when"))
	return !ok && condition.text != "false" && !slices.ContainsFunc(s.findings, func(f source.Finding) bool { return f.Path == p.At("when").Path })
}
