// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// shell returns the data of the whole program that the program of a part needs.
func (p *program) shell() *program {
	return &program{origin: p.origin, offset: p.offset, ast: p.ast, environment: p.environment, costly: p.costly}
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
		if m := refused.FindStringSubmatch(message); m != nil {
			if strings.HasPrefix(text.text[offset:], "(") {
				offset = nameBefore(text.text, offset)
			}
			message = e.mismatch(m[1], m[2])
		}
		finding := o.finding(text.offset+offset, "%s", reword(message)).Of(rule)
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

// Types with special explanations.
const (
	absentType   = "optional_type"
	versionType  = "kubernetes.Semver"
	quantityType = "kubernetes.Quantity"
)

// remedy returns the probable correction of a type mismatch, or "". The types have CEL's notation.
func remedy(given string) string {
	words := strings.FieldsFunc(typeParameters.ReplaceAllString(given, "$1"), func(r rune) bool { return r != '_' && r != '.' && !unicode.IsLetter(r) })
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(words, func(t string) bool { return slices.Contains(wanted, strings.Trim(t, ".")) })
	}
	switch {
	case has(absentType):
		return "; give a default with .orValue(…)"
	case has("null", "null_type"):
		return "; test for null with == null"
	case has(versionType) && has("string"):
		return `; compare versions with satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`
	case has(quantityType):
		return "; use add, compareTo, isGreaterThan and isLessThan for quantities"
	case has("string") && has("int", "uint", "double"):
		return "; convert one of them with string(…) or int(…)"
	case has("string") && has("bool"):
		return "; convert the bool with string(…)"
	case has("int", "uint") && has("double"):
		return "; convert one of them with double(…) or int(…)"
	case has("int") && has("uint"):
		return "; convert one of them with int(…) or uint(…)"
	}
	return ""
}

// typeParameters matches the parameters of a type.
var typeParameters = regexp.MustCompile(`\b([a-z_]+)\([^()]+\)`)

// mismatch returns the message for types that an operator or a function does not accept, with the signatures of the
// function.
func (e *Environment) mismatch(function, given string) string {
	message := symbolOf(function) + " cannot take " + strings.ReplaceAll(given, "_type", "")
	if isLookup := slices.Contains(lookups, function); !isLookup || strings.Contains(given, absentType) {
		message += remedy(given)
	}
	declared := e.env.Functions()[function]
	if _, isOperator := operators.FindReverse(function); isOperator || declared == nil {
		return message
	}
	var known []string
	for _, o := range declared.OverloadDecls() {
		known = append(known, signature(function, o.IsMemberFunction(), o.ArgTypes(), o.ResultType()))
	}
	const most = 4
	slices.Sort(known)
	if len(known) > most {
		known = append(known[:most], "…")
	}
	return message + "; call it as " + strings.ReplaceAll(strings.Join(known, ", "), "_type", "")
}

// lookups are operators that take values of different types, which need not become one.
var lookups = []string{operators.Index, operators.OptIndex, operators.In, operators.Conditional}

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

// suggest returns a hint at a similar known name; for variables, it lists the known names if none is similar.
func (e *Environment) suggest(name string, known []string) string {
	if where := e.elsewhere[name]; where != "" {
		return "; " + where
	}
	if suggestion := source.Suggest(name, known); suggestion != "" {
		return suggestion
	}
	_, hasObject := e.variables["object"]
	switch {
	case macros[name] != "":
		return "; write " + macros[name]
	case !slices.Equal(known, e.Variables()):
		return ""
	case name == "self" && hasObject:
		return ` (did you mean "object"?)`
	}
	return listKnown(known)
}

// suggestField returns a hint at a similar known field, or lists the known fields. It omits internal names, which
// contain __.
func suggestField(name string, known []string) string {
	if suggestion := source.Suggest(name, known); suggestion != "" {
		return suggestion
	}
	known = slices.DeleteFunc(slices.Clone(known), func(field string) bool { return strings.Contains(field, "__") })
	return listKnown(slices.Compact(slices.Sorted(slices.Values(known))))
}

// listKnown lists the known names, if any.
func listKnown(known []string) string {
	switch len(known) {
	case 0:
		return ""
	case 1:
		return "; there is only " + known[0]
	}
	return "; " + source.ListKnown(known)
}

// macros are functions that take a name for each item, and how they are called.
var macros = map[string]string{
	operators.All: "list.all(x, x > 0)", operators.Exists: "list.exists(x, x > 0)", operators.ExistsOne: "list.exists_one(x, x > 0)",
	operators.Filter: "list.filter(x, x > 0)", operators.Map: "list.map(x, x + 1)", operators.Has: "has(object.field)",
}

// reword rewords CEL's messages about other frequent mistakes.
func reword(message string) string {
	if m := otherType.FindStringSubmatch(message); m != nil {
		return strings.ReplaceAll("must be "+m[1]+", is "+m[2], "_type", "") + remedy(m[1]+" "+m[2])
	}
	if m := notIterable.FindStringSubmatch(message); m != nil {
		return withoutItems + strings.ReplaceAll(", not "+m[1], "_type", "") + remedy(m[1])
	}
	if m := foreignToken.FindStringSubmatch(message); m != nil {
		return "syntax error: CEL has no " + m[1] + ": write " + foreignTokens[m[1]]
	}
	if strings.HasPrefix(message, "invalid argument to has() macro") {
		return "has needs a field, such as has(object.field)"
	}
	return message
}

var (
	otherType   = regexp.MustCompile(`^expected type '([^']+)' but found '([^']+)'$`)
	notIterable = regexp.MustCompile(`^expression of type '([^']+)' cannot be range of a comprehension`)
	// foreignToken is an operator of other languages.
	foreignToken  = regexp.MustCompile(`^syntax error: (?:token recognition error at:|mismatched input|extraneous input) '(and|or|not|=~|=|&|\|)\s*'`)
	foreignTokens = map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||", "=~": "text.matches(pattern)"}
)

// howToRead returns the notation for reading a key that may be missing, as the expression uses it.
func (p *program) howToRead(name string) string {
	way := ""
	for _, e := range ast.MatchDescendants(ast.NavigateAST(p.ast.NativeRep()), ast.AllMatcher()) {
		switch {
		case e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == name:
			way = ".?" + name
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
			key, ok := literalString(e.AsCall().Args()[1])
			if !ok || key != name {
				continue
			}
			way = fmt.Sprintf("[?%q]", name)
		default:
			continue
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

func signature(name string, member bool, arguments []*types.Type, result *types.Type) string {
	words := make([]string, len(arguments))
	for i, t := range arguments {
		words[i] = cel.FormatCELType(t)
	}
	if member {
		name, words = words[0]+"."+name, words[1:]
	}
	return name + "(" + strings.Join(words, ", ") + ") -> " + cel.FormatCELType(result)
}

func (o origin) finding(offset int, format string, arguments ...any) source.Finding {
	return source.Finding{Position: o.position(offset), Message: fmt.Sprintf(format, arguments...), Rule: SyntaxError}
}

// once runs the program, and gives CEL's own error.
func (p *program) once(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	var e *evaluation
	if p.step > 0 || p.limited {
		e = &evaluation{Activation: vars, ctx: ctx, meter: meterOf(ctx), program: p}
		vars = e
	}
	value, _, err := p.run.Eval(vars)
	if e != nil && e.exceeded != nil {
		return nil, e.exceeded
	}
	return value, err
}

func (p *program) finding(message string) source.Finding {
	return source.Finding{Position: p.origin.position(p.offset), Message: message, Rule: WrongResult}
}

func leadingSpace(text string) int {
	for i, c := range text {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return i
		}
	}
	return len(text)
}

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

// Unwrap returns the context's error when the evaluation was interrupted, the limit that was exceeded (see
// ExceedsLimit), or the error of another evaluation that was needed for this one.
func (e *EvaluationError) Unwrap() error { return e.err }

// Error implements error.
func (f failure) Error() string { return string(f) }

// Failure returns an error that Fields may return for a field; users see its text, which must not contain values. Of
// other errors only an EvaluationError is displayed.
func Failure(message string) error { return failure(message) }

func findingOf(err error) source.Findings {
	var failed *EvaluationError
	if errors.As(err, &failed) {
		return source.Findings{{Position: failed.Position, Message: failed.Message, Rule: FailingConstant}}
	}
	return source.Findings{{Message: err.Error(), Rule: FailingConstant}}
}

// failed returns an error of the whole expression; the cause may be nil.
func (p *program) failed(message string, cause error) error {
	return &EvaluationError{Position: p.origin.position(p.offset), Message: message, err: cause}
}

func (p *program) interrupted(err error) error {
	return p.failed("the evaluation was interrupted: "+err.Error(), err)
}

// explain returns an error of CEL with a position and without values.
func (p *program) explain(err error) error {
	failed := &EvaluationError{Position: p.origin.position(p.offset), Message: "the evaluation failed"}
	if errors.Is(err, errTooCostly) {
		failed.Message, failed.err = errTooCostly.Error(), errTooCostly
	}
	var celError *types.Err
	if !errors.As(err, &celError) {
		return failed
	}
	node := findNode(p.ast.NativeRep().Expr(), failedAt(celError))
	var inner *EvaluationError
	switch {
	case errors.As(err, &inner):
		failed.err = inner
	case ExceedsLimit(err):
		failed.err = celError
	}
	message, name := p.describe(celError, node)
	failed.Message = message
	if node != nil {
		failed.Position = p.nodePosition(findName(node, name))
	}
	return failed
}

// withoutItems is the message for a value without items.
const withoutItems = "only lists and maps have items"

// failedAt returns the failed part. CEL wraps an error in a macro once for each list.
func failedAt(err *types.Err) int64 {
	id := err.NodeID()
	for inner := err; errors.As(errors.Unwrap(inner), &inner) && inner.NodeID() != 0; {
		id = inner.NodeID()
	}
	return id
}

// describe returns a description of the failure, and the name of the missing field or variable, if any.
func (p *program) describe(err error, node ast.Expr) (message, name string) {
	var (
		shown failure
		inner *EvaluationError
	)
	message = err.Error()
	switch {
	case errors.As(err, &inner):
		return inner.Error(), ""
	case errors.As(err, &shown):
		return string(shown), strings.TrimPrefix(string(shown), absentField)
	case missingAttribute.MatchString(message):
		name = missingAttribute.FindStringSubmatch(message)[1]
		return name + " is not known here", name
	case missingKey.MatchString(message):
		name = missingKey.FindStringSubmatch(message)[1]
		if !p.names(name) {
			return "there is no such key", ""
		}
		return absentField + name + p.howToRead(name), name
	case notIterated.MatchString(message):
		return withoutItems, ""
	case harmless.MatchString(message):
		return harmless.FindString(message), ""
	case doesNotFit.MatchString(message) && (node == nil || node.Kind() != ast.CallKind):
		return "an operator or a function is given a value of a type that it does not take", ""
	case doesNotFit.MatchString(message):
		return symbolOf(node.AsCall().FunctionName()) + " cannot take values of these types", ""
	case node != nil && node.Kind() == ast.CallKind:
		return symbolOf(node.AsCall().FunctionName()) + " cannot take the value that it was given", ""
	}
	return "the evaluation failed", ""
}

// names reports whether the expression itself contains this key: as a string or as the name of a field. Another key was
// computed, and may contain data of a Secret.
func (p *program) names(key string) bool {
	found := false
	ast.PreOrderVisit(p.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		text, ok := literalString(e)
		if e.Kind() == ast.SelectKind {
			text, ok = e.AsSelect().FieldName(), true
		}
		found = found || ok && text == key
	}))
	return found
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
	for node := chain; ; {
		switch node.Kind() {
		case ast.IdentKind:
			if node.AsIdent() == name {
				return node
			}
			return chain
		case ast.SelectKind:
			if node.AsSelect().FieldName() == name {
				return node
			}
			node = node.AsSelect().Operand()
		case ast.CallKind:
			if len(node.AsCall().Args()) != 2 || node.AsCall().IsMemberFunction() {
				return chain
			}
			if key, ok := literalString(node.AsCall().Args()[1]); ok && key == name {
				return node
			}
			node = node.AsCall().Args()[0]
		default:
			return chain
		}
	}
}
