// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// shell returns the data of the whole program that the program of a part needs.
func (p *compiledExpression) shell() *compiledExpression {
	return &compiledExpression{origin: p.origin, offset: p.offset, ast: p.ast, environment: p.environment}
}

// diagnose converts CEL's issues to findings with their own positions and with suggestions for unknown names.
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
			message, rule = "syntax error: "+message, SyntaxError
		}
		if m := undefinedField.FindStringSubmatch(message); m != nil {
			if missing == nil {
				missing = e.missingFields(text.text)
			}
			offset = nameAfter(text.text, offset)
			unknown, known = m[1], missing[m[1]]
			message += suggest(unknown, known)
		}
		if m := undeclaredReference.FindStringSubmatch(message); m != nil {
			unknown, known = m[1], e.Variables()
			hint := suggest(unknown, known)
			if offset < len(text.text) && text.text[offset] == '(' {
				known = functionNames(e.env)
				offset, hint = nameBefore(text.text, offset), source.Suggest(unknown, known)
			}
			if slices.ContainsFunc(e.env.Macros(), func(m cel.Macro) bool { return m.Function() == unknown }) {
				hint = " with these arguments; a macro takes a name first, such as list.exists(x, x > 0)"
			}
			if where := e.elsewhere[unknown]; where != "" {
				hint = "; " + where
			}
			message = "undeclared reference to '" + unknown + "'" + hint
		}
		if m := refused.FindStringSubmatch(message); m != nil {
			if strings.HasPrefix(text.text[offset:], "(") {
				offset = nameBefore(text.text, offset)
			}
			message = symbolOf(m[1]) + " cannot take " + m[2] + remedy(m[2])
		}
		finding := o.finding(text.offset+offset, "%s", strings.ReplaceAll(message, "_type", "")).Of(rule)
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
	refused             = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'$`)
	undeclaredReference = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
)

// offsetOf returns the offset, in bytes, of CEL's line (from 1) and column (from 0, in code points).
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

// nodePosition returns the position of a node; for selections and calls, the position of the field's or function's
// name.
func (p *compiledExpression) nodePosition(node ast.Expr) source.Position {
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

func (p *compiledExpression) expressionText() string { return p.ast.Source().Content() }

func functionNames(env *cel.Env) []string {
	var names []string
	for name := range env.Functions() {
		if isWord(name[0]) && name[0] != '_' {
			names = append(names, name)
		}
	}
	return names
}

// missingFields compiles a text again to find the types of its unknown fields: it returns the known fields for each
// unknown one.
func (e *Environment) missingFields(text string) map[string][]string {
	recorder := &fieldRecorder{typeProvider: e.types, missing: map[string][]string{}}
	env, err := e.env.Extend(cel.CustomTypeProvider(types.Provider(recorder)))
	if err != nil {
		return nil
	}
	env.Compile(text)
	return recorder.missing
}

// fieldRecorder records requests for unknown fields.
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

// remedy returns the correction of a frequent mismatch of types in CEL's notation, or "".
func remedy(given string) string {
	switch {
	case strings.Contains(given, "optional_type"):
		return "; give a default with .orValue(…)"
	case strings.Contains(given, "kubernetes.Semver") && strings.Contains(given, "string"):
		return `; compare versions with satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`
	case strings.Contains(given, "kubernetes.Quantity"):
		return "; use add, compareTo, isGreaterThan and isLessThan for quantities"
	}
	return ""
}

// symbolOf returns the notation of an operator or a function.
func symbolOf(function string) string {
	switch symbol, isOperator := operators.FindReverse(function); {
	case !isOperator:
		return strings.TrimLeft(function, "@")
	case symbol != "":
		return symbol
	case function == operators.Conditional:
		return "?"
	default:
		return "[…]"
	}
}

// suggest returns a hint at a similar known name, or lists the known names. It omits internal names of fields, which
// contain __.
func suggest(name string, known []string) string {
	if suggestion := source.Suggest(name, known); suggestion != "" {
		return suggestion
	}
	known = slices.DeleteFunc(slices.Clone(known), func(field string) bool { return strings.Contains(field, "__") })
	slices.Sort(known)
	switch known = slices.Compact(known); len(known) {
	case 0:
		return ""
	case 1:
		return "; there is only " + known[0]
	}
	return "; " + source.ListKnown(known)
}

// howToRead returns the notation for reading a key that may be missing, or "" if the expression does not contain the
// key: a computed key may contain data of a Secret.
func (p *compiledExpression) howToRead(name string) string {
	way := ""
	for _, e := range ast.MatchDescendants(ast.NavigateAST(p.ast.NativeRep()), ast.AllMatcher()) {
		if of, key := selection(e); of == nil || key != name {
			continue
		}
		way = fmt.Sprintf("[?%q]", name)
		if e.Kind() == ast.SelectKind {
			way = ".?" + name
		}
		for parent, ok := e.Parent(); ok && parent.Kind() == ast.SelectKind; parent, ok = e.Parent() {
			e = parent
			way += ".?" + e.AsSelect().FieldName() // the fields below it are missing then as well
		}
		way = fmt.Sprintf("; read a field that may be missing as %s.orValue(…)", way)
	}
	return way
}

// Name returns the qualified name of the object type.
func (o *ObjectType) Name() string { return o.name }

// Nested returns the object types in the types of the fields.
func (o *ObjectType) Nested() []*ObjectType { return o.nested }

// FieldType returns the name of a declared field's type in messages, or an empty string.
func (o *ObjectType) FieldType(name string) string {
	field, ok := o.fields[name]
	if !ok {
		return ""
	}
	return describeType(field.Type)
}

// TypeName returns the name of the variable's type in messages.
func (v Variable) TypeName() string { return describeType(v.celType()) }

// Functions returns the declarations of all functions of expressions, with operators, by their names. It fails if CEL's
// environment cannot be built.
func Functions() (map[string]*decls.FunctionDecl, error) {
	env, err := baseEnvironment()
	if err != nil {
		return nil, err
	}
	return env.Functions(), nil
}

func (o origin) finding(offset int, format string, arguments ...any) source.Finding {
	return source.Finding{Position: o.position(offset), Message: fmt.Sprintf(format, arguments...), Rule: SyntaxError}
}

func (p *compiledExpression) finding(message string) source.Finding {
	return source.Finding{Position: p.origin.position(p.offset), Message: message, Rule: WrongResult}
}

func leadingSpace(text string) int { return len(text) - len(strings.TrimLeft(text, " \t\r\n")) }

func describeType(t *cel.Type) string { return cel.FormatCELType(t) }

// EvaluationError is returned if an expression has no result. It contains no values, because they may be secret.
type EvaluationError struct {
	source.Position
	Message string
	err     error
}

// Error writes position and message.
func (e *EvaluationError) Error() string {
	return e.Position.String() + ": " + e.Message
}

// Unwrap returns the cause, if it is known: the context's error when the evaluation was interrupted, the limit that was
// exceeded (see ExceedsLimit), or the error of another evaluation that was needed for this one.
func (e *EvaluationError) Unwrap() error { return e.err }

// Error implements error.
func (f safeError) Error() string { return string(f) }

// Failure returns an error that Fields may return for a field; users see its text, which must not contain values. Of
// other errors only an EvaluationError is displayed.
func Failure(message string) error { return safeError(message) }

func findingOf(err error) source.Findings {
	var failed *EvaluationError
	if errors.As(err, &failed) {
		return source.Findings{{Position: failed.Position, Message: failed.Message, Rule: FailingConstant}}
	}
	return source.Findings{{Message: err.Error(), Rule: FailingConstant}}
}

// failed returns an error of the whole expression. The program may be nil, if the template has no expression.
func (p *compiledExpression) failed(err error) error {
	if p == nil {
		return err
	}
	return &EvaluationError{Position: p.origin.position(p.offset), Message: err.Error(), err: err}
}

func (p *compiledExpression) interrupted(err error) error {
	return p.failed(fmt.Errorf("the evaluation was interrupted: %w", err))
}

// explain returns an error of CEL with a position and without values.
func (p *compiledExpression) explain(err error) error {
	var (
		inner    *EvaluationError
		shown    safeError
		celError *types.Err
	)
	failed := &EvaluationError{Position: p.origin.position(p.offset), Message: "the evaluation failed"}
	switch {
	case errors.As(err, &inner):
		failed.Message, failed.err = inner.Error(), inner
	case errors.As(err, &shown):
		failed.Message, failed.err = string(shown), shown
	}
	if !errors.As(err, &celError) {
		return failed
	}
	node, name := findNode(p.ast.NativeRep().Expr(), failedAt(celError)), strings.TrimPrefix(failed.Message, absentField)
	if failed.err == nil {
		failed.Message, name = p.describe(celError.Error(), node)
	}
	if node != nil {
		failed.Position = p.nodePosition(findName(node, name))
	}
	return failed
}

// failedAt returns the failed part. CEL wraps an error in a macro once for each list.
func failedAt(err *types.Err) int64 {
	id := err.NodeID()
	for inner := err; errors.As(errors.Unwrap(inner), &inner) && inner.NodeID() != 0; {
		id = inner.NodeID()
	}
	return id
}

// describe returns a description for a message of CEL, and the name of the missing key or variable, if any.
func (p *compiledExpression) describe(message string, node ast.Expr) (description, name string) {
	function := "an operator or a function"
	if node != nil && node.Kind() == ast.CallKind {
		function = symbolOf(node.AsCall().FunctionName())
	}
	switch {
	case missingAttribute.MatchString(message):
		name = missingAttribute.FindStringSubmatch(message)[1]
		return name + " is not known here", name
	case missingKey.MatchString(message):
		name = missingKey.FindStringSubmatch(message)[1]
		if way := p.howToRead(name); way != "" {
			return absentField + name + way, name
		}
		return "there is no such key", ""
	case notIterated.MatchString(message):
		return "only lists and maps have items", ""
	case harmless.MatchString(message):
		return harmless.FindString(message), ""
	case doesNotFit.MatchString(message):
		return function + " cannot take values of these types", ""
	}
	return function + " cannot take the value that it was given", ""
}

// CEL's messages that cannot contain values and may be displayed.
var (
	missingAttribute = regexp.MustCompile(`^no such attribute\(s\): ([A-Za-z0-9_]+)`)
	missingKey       = regexp.MustCompile(`^no such key: (.+)$`)
	// doesNotFit matches CEL's messages about types.
	doesNotFit  = regexp.MustCompile(`^(no such overload|unsupported index type|invalid qualifier type)`)
	notIterated = regexp.MustCompile(`^got '.*', expected iterable type`)
	harmless    = regexp.MustCompile(`^(division by zero|modulus by zero|` +
		`(integer|unsigned integer|int|uint|double|duration|timestamp) overflow|return error for overflow|` +
		`index out of bounds|optional.none\(\) dereference|` +
		`invalid UTF-8 in bytes, cannot convert to string|NaN values cannot be ordered)`)
)

// findNode returns the node with this id, or nil.
func findNode(root ast.Expr, id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && id != 0 {
			found = e
		}
	}))
	return found
}

// findName returns the part of a chain of selections that selects this name, or the whole chain. CEL reports the end of
// the chain.
func findName(chain ast.Expr, name string) ast.Expr {
	for node := chain; node != nil; {
		operand, key := selection(node)
		if key == name && name != "" || node.Kind() == ast.IdentKind && node.AsIdent() == name {
			return node
		}
		node = operand
	}
	return chain
}
