// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package expression compiles and evaluates the CEL in Graft's documents: conditions such as `${ shoot.hibernated }` and
// strings with expressions, such as `eu-${ shoot.region }`.
//
// The language is Kubernetes' CEL (the libraries of k8s.io/apiserver without that of URLs, optional types, comprehensions with two variables)
// with additional functions: satisfies, base64.encode, base64.decode, sha256, toJSON, toYAML and quote. Lists and maps may hold values of
// different types, which Kubernetes forbids, because documents are built with them. Expressions are compiled when a
// document is loaded: names, fields, types and the nesting of loops are checked, and every error has the
// place in the document. Evaluation reads nothing, keeps nothing and is safe for concurrent use.
//
// Callers declare the variables of an Environment as Variables, and those with fields as ObjectTypes. Start reading at
// NewEnvironment, Environment.Condition and Environment.Template.
package expression

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Partial evaluates expressions with only some known fields of variables, to find results that hold for any values of
// the remaining ones: `shoot.kubernetes.satisfies("< 1.34") && shoot.hibernated` is false if the version is known to be
// 1.35. It is for checks when a document is loaded, not for admissions, and not safe for concurrent use.
type Partial struct {
	environment *Environment
	known       map[string]Values
	programs    map[*compiledExpression]cel.Program
	activation  cel.PartialActivation
	// spent is the cost of all evaluations by this value and by those that With made of it.
	spent *uint64
}

// Partial returns an evaluator without known variables.
func (e *Environment) Partial() *Partial {
	return &Partial{environment: e, programs: map[*compiledExpression]cel.Program{}, spent: new(uint64)}
}

// NewObjectType declares an object type. The name is qualified, such as graft.Shoot, so that it cannot be taken for a
// variable; nested are the object types that occur in the types of the fields.
func NewObjectType(name string, fields map[string]*cel.Type, nested ...*ObjectType) *ObjectType {
	o := &ObjectType{name: name, cel: cel.ObjectType(name), fields: map[string]*types.FieldType{}, nested: nested}
	for field, fieldType := range fields {
		o.fields[field] = &types.FieldType{
			Type:    fieldType,
			IsSet:   func(target any) bool { return isSet(target, field) },
			GetFrom: func(target any) (any, error) { return get(target, field) },
		}
	}
	return o
}

// Type returns the CEL type of the object's values.
func (o *ObjectType) Type() *cel.Type { return o.cel }

// Fields returns the names of the declared fields, sorted.
func (o *ObjectType) Fields() []string { return slices.Sorted(maps.Keys(o.fields)) }

// Fields provides the fields of an object. Field returns a CEL value, or a Go value that CEL can use directly
// (strings, numbers, bool, map[string]any, []any), or an error if the value is unavailable. False means that the field
// is unset: has() is then false, and reading the field returns the value as its default, or fails if the value is nil.
type Fields interface {
	Field(name string) (any, bool)
}

// Values holds known fields. An Unset or a Lazy is replaced by its value.
type Values map[string]any

// Unset is a field that is not set but has a default.
type Unset struct{ Default any }

// Optional returns a field that is not set if the value is the zero value.
func Optional[T comparable](value T) any {
	var zero T
	if value == zero {
		return Unset{zero}
	}
	return value
}

// Lazy is a field that is computed on each use in an expression; it must be safe for concurrent use. It returns a
// value, an Unset, or nil for an unset field.
type Lazy func() any

// Field implements Fields.
func (v Values) Field(name string) (any, bool) {
	value := v[name]
	if lazy, ok := value.(Lazy); ok {
		value = lazy()
	}
	if unset, ok := value.(Unset); ok {
		return unset.Default, false
	}
	return value, value != nil
}

// Value returns a value of this type. It keeps the fields and reads each one only when an expression uses it.
func (o *ObjectType) Value(fields Fields) ref.Val {
	return &objectValue{object: o, fields: fields}
}

// objectValue is a value of an ObjectType.
type objectValue struct {
	object *ObjectType
	fields Fields
}

func isSet(target any, field string) bool {
	r, ok := target.(*objectValue)
	if !ok {
		return false
	}
	_, ok = r.fields.Field(field)
	return ok
}

func get(target any, field string) (any, error) {
	r, ok := target.(*objectValue)
	if !ok {
		return nil, safeError("not an object with fields")
	}
	value, _ := r.fields.Field(field)
	if known := r.object.fields[field]; value == nil && known != nil && known.Type.Kind() == types.DynKind {
		return nil, fmt.Errorf("no such key: %s", field) // as CEL says it of a map
	}
	if value == nil {
		return nil, safeError(absentField + field)
	}
	if err, ok := value.(error); ok {
		return nil, err
	}
	return value, nil
}

// ConvertToNative implements ref.Val; objects have no other form in Go.
func (r *objectValue) ConvertToNative(t reflect.Type) (any, error) {
	if t.AssignableTo(reflect.TypeOf(r)) {
		return r, nil
	}
	return nil, fmt.Errorf("%s cannot become a %s", r.object.name, t)
}

// ConvertToType implements ref.Val.
func (r *objectValue) ConvertToType(t ref.Type) ref.Val {
	switch t.TypeName() {
	case r.object.name:
		return r
	case types.TypeType.TypeName():
		return r.object.cel
	}
	return types.WrapErr(safeError(r.object.name + " cannot become a " + t.TypeName()))
}

// Equal implements ref.Val: an object equals itself only.
func (r *objectValue) Equal(other ref.Val) ref.Val { return types.Bool(r == other) }

// Type implements ref.Val.
func (r *objectValue) Type() ref.Type { return r.object.cel }

// Value implements ref.Val. Field access expects the object itself.
func (r *objectValue) Value() any { return r }

// IsSet implements traits.FieldTester.
func (r *objectValue) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	return types.Bool(ok && isSet(r, string(name)))
}

// Get implements traits.Indexer.
func (r *objectValue) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	value, err := get(r, string(name))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

func (p *typeProvider) declare(o *ObjectType) error {
	if o == nil {
		return nil
	}
	if known, ok := p.objects[o.name]; ok {
		if known != o {
			return fmt.Errorf("object type %s is declared twice", o.name)
		}
		return nil
	}
	p.objects[o.name] = o
	for _, nested := range o.nested {
		if err := p.declare(nested); err != nil {
			return err
		}
	}
	return nil
}

// isKubernetesType reports whether a type is a value type of k8s.io/apiserver/pkg/cel, such as kubernetes.Semver. They
// have no fields.
func isKubernetesType(name string) bool {
	return strings.HasPrefix(name, "kubernetes.") || strings.HasPrefix(name, "net.")
}

// FindStructType implements types.Provider.
func (p *typeProvider) FindStructType(name string) (*types.Type, bool) {
	if o, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(o.cel), true
	}
	if isKubernetesType(name) {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *typeProvider) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := p.objects[name]; ok {
		return o.Fields(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *typeProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if o, ok := p.objects[name]; ok {
		fieldType, ok := o.fields[field]
		return fieldType, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// adapter returns CEL values unchanged. CEL's own adapter also does, but first checks every Go type that it knows, at
// each step of a path.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(native any) ref.Val {
	if value, is := native.(ref.Val); is {
		return value
	}
	return a.Adapter.NativeToValue(native)
}

// scanError is a problem of the template itself, at an offset in bytes.
type scanError struct {
	offset  int
	message string
}

// scan splits a template. `${` begins an expression and `$${` is a literal `${`; a `$` before anything else is itself.
func scan(text string) ([]piece, *scanError) {
	var (
		pieces  []piece
		literal strings.Builder
	)
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{text: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$${"):
			literal.WriteString("${")
			i += 3
		case strings.HasPrefix(text[i:], "${"):
			end, err := scanExpression(text, i+2)
			if err != nil {
				return nil, err
			}
			inner := text[i+2 : end]
			if strings.TrimSpace(inner) == "" {
				return nil, &scanError{i, "the expression is empty"}
			}
			flush()
			pieces = append(pieces, piece{text: inner, expression: true, offset: i + 2})
			i = end + 1
		default:
			next := strings.IndexByte(text[i+1:], '$')
			if next < 0 {
				next = len(text) - i - 1
			}
			literal.WriteString(text[i : i+1+next])
			i += 1 + next
		}
	}
	flush()
	return pieces, nil
}

// scanned matches a brace of an expression, a comment or a text of CEL, in which braces mean nothing, or the quote of a
// text without an end.
var scanned = regexp.MustCompile(`(?s)[{}]|//[^\n]*` +
	`|\b(?:[bB]?[rR]|[rR][bB])(?:'''.*?'''|""".*?"""|'[^'\r\n]*'|"[^"\r\n]*")` + // without escapes
	`|'''(?:\\.|[^\\])*?'''|"""(?:\\.|[^\\])*?"""|'''|"""` +
	`|'(?:\\.|[^'\\\r\n])*'|"(?:\\.|[^"\\\r\n])*"|` + "`[^`\r\n]*`|['\"`]")

// scanExpression finds the brace that ends the expression which begins at start. Braces in CEL's strings, in comments
// and in map literals do not end it.
func scanExpression(text string, start int) (int, *scanError) {
	depth, from := 0, start
	for found := scanned.FindStringIndex(text[from:]); found != nil; found = scanned.FindStringIndex(text[from:]) {
		at, end := from+found[0], from+found[1]
		switch text[at:end] {
		case "{":
			depth++
		case "}":
			if depth == 0 {
				return at, nil
			}
			depth--
		case `'`, `"`, "`", `'''`, `"""`:
			return 0, &scanError{at, "the string in the expression has no end"}
		}
		from = end
	}
	return 0, &scanError{start - 2, "the expression has no closing brace"}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// position returns the position of a byte of the text. Lines after the first start in its column, as in YAML's block
// scalars.
func (o origin) position(offset int) source.Position {
	before := o.text[:min(offset, len(o.text))]
	p := o.at
	if p.Line == 0 {
		p.Line, p.Column = 1, 1
	}
	p.Line += strings.Count(before, "\n")
	if p.Column > 0 {
		p.Column += utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	}
	return p
}

// knownKeys reports keys that are written out and that a variable does not have.
func knownKeys(variable string, keys []string) cel.ASTValidator {
	return validator{"keys." + variable, func(e ast.Expr, report func(id int64, format string, arguments ...any)) {
		of, key := selection(e)
		if of == nil || of.Kind() != ast.IdentKind || of.AsIdent() != variable || key == "" || slices.Contains(keys, key) {
			return
		}
		at := e.ID()
		if e.Kind() == ast.CallKind {
			at = e.AsCall().Args()[1].ID()
		}
		report(at, "there is no %q among the %s%s", key, variable, source.Suggest(key, keys))
	}}
}

func (v Variable) celType() *cel.Type {
	if v.Type == nil && v.Object != nil {
		return v.Object.Type()
	}
	return v.Type
}

// NewEnvironment returns an environment with the variables. It fails for a variable without an identifier or a type.
func NewEnvironment(variables ...Variable) (*Environment, error) {
	return build(nil, variables)
}

// Extend returns an environment with further variables. They replace existing ones. It fails if a name or a type is
// invalid.
func (e *Environment) Extend(variables ...Variable) (*Environment, error) {
	extended, err := build(e.variables, variables)
	if err == nil {
		extended.elsewhere = e.elsewhere
	}
	return extended, err
}

// Without returns an environment without these variables. The values describe where they exist, for the error of an
// expression that uses one.
func (e *Environment) Without(elsewhere map[string]string) (*Environment, error) {
	left := maps.Clone(e.variables)
	maps.DeleteFunc(left, func(name string, _ Variable) bool { return elsewhere[name] != "" })
	without, err := build(left, nil)
	if err == nil {
		without.elsewhere = elsewhere
	}
	return without, err
}

// Variables returns the names of the variables, sorted.
func (e *Environment) Variables() []string {
	return slices.Sorted(maps.Keys(e.variables))
}

// reserved are the words that CEL's grammar keeps for itself; as names of fields they are allowed.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

func build(inherited map[string]Variable, added []Variable) (*Environment, error) {
	base, err := baseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment: %w", err)
	}
	variables := maps.Clone(inherited)
	if variables == nil {
		variables = map[string]Variable{}
	}
	for _, v := range added {
		if !source.IsIdentifier(v.Name) || slices.Contains(reserved, v.Name) || v.celType() == nil {
			return nil, fmt.Errorf("declaring variable %q: a variable needs an identifier that CEL does not reserve, and a type", v.Name)
		}
		variables[v.Name] = v
	}
	provider := &typeProvider{Provider: base.CELTypeProvider(), objects: map[string]*ObjectType{}}
	options := []cel.EnvOption{cel.CustomTypeProvider(types.Provider(provider)), cel.CustomTypeAdapter(adapter{base.CELTypeAdapter()})}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		v := variables[name]
		if err := provider.declare(v.Object); err != nil {
			return nil, fmt.Errorf("declaring variable %q: %w", name, err)
		}
		options = append(options, cel.Variable(name, v.celType()))
		if v.Keys != nil {
			options = append(options, cel.ASTValidators(knownKeys(name, v.Keys)))
		}
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment: %w", err)
	}
	return &Environment{env: env, types: provider, variables: variables}, nil
}

// baseEnvironment holds the language and its functions, without variables. It takes milliseconds to build and never
// changes.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append(ownFunctions(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.EnableMacroCallTracking(), // explanations write macros as they were written
		cel.OptionalTypes(),
		library.Regex(),
		library.Lists(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			literals("constraints", []string{satisfies}, checkConstraint),
			literals("patterns", matching, checkRegularExpression),
		),
	)...)
})

const absentField = "there is no "
