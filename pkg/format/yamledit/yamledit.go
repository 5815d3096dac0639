// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package yamledit edits a YAML document in place, as nodes of go.yaml.in/yaml/v3.
//
// A document in the usual form of encoders is split into the members of its mapping. Only members that are read or
// edited are parsed, and only edited ones are encoded again; all other lines stay byte for byte. A document in any
// other form is one block, which is encoded as a whole on the first edit. Unknown fields, their order and comments are
// preserved. Every edit is parsed again before it is accepted.
//
// The package does not know Kubernetes. Start reading at Parse and File.Set.
package yamledit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// The errors of YAML, to be found with errors.Is.
var (
	// ErrSyntax means that a text is not one YAML document with a mapping, or uses features that not all parsers
	// support: duplicate keys, anchors, aliases, merge keys, tags of other types.
	ErrSyntax = errors.New("invalid YAML")
	// ErrForm marks an edit that would lose a comment, or a value that cannot be written.
	ErrForm = errors.New("YAML cannot be edited in this form")
)

const (
	// maxSize limits a text, in bytes. A text inside an object is smaller: etcd accepts 1.5 MiB by default.
	maxSize = 4 << 20
	// maxDepth limits nested mappings and lists, as fieldpath.MaximumSteps limits a path to them.
	maxDepth = 100
)

// File is a YAML document with a mapping.
//
// Keys are compared as they are written, so that 1 and "1" are the same. Scalars are read as YAML 1.2 does.
type File struct {
	original []byte
	blocks   []block
	whole    bool // the document is one block
	edits    int
}

// block is a member of the document's mapping with its lines, or lines between members, or the whole document.
type block struct {
	key  string
	text string
	node *yaml.Node // the document of text; nil until it is read, and for lines between members
}

// Parse reads a document. The error is ErrSyntax with the line. The text must not change as long as the file is used.
func Parse(text []byte) (*File, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("reading YAML: more than %d bytes: %w", maxSize, ErrSyntax)
	}
	f := &File{original: text}
	source := string(text)
	if blocks, ok := split(source); ok {
		f.blocks = blocks
		return f, nil
	}
	root, err := read(source)
	if err != nil {
		return nil, fmt.Errorf("reading YAML: %w", err)
	}
	f.whole, f.blocks = true, []block{{text: source, node: root}}
	return f, nil
}

// Text returns the document with its edits; without edits the bytes that were parsed, which must not be modified.
func (f *File) Text() []byte {
	if f.edits == 0 {
		return f.original
	}
	out := make([]byte, 0, len(f.original)+256)
	for i := range f.blocks {
		if n := len(out); n > 0 && out[n-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, f.blocks[i].text...)
	}
	if len(out) == 0 || !f.whole && !slices.ContainsFunc(f.blocks, block.isMember) {
		out = append(out, "{}\n"...)
	}
	if n := len(f.original); n > 0 && f.original[n-1] != '\n' && out[len(out)-1] == '\n' {
		out = out[:len(out)-1]
	}
	return out
}

func (p block) isMember() bool { return p.key != "" }

// Edits counts the edits made so far. Writing an equal value is no edit.
func (f *File) Edits() int { return f.edits }

// Get returns the value at a path of keys, decoded as document.Node.Value does; false if there is none. Without a path
// it is the whole document. A path does not lead into lists.
func (f *File) Get(path ...string) (any, bool) {
	if len(path) == 0 && !f.whole {
		out := map[string]any{}
		for i := range f.blocks {
			if p := &f.blocks[i]; p.isMember() {
				out[p.key] = valueOf(member(p.mapping(), p.key))
			}
		}
		return out, true
	}
	n := f.find(path)
	if n == nil {
		return nil, false
	}
	return valueOf(n), true
}

// Kind returns the kind of the value at a path, Invalid if there is none.
func (f *File) Kind(path ...string) document.Kind {
	if len(path) == 0 {
		return document.Object
	}
	return kindOf(f.find(path))
}

// find returns the node at a path, nil if there is none.
func (f *File) find(path []string) *yaml.Node {
	p := f.block(path)
	if p == nil {
		return nil
	}
	n := p.mapping()
	for _, key := range path {
		n = member(n, key)
	}
	return n
}

// block returns the block that holds a path, nil if there is none.
func (f *File) block(path []string) *block {
	if f.whole {
		return &f.blocks[0]
	}
	for i := range f.blocks {
		if len(path) > 0 && f.blocks[i].key == path[0] {
			return &f.blocks[i]
		}
	}
	return nil
}

// mapping returns the mapping of the block, which is parsed when it is asked for first.
func (p *block) mapping() *yaml.Node {
	if p.node == nil {
		root, err := readMember(p.text)
		if err != nil || len(root.Content[0].Content) != 2 {
			panic("yamledit: a member that was split off cannot be read") // split and read disagree: a bug, which a fuzzer looks for
		}
		p.node = root
	}
	return p.node.Content[0]
}

// Set sets the value at a path, as JSON. It creates missing and null mappings on the path; a new key is appended to its
// mapping. An equal value is not an edit; numbers are compared by value and kind. In a mapping or a list, only
// differences are edited: missing members are removed, and the remaining ones keep their place and comments. The error
// is document.ErrSyntax or ErrDuplicateKey for raw, document.ErrKind for a path through a non-mapping or a document
// that would not be one, or ErrForm.
func (f *File) Set(raw []byte, path ...string) error {
	return wrap("setting", path, f.edit(raw, path, false))
}

// Merge works like Set, but merges objects into mappings: missing members stay, at every level.
func (f *File) Merge(raw []byte, path ...string) error {
	return wrap("merging", path, f.edit(raw, path, true))
}

// Remove removes a member with its lines. A mapping that is empty then stays as {}. The error is ErrForm, or
// document.ErrKind for an empty path.
func (f *File) Remove(path ...string) error {
	if len(path) == 0 {
		return wrap("removing", path, document.ErrKind)
	}
	if f.find(path) == nil {
		return nil
	}
	if len(path) == 1 && !f.whole {
		f.blocks = slices.DeleteFunc(f.blocks, func(p block) bool { return p.key == path[0] })
		f.edits++
		return nil
	}
	return wrap("removing", path, f.change(f.block(path), func(mapping *yaml.Node) bool {
		for _, key := range path[:len(path)-1] {
			mapping = member(mapping, key)
		}
		return mapping != nil && removeMember(mapping, path[len(path)-1])
	}))
}

func wrap(what string, path []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, strings.Join(path, "."), err)
}

// edit sets or merges a value.
func (f *File) edit(raw []byte, path []string, merge bool) error {
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	if err := check(wanted.Root(), path); err != nil {
		return err
	}
	if wanted.Err() != nil {
		return wanted.Err()
	}
	if len(path) == 0 && !f.whole {
		return f.editMembers(wanted.Root(), merge)
	}
	return f.editAt(wanted.Root(), path, merge)
}

// editMembers sets or merges the members of the document.
func (f *File) editMembers(wanted *document.Node, merge bool) error {
	before := *f
	before.blocks = slices.Clone(f.blocks)
	for key, value := range wanted.Members() {
		if err := f.editAt(value, []string{key}, merge); err != nil {
			*f = before
			return err
		}
	}
	if count := len(f.blocks); !merge {
		f.blocks = slices.DeleteFunc(f.blocks, func(p block) bool { return p.isMember() && wanted.Get(p.key) == nil })
		if len(f.blocks) < count {
			f.edits++
		}
	}
	return nil
}

// editAt sets or merges a value in the block of its path, which is made if there is none.
func (f *File) editAt(wanted *document.Node, path []string, merge bool) error {
	p := f.block(path)
	if p == nil && path[0] == "" {
		return fmt.Errorf("a key is empty: %w", ErrForm)
	}
	if p == nil {
		root := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		added := block{key: path[0], node: root}
		if err := f.change(&added, func(mapping *yaml.Node) bool { return assignAt(mapping, path, wanted, merge) }); err != nil {
			return err
		}
		last := len(f.blocks)
		for last > 0 && !f.blocks[last-1].isMember() {
			last--
		}
		f.blocks = slices.Insert(f.blocks, last, added)
		return nil
	}
	for n, i := p.mapping(), 0; i < len(path); i++ {
		if kind := kindOf(n); kind != document.Object && kind != document.Null {
			return document.ErrKind
		}
		if n = member(n, path[i]); n == nil {
			break
		}
	}
	return f.change(p, func(mapping *yaml.Node) bool { return assignAt(mapping, path, wanted, merge) })
}

// change applies an edit to a block and encodes it. It reverts the edit if repeating it on the encoded text has an
// effect.
func (f *File) change(p *block, edit func(mapping *yaml.Node) bool) error {
	mapping := p.mapping()
	remarks := 0
	if f.whole && f.edits == 0 {
		remarks = lostRemarks(p)
	}
	if !edit(mapping) {
		return nil
	}
	text, err := encode(p.node)
	if err == nil && remarks > 0 {
		err = errors.New("a comment would be lost")
	}
	if err == nil {
		var again *yaml.Node
		if again, err = readMember(text); err == nil && edit(again.Content[0]) {
			err = errors.New("the result would be read differently")
		}
	}
	if err != nil {
		p.node = nil
		if f.whole {
			p.node, _ = read(p.text)
		}
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	p.text = text
	f.edits++
	return nil
}

// check navigates a value, which reports duplicate keys, and refuses keys and values that cannot be written.
func check(n *document.Node, path []string) error {
	if len(path) == 0 && n.Kind() != document.Object {
		return document.ErrKind
	}
	for _, key := range path {
		if !utf8.ValidString(key) {
			return document.ErrSyntax
		}
	}
	return checkValue(n, 0)
}

func checkValue(n *document.Node, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested too deeply: %w", ErrForm)
	}
	if number, ok := n.Value().(json.Number); n.Kind() == document.Number && ok {
		if _, err := number.Float64(); err != nil {
			return fmt.Errorf("number %s is too large: %w", number, ErrForm)
		}
	}
	for _, member := range n.Members() {
		if err := checkValue(member, depth+1); err != nil {
			return err
		}
	}
	for _, item := range n.Items() {
		if err := checkValue(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}
