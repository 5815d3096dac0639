// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
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
	programs    map[*program]cel.Program
	activation  cel.PartialActivation
	// spent is the cost of all evaluations by this value and by those that With made of it.
	spent *uint64
}

// Partial returns an evaluator without known variables.
func (e *Environment) Partial() *Partial {
	return &Partial{environment: e, programs: map[*program]cel.Program{}, spent: new(uint64)}
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
		return nil, failure("not an object with fields")
	}
	value, _ := r.fields.Field(field)
	if known := r.object.fields[field]; value == nil && known != nil && known.Type.Kind() == types.DynKind {
		return nil, fmt.Errorf("no such key: %s", field) // as CEL says it of a map
	}
	if value == nil {
		return nil, failure(absentField + field)
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
	return types.WrapErr(failure(r.object.name + " cannot become a " + t.TypeName()))
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
	for name, field := range o.fields {
		if unknown := p.unknownObject(field.Type); unknown != "" {
			return fmt.Errorf("field %s of %s: object type %s is not declared", name, o.name, unknown)
		}
	}
	return nil
}

// unknownObject returns the name of an undeclared object type in t, or "".
func (p *typeProvider) unknownObject(t *cel.Type) string {
	if t == nil {
		return "<nil>"
	}
	if t.Kind() == types.StructKind && p.objects[t.TypeName()] == nil && !isKubernetesType(t.TypeName()) {
		return t.TypeName()
	}
	for _, parameter := range t.Parameters() {
		if unknown := p.unknownObject(parameter); unknown != "" {
			return unknown
		}
	}
	return ""
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

// NewValue implements types.Provider: expressions cannot make objects.
func (p *typeProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok {
		return types.WrapErr(failure("objects of type " + name + " cannot be made"))
	}
	return p.Provider.NewValue(name, fields)
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

// scanExpression finds the brace that ends the expression which begins at start. Braces in CEL's strings, in comments
// and in map literals do not end it.
func scanExpression(text string, start int) (int, *scanError) {
	depth := 0
	for i := start; i < len(text); {
		switch c := text[i]; c {
		case '{':
			depth++
			i++
		case '}':
			if depth == 0 {
				return i, nil
			}
			depth--
			i++
		case '\'', '"', '`':
			end := skipString(text, i, isRaw(text, start, i))
			if end < 0 {
				return 0, &scanError{i, "the string in the expression has no end"}
			}
			i = end
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				i = skipLine(text, i)
			} else {
				i++
			}
		default:
			i++
		}
	}
	return 0, &scanError{start - 2, "the expression has no closing brace"}
}

func skipLine(text string, i int) int {
	if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
		return i + end
	}
	return len(text)
}

// isRaw reports whether the quote at i starts a raw string: r"…", also with a b before or after the r.
func isRaw(text string, start, i int) bool {
	prefix := i
	for prefix > start && strings.IndexByte("rRbB", text[prefix-1]) >= 0 && i-prefix < 2 {
		prefix--
	}
	if prefix > start && isWord(text[prefix-1]) {
		return false
	}
	return strings.ContainsAny(text[prefix:i], "rR")
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipString returns the offset after the string with its opening quote at i, or -1 if it does not end.
func skipString(text string, i int, raw bool) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); quote != "`" && strings.HasPrefix(text[i:], triple) {
		quote = triple
	}
	for i += len(quote); i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\\' && !raw && quote != "`":
			i += 2
		case len(quote) == 1 && (text[i] == '\n' || text[i] == '\r'):
			return -1
		default:
			i++
		}
	}
	return -1
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

// keyLiterals reports keys that are written out and that a variable does not have.
type keyLiterals struct {
	variable string
	keys     []string
}

// Name implements cel.ASTValidator.
func (k keyLiterals) Name() string { return "graft.validator.keys." + k.variable }

// Validate implements cel.ASTValidator.
func (k keyLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		var (
			of  ast.Expr
			key string
			at  = e.ID()
			ok  bool
		)
		switch {
		case e.Kind() == ast.SelectKind:
			of, key, ok = e.AsSelect().Operand(), e.AsSelect().FieldName(), true
		case e.Kind() == ast.CallKind && slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, e.AsCall().FunctionName()):
			of, at = e.AsCall().Args()[0], e.AsCall().Args()[1].ID()
			key, ok = literalString(e.AsCall().Args()[1])
		}
		if ok && of.Kind() == ast.IdentKind && of.AsIdent() == k.variable && !slices.Contains(k.keys, key) {
			issues.ReportErrorAtID(at, "there is no %q among the %s%s", key, k.variable, source.Suggest(key, k.keys))
		}
	}))
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
			options = append(options, cel.ASTValidators(keyLiterals{name, v.Keys}))
		}
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment: %w", err)
	}
	written := sync.OnceValues(func() (*cel.Env, error) { return env.Extend(cel.EnableMacroCallTracking()) })
	return &Environment{env: env, types: provider, variables: variables, written: written}, nil
}

// baseEnvironment holds the language and its functions, without variables. It takes milliseconds to build and never
// changes.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append(ownFunctions(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.OptionalTypes(),
		library.URLs(),
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
			literals{"constraints", []string{satisfies}, checkConstraint},
			literals{"patterns", matching, checkRegularExpression},
		),
	)...)
})

const absentField = "there is no "
