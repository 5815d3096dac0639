// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// packageComments has the comments and constants of a Go package.
type packageComments struct {
	// texts has the comments by the name of a type, or of a type and a field with a dot between them.
	texts map[string]string
	// constants has the values of the constants of each named type.
	constants map[string][]string
}

// comment returns the comment of a named type, or of one of its fields.
func (b *builder) comment(t reflect.Type, field ...string) string {
	return b.read(t.PkgPath()).texts[strings.Join(append([]string{t.Name()}, field...), ".")]
}

// enum returns the constants of a type that is marked as an enumeration, or nil for other types.
func (b *builder) enum(t reflect.Type) []string {
	if !strings.Contains(b.comment(t), "+enum") {
		return nil
	}
	return b.read(t.PkgPath()).constants[t.Name()]
}

// read parses the sources of a package of the module or its dependencies.
func (b *builder) read(path string) *packageComments {
	if found := b.packages[path]; found != nil {
		return found
	}
	p := &packageComments{texts: map[string]string{}, constants: map[string][]string{}}
	b.packages[path] = p
	found, err := build.Import(path, ".", 0)
	if err != nil {
		b.fail("finding the sources of %s: %w", path, err)
		return p
	}
	for _, file := range found.GoFiles {
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, filepath.Join(found.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			b.fail("reading %s: %w", path, err)
			return p
		}
		for _, declaration := range parsed.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				p.add(files, general)
			}
		}
	}
	return p
}

func (p *packageComments) add(files *token.FileSet, general *ast.GenDecl) {
	for _, spec := range general.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = general.Doc
			}
			p.texts[spec.Name.Name] = doc.Text()
			if structure, ok := spec.Type.(*ast.StructType); ok {
				p.addFields(files, spec.Name.Name, structure)
			}
		case *ast.ValueSpec:
			p.addConstants(spec)
		}
	}
}

// addFields records the comment of each field. A field directly below another without its own comment shares
// that one's.
func (p *packageComments) addFields(files *token.FileSet, owner string, structure *ast.StructType) {
	above, line := "", -1
	for _, field := range structure.Fields.List {
		text := field.Doc.Text()
		if field.Doc == nil && files.Position(field.Pos()).Line == line+1 {
			text = above
		}
		above, line = text, files.Position(field.End()).Line
		for _, name := range field.Names {
			p.texts[owner+"."+name.Name] = text
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

// described adds the first paragraph of a comment as description, unless the schema has one.
func described(schema jsonSchema, comment string) jsonSchema {
	text := describe(comment)
	if _, ok := schema["description"]; ok || text == "" {
		return schema
	}
	return withMember(schema, "description", text)
}

// withoutSubject removes the field's name from its comment: "QPS is the limit" becomes "the limit".
func withoutSubject(comment, field string) string {
	rest, ok := strings.CutPrefix(comment, field+" ")
	if !ok || strings.HasPrefix(rest, "and ") {
		return comment
	}
	return strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
}
