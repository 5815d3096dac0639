// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
