// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// At is the position of the first character of a YAML scalar's text: after the quote, or in the line after the | of a block scalar, where
// the column is not known.
func At(n source.Node) source.Position {
	p := n.Position()
	if n.Node == nil {
		return p
	}
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		p.Column++
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.Line, p.Column = p.Line+1, 0
	}
	return p
}

// diagnose turns what CEL found into findings, each at its own place and with a suggestion for unknown names.
func (e *Environment) diagnose(o origin, text piece, issues *cel.Issues) source.Findings {
	var (
		findings source.Findings
		missing  map[string][]string
	)
	for _, issue := range issues.Errors() {
		offset, rule := offsetOf(text.text, issue.Location), WrongResult
		var (
			unknown string
			known   []string
		)
		message, isSyntax := strings.CutPrefix(issue.Message, "Syntax error: ")
		if isSyntax {
			message, _, _ = strings.Cut(message, " expecting {")
			if before, found := strings.CutSuffix(message, " expecting <EOF>"); found {
				message = before + ": the expression ends in front of it"
			}
			message, rule = "syntax error: "+message, SyntaxError
		}
		if m := undefinedField.FindStringSubmatch(message); m != nil {
			if missing == nil {
				missing = e.missingFields(text.text)
			}
			offset = nameAfter(text.text, offset)
			unknown, known = m[1], missing[m[1]]
			message += suggestField(unknown, known)
		}
		if m := undeclaredReference.FindStringSubmatch(message); m != nil {
			unknown, known = m[1], e.Variables()
			if offset < len(text.text) && text.text[offset] == '(' {
				known = functionNames(e.env)
				offset = nameBefore(text.text, offset)
			}
			message = "undeclared reference to '" + m[1] + "'" + e.suggest(unknown, known)
		}
		if m := reservedName.FindStringSubmatch(message); m != nil {
			message = "'" + m[1] + "' is reserved by CEL" + source.Suggest(m[1]+"Object", e.Variables())
		}
		if m, ok := misfitOf(message); ok {
			if strings.HasPrefix(text.text[offset:], "(") {
				offset = nameBefore(text.text, offset)
			}
			message = e.say(m)
		}
		finding := o.finding(text.offset+offset, "%s", plainly(message)).Of(rule)
		if unknown != "" {
			finding = finding.Of(UnknownName)
			if word, ok := source.Nearest(unknown, known); ok && finding.Column > 0 && e.elsewhere[unknown] == "" {
				finding.Fix = &source.Fix{At: finding.Position, Old: unknown, New: word}
			}
		}
		if !slices.ContainsFunc(findings, func(f source.Finding) bool { return f.Error() == finding.Error() }) {
			findings = append(findings, finding)
		}
		if isSyntax {
			break // those that follow are consequences
		}
	}
	findings.Sort()
	return findings
}

var (
	undefinedField      = regexp.MustCompile(`^undefined field '([^']*)'`)
	reservedName        = regexp.MustCompile(`^(?:syntax error: )?reserved identifier: (\w+)`)
	undeclaredReference = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
)

// offsetOf is the offset, in bytes, of a place that CEL gives as line (from 1) and column (from 0, in code points).
func offsetOf(text string, at common.Location) int {
	offset := 0
	for range at.Line() - 1 {
		end := strings.IndexByte(text[offset:], '\n')
		if end < 0 {
			break
		}
		offset += end + 1
	}
	for range at.Column() {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return offset
}

// nameAfter moves from the dot of a selection to the field's name.
func nameAfter(text string, offset int) int {
	return offset + len(text[offset:]) - len(strings.TrimLeft(text[offset:], ".?` \t\r\n"))
}

// nameBefore moves from the parenthesis of a call to the beginning of the function's name.
func nameBefore(text string, offset int) int {
	for offset > 0 && isWord(text[offset-1]) {
		offset--
	}
	return offset
}

// nodePosition is where a node stands: at the field's or the function's name for selections and calls.
func (p *program) nodePosition(node ast.Expr) source.Position {
	text := p.expressionText()
	location := p.ast.NativeRep().SourceInfo().GetStartLocation(node.ID())
	if location == common.NoLocation {
		return p.origin.position(p.offset)
	}
	offset := offsetOf(text, location)
	switch {
	case offset < len(text) && (text[offset] == '.' || text[offset] == '?'):
		offset = nameAfter(text, offset)
	case offset < len(text) && text[offset] == '(':
		offset = nameBefore(text, offset)
	}
	return p.origin.position(p.offset - leadingSpace(text) + offset)
}

func (p *program) expressionText() string { return p.ast.Source().Content() }

func functionNames(env *cel.Env) []string {
	var names []string
	for name := range env.Functions() {
		if isWord(name[0]) && name[0] != '_' {
			names = append(names, name)
		}
	}
	return names
}

// missingFields compiles a text once more to learn of which types its unknown fields are: for each unknown field, the fields that are known.
func (e *Environment) missingFields(text string) map[string][]string {
	recorder := &fieldRecorder{typeProvider: e.types, missing: map[string][]string{}}
	env, err := e.env.Extend(cel.CustomTypeProvider(types.Provider(recorder)))
	if err != nil {
		return nil
	}
	env.Compile(text)
	return recorder.missing
}

// fieldRecorder remembers which fields were asked for in vain.
type fieldRecorder struct {
	*typeProvider
	missing map[string][]string
}

// FindStructFieldType implements types.Provider.
func (r *fieldRecorder) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fieldType, ok := r.typeProvider.FindStructFieldType(name, field)
	if o := r.objects[name]; !ok && o != nil {
		r.missing[field] = append(r.missing[field], o.Fields()...)
	}
	return fieldType, ok
}
