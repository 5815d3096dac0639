// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// object is a JSON Schema or a part of one. The dialect is draft 7, which YAML language servers support best.
type object = map[string]any

// declared is a type with an additional schema, because it decodes itself or limits its values.
type declared interface{ JSONSchema() string }

// builder collects the definitions of a schema.
type builder struct {
	comments    *comments
	definitions object
	// special has the types that need more than reflection.
	special map[reflect.Type]func() (object, error)
}

func newBuilder() *builder {
	return &builder{comments: newComments(), definitions: object{}, special: map[reflect.Type]func() (object, error){}}
}

const definitions = "#/definitions/"

func reference(name string) object { return object{"$ref": definitions + name} }

// used returns the definitions that the schema needs, directly or indirectly.
func (b *builder) used(schema object) object {
	used := object{}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case object:
			for _, member := range value {
				visit(member)
			}
		case []object:
			for _, item := range value {
				visit(item)
			}
		case []any:
			for _, item := range value {
				visit(item)
			}
		case string:
			if name, ok := strings.CutPrefix(value, definitions); ok && used[name] == nil {
				used[name] = b.definitions[name]
				visit(used[name])
			}
		}
	}
	visit(schema)
	return used
}

// document returns the schema of a Go type that pkg/source decodes. fallback, if valid, is its default value.
func (b *builder) document(t reflect.Type, fallback reflect.Value) (object, error) {
	if build := b.special[t]; build != nil {
		return build()
	}
	if t == reflect.TypeFor[source.Node]() {
		return object{"not": object{"type": "null"}}, nil
	}
	schema := object{}
	var err error
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[source.Decoder]()) {
		if schema, err = b.plain(t, fallback); err != nil {
			return nil, err
		}
	}
	if own, ok := reflect.New(t).Interface().(declared); ok {
		if err := json.Unmarshal([]byte(own.JSONSchema()), &schema); err != nil {
			return nil, fmt.Errorf("decoding the schema that %s declares: %w", t, err)
		}
	} else if len(schema) == 0 {
		return nil, fmt.Errorf("%s decodes itself and declares no schema", t)
	}
	return schema, nil
}

func (b *builder) plain(t reflect.Type, fallback reflect.Value) (object, error) {
	switch t.Kind() {
	case reflect.Pointer:
		if fallback.IsValid() {
			fallback = fallback.Elem() // invalid for nil
		}
		return b.document(t.Elem(), fallback)
	case reflect.Struct:
		return b.fields(t, fallback)
	case reflect.Map:
		items, err := b.document(t.Elem(), reflect.Value{})
		return object{"type": "object", "additionalProperties": items}, err
	case reflect.Slice:
		items, err := b.document(t.Elem(), reflect.Value{})
		return object{"type": "array", "items": items}, err
	}
	schema := object{}
	switch t.Kind() {
	case reflect.String:
		schema["type"] = "string"
	case reflect.Bool:
		schema["type"] = "boolean"
	case reflect.Int32, reflect.Int64, reflect.Int:
		schema["type"] = "integer"
	default:
		return nil, fmt.Errorf("%s is not supported in documents", t)
	}
	if fallback.IsValid() && !fallback.IsZero() {
		schema["default"] = fallback.Interface()
	}
	return schema, nil
}

// fields returns the schema of a struct. Fields without omitempty are required.
func (b *builder) fields(t reflect.Type, fallback reflect.Value) (object, error) {
	properties, required := object{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		var value reflect.Value
		if fallback.IsValid() {
			value = fallback.FieldByIndex(field.Index)
		}
		schema, err := b.document(field.Type, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := bound(schema, field.Tag); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		comment, err := b.comments.ofField(owner(t, field.Index), field.Name)
		if err != nil {
			return nil, err
		}
		properties[name] = described(schema, withoutSubject(comment, field.Name))
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// owner returns the struct that declares a field, which may be embedded.
func owner(t reflect.Type, index []int) reflect.Type {
	for ; len(index) > 1; index = index[1:] {
		t = t.Field(index[0]).Type
	}
	return t
}

// bound adds the limits in a field's tags, in the format of pkg/source.
func bound(schema object, tag reflect.StructTag) error {
	limits, err := source.LimitsOf(tag)
	if err != nil {
		return err
	}
	if limits.OneOf != nil {
		schema["enum"] = limits.OneOf
	}
	if limits.Bounded {
		schema["minimum"], schema["maximum"] = limits.Least, limits.Most
	}
	return nil
}

// described adds the first paragraph of a comment as description, unless the schema has one.
func described(schema object, comment string) object {
	text := describe(comment)
	if _, ok := schema["description"]; ok || text == "" {
		return schema
	}
	schema = maps.Clone(schema)
	schema["description"] = text
	return schema
}

// withoutSubject removes the field's name from its comment: "QPS is the limit" becomes "the limit".
func withoutSubject(comment, field string) string {
	rest, ok := strings.CutPrefix(comment, field+" ")
	if !ok || strings.HasPrefix(rest, "and ") {
		return comment
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// sortedKeys returns the members' names, sorted.
func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }

// whole matches a string that is one expression, and so can replace a value of any type.
const whole = `^\$\{[\s\S]*\}$`

// module is the prefix of this module's packages, where comments start with the name of the field.
const module = "github.com/graft-provider/"

// written maps Kubernetes types with their own JSON encoding to the JSON types of the encoding.
var written = map[reflect.Type][]string{
	reflect.TypeFor[resource.Quantity]():  {"string", "number"},
	reflect.TypeFor[intstr.IntOrString](): {"string", "integer"},
	reflect.TypeFor[metav1.Duration]():    {"string"},
	reflect.TypeFor[metav1.Time]():        {"string"},
	reflect.TypeFor[metav1.MicroTime]():   {"string"},
	reflect.TypeFor[metav1.FieldsV1]():    {"object"},
	reflect.TypeFor[json.RawMessage]():    {"object"},
}

// shape returns the schema of a type in Kubernetes' encoding. Every value may be an expression. No field is
// required, because edits are merged into existing objects.
func (b *builder) shape(t reflect.Type) (object, error) {
	if types := written[t]; types != nil {
		return orExpression(types...), nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return object{}, nil // the type has an unknown encoding
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.shape(t.Elem())
	case reflect.String:
		return b.shapeOfString(t)
	case reflect.Bool:
		return orExpression("boolean"), nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32:
		return orExpression("integer"), nil
	case reflect.Float32, reflect.Float64:
		return orExpression("number"), nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string"}, nil
		}
		return b.shapeWith(orExpression("array"), "items", t.Elem())
	case reflect.Map:
		return b.shapeWith(orExpression("object"), "additionalProperties", t.Elem())
	case reflect.Struct:
		return b.shapeOfStruct(t)
	default:
		return nil, fmt.Errorf("%s is not a type of Kubernetes' objects", t)
	}
}

// orExpression allows the types, and a string that is one expression. The pattern applies to strings only.
func orExpression(types ...string) object {
	if slices.Contains(types, "string") {
		return object{"type": types}
	}
	return object{"type": append(types, "string"), "pattern": whole}
}

func (b *builder) shapeWith(schema object, member string, t reflect.Type) (object, error) {
	inner, err := b.shape(t)
	schema[member] = inner
	return schema, err
}

func (b *builder) shapeOfString(t reflect.Type) (object, error) {
	if t.PkgPath() == "" {
		return object{"type": "string"}, nil
	}
	values, err := b.comments.enum(t)
	if err != nil || values == nil {
		return object{"type": "string"}, err
	}
	return object{"anyOf": []object{{"enum": values}, {"type": "string", "pattern": whole}}}, nil
}

// shapeOfStruct returns a reference to the type's definition, which it creates on first use.
func (b *builder) shapeOfStruct(t reflect.Type) (object, error) {
	name := strings.NewReplacer("/", ".").Replace(t.PkgPath()) + "." + t.Name()
	if _, ok := b.definitions[name]; ok {
		return reference(name), nil
	}
	schema := orExpression("object")
	b.definitions[name] = schema // before the fields, which may have the same type
	comment, err := b.comments.ofType(t)
	if err != nil {
		return nil, err
	}
	properties, err := b.shapeFields(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	schema["properties"], schema["additionalProperties"] = properties, false
	if text := describe(comment); text != "" {
		schema["description"] = text
	}
	return reference(name), nil
}

func (b *builder) shapeFields(t reflect.Type) (object, error) {
	properties := object{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "":
			inline, err := b.shapeFields(field.Type)
			if err != nil {
				return nil, err
			}
			for _, key := range sortedKeys(inline) {
				properties[key] = inline[key]
			}
			continue
		}
		schema, err := b.shape(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		comment, err := b.comments.ofField(t, field.Name)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(t.PkgPath(), module) {
			comment = withoutSubject(comment, field.Name)
		}
		properties[name] = described(schema, comment)
	}
	return properties, nil
}

// comments has the comments of Go packages on types, fields and constants.
type comments struct {
	packages map[string]*packageComments
}

type packageComments struct {
	// files has the positions of the file that is being read.
	files  *token.FileSet
	types  map[string]string
	fields map[string]string
	// constants has the values of the constants of each named type.
	constants map[string][]string
}

func newComments() *comments { return &comments{map[string]*packageComments{}} }

// ofType returns the comment of a named type.
func (c *comments) ofType(t reflect.Type) (string, error) {
	p, err := c.read(t.PkgPath())
	if err != nil {
		return "", err
	}
	return p.types[t.Name()], nil
}

// ofField returns the comment of a field of a named type.
func (c *comments) ofField(t reflect.Type, field string) (string, error) {
	p, err := c.read(t.PkgPath())
	if err != nil {
		return "", err
	}
	return p.fields[t.Name()+"."+field], nil
}

// enum returns the constants of a type that is marked as an enumeration, or nil for other types.
func (c *comments) enum(t reflect.Type) ([]string, error) {
	p, err := c.read(t.PkgPath())
	if err != nil || !strings.Contains(p.types[t.Name()], "+enum") {
		return nil, err
	}
	return p.constants[t.Name()], nil
}

// read parses the sources of a package of the module or its dependencies.
func (c *comments) read(path string) (*packageComments, error) {
	if found := c.packages[path]; found != nil {
		return found, nil
	}
	list := exec.CommandContext(context.Background(), "go", "list", "-f", "{{.Dir}}", path)
	list.Stderr = os.Stderr
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("finding the sources of %s: %w", path, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil {
		return nil, err
	}
	p := &packageComments{types: map[string]string{}, fields: map[string]string{}, constants: map[string][]string{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		p.files = token.NewFileSet()
		parsed, err := parser.ParseFile(p.files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range parsed.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				p.add(general)
			}
		}
	}
	c.packages[path] = p
	return p, nil
}

func (p *packageComments) add(general *ast.GenDecl) {
	for _, spec := range general.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = general.Doc
			}
			p.types[spec.Name.Name] = raw(doc)
			if structure, ok := spec.Type.(*ast.StructType); ok {
				p.addFields(spec.Name.Name, structure)
			}
		case *ast.ValueSpec:
			p.addConstants(spec)
		}
	}
}

// addFields records the comment of each field. A field directly below another without its own comment shares
// that one's.
func (p *packageComments) addFields(owner string, structure *ast.StructType) {
	above, line := "", -1
	for _, field := range structure.Fields.List {
		text := raw(field.Doc)
		if field.Doc == nil && p.files.Position(field.Pos()).Line == line+1 {
			text = above
		}
		above, line = text, p.files.Position(field.End()).Line
		for _, name := range field.Names {
			p.fields[owner+"."+name.Name] = text
		}
	}
}

func (p *packageComments) addConstants(spec *ast.ValueSpec) {
	kind, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if text, err := strconv.Unquote(literal.Value); err == nil && !slices.Contains(p.constants[kind.Name], text) {
		p.constants[kind.Name] = append(p.constants[kind.Name], text)
	}
}

// raw returns the text of a comment with its markers.
func raw(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), " "))
	}
	return strings.Join(lines, "\n")
}

// note matches a line of a comment for developers.
var note = regexp.MustCompile(`^(\+|[A-Z]{4,}[:(])`)

// describe returns the first paragraph of a comment as one line, without markers and notes.
func describe(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if note.MatchString(line) {
			continue
		}
		if line == "" && len(words) > 0 {
			break
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}
