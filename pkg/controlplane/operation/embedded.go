// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// documentPlace locates a document.
type documentPlace struct {
	name             string
	field            fieldPath
	file             string
	format, encoding string
}

// embedded is a document inside an object: part of it, or JSON or YAML in a text. Exactly one of tree and yaml is there.
type embedded struct {
	tree *document.Node
	yaml *yamledit.File
	// text is the document from which tree was read. It is nil if tree is part of the object.
	text *document.Document
	// write puts the text back.
	write func(text []byte) error
	edits int
}

// errNoDocument says that there is nothing at the place of a document.
var errNoDocument = errors.New("there is no document")

// edit opens the document, once in a rule, and edits it.
func (d documentPlace) edit(p fieldPath, edit func(*embedded, Resolved) error) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		lens, err := o.Lens(d.name, func() (target.Lens, error) { return d.open(o) })
		if err != nil {
			return err
		}
		return nested(edit(lens.(*embedded), v), "%s of the document %s", p, d.name)
	}
}

// trace returns the trace of a field of the document; there is none in a file of a node.
func (d documentPlace) trace(p fieldPath) (Trace, bool) {
	trace := Trace{Document: d.name, Format: cmp.Or(d.format, "yaml"), Encoding: strings.TrimPrefix(d.encoding, "plain"), Path: p.String()}
	return trace, d.file == "" && isLasting(d.field)
}

func (d documentPlace) open(o *target.Object) (*embedded, error) {
	if d.file != "" {
		content, err := o.Content(d.file)
		if err != nil {
			return nil, err
		}
		e, err := readEmbedded(content.Text(), d.format, content.SetText)
		return e, nested(err, "file %s", d.file)
	}
	return d.read(o.Document.Root())
}

// read opens the document in a field.
func (d documentPlace) read(root *document.Node) (*embedded, error) {
	node := d.field.find(root)
	if node.Kind() == document.Object {
		return &embedded{tree: node}, nil
	}
	text, ok := node.Text()
	if !ok {
		return nil, nested(errNoDocument, "%s", d.name)
	}
	raw, write := []byte(text), func(text []byte) error { return node.Replace(document.Quote(string(text))) }
	if d.encoding == "b64" {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, nested(document.ErrContent, "%s", d.name)
		}
		write = func(text []byte) error { return node.Replace(document.Quote(base64.StdEncoding.EncodeToString(text))) }
	}
	e, err := readEmbedded(raw, d.format, write)
	return e, nested(err, "%s", d.name)
}

// readEmbedded reads a document out of a text.
func readEmbedded(text []byte, format string, write func([]byte) error) (*embedded, error) {
	if format == "json" {
		parsed, err := document.Parse(text)
		if err != nil {
			return nil, err
		}
		if parsed.Root().Kind() != document.Object {
			return nil, fmt.Errorf("is no object: %w", document.ErrKind)
		}
		return &embedded{tree: parsed.Root(), text: parsed, write: write}, nil
	}
	yaml, err := yamledit.Parse(text)
	if err != nil {
		return nil, err
	}
	return &embedded{yaml: yaml, write: write}, nil
}

// Flush puts the text back if it was edited.
func (e *embedded) Flush() error {
	switch {
	case e.yaml != nil && e.yaml.Edits() != e.edits:
		e.edits = e.yaml.Edits()
		return e.write(e.yaml.Text())
	case e.text != nil && e.text.Edits() != e.edits:
		if err := e.text.Err(); err != nil {
			return err
		}
		e.edits = e.text.Edits()
		return e.write(e.text.Bytes())
	}
	return nil
}

// merge merges a value into a field.
func (e *embedded) merge(p fieldPath, raw []byte) error {
	switch {
	case e.yaml == nil:
		return p.merge(e.tree, raw)
	case bytes.Equal(raw, []byte("null")):
		return e.remove(p)
	case p.depth() == len(p):
		return e.yaml.Merge(raw, p.keys()...)
	default:
		return e.inList(p, p.depth(), func(root *document.Node, p fieldPath) error { return p.merge(root, raw) })
	}
}

// remove takes a field away, or the items of a list.
func (e *embedded) remove(p fieldPath) error {
	switch {
	case e.yaml == nil:
		p.remove(e.tree)
		return nil
	case p.depth() == len(p):
		return e.yaml.Remove(p.keys()...)
	case e.yaml.Kind(p[:p.depth()].keys()...) != document.Array:
		return nil
	default:
		return e.inList(p, p.depth(), func(root *document.Node, p fieldPath) error {
			p.remove(root)
			return nil
		})
	}
}

// add appends an item to a list that does not have it, or several from a list of them.
func (e *embedded) add(p fieldPath, raw []byte, several bool) error {
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	items := []*document.Node{wanted.Root()}
	if several {
		if wanted.Root().Kind() != document.Array {
			return fmt.Errorf("%w: what is appended is no list", ErrValue)
		}
		items = wanted.Root().Items()
	}
	if e.yaml == nil {
		return p.add(e.tree, items)
	}
	return e.inList(p, min(p.depth(), len(p)), func(root *document.Node, p fieldPath) error { return p.add(root, items) })
}

// look shows the place: a root, and the path from there.
func (e *embedded) look(p fieldPath, see func(root *document.Node, p fieldPath)) error {
	if e.yaml == nil {
		see(e.tree, p)
		return nil
	}
	if _, ok := e.yaml.Get(p[:p.depth()].keys()...); !ok {
		return nil
	}
	return e.inList(p, p.depth(), func(root *document.Node, p fieldPath) error {
		see(root, p)
		return nil
	})
}

// put sets a field to raw.
func (e *embedded) put(p fieldPath, raw []byte) error {
	switch {
	case e.yaml == nil:
		return p.put(e.tree, raw)
	case p.depth() == len(p):
		return e.yaml.Set(raw, p.keys()...)
	default:
		return e.inList(p, p.depth(), func(root *document.Node, p fieldPath) error { return p.put(root, raw) })
	}
}

// removeItem removes the item of a list that has the digest.
func (e *embedded) removeItem(p fieldPath, digest string) error {
	remove := func(root *document.Node, p fieldPath) error {
		list := p.find(root)
		if i := itemWith(list, digest); i >= 0 {
			list.RemoveItem(i)
		}
		return nil
	}
	if e.yaml == nil {
		return remove(e.tree, p)
	}
	return e.inList(p, p.depth(), remove)
}

// inList edits a list in YAML as JSON. Setting it then edits only the differences, so that comments and the order
// remain. The path of the edit starts at an object with the list as its member "list".
func (e *embedded) inList(p fieldPath, depth int, edit func(root *document.Node, p fieldPath) error) error {
	keys := p[:depth].keys()
	raw := []byte("null")
	if value, ok := e.yaml.Get(keys...); ok {
		var err error
		if raw, err = appendValue(nil, value); err != nil {
			return err
		}
	}
	list, err := document.Parse(object("list", raw))
	if err != nil {
		return err
	}
	defer list.Release()
	if err := edit(list.Root(), slices.Concat(fieldPath{{Key: "list"}}, p[depth:])); err != nil {
		return err
	}
	if !list.Changed() {
		return nil
	}
	return e.yaml.Set(list.Root().Get("list").Raw(), keys...)
}

// appendValue writes a YAML value as JSON and keeps 1.0 as a number with a fraction.
func appendValue(out []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case float64:
		raw, err := json.Marshal(value)
		if err == nil && !bytes.ContainsAny(raw, ".eE") {
			raw = append(raw, ".0"...)
		}
		return append(out, raw...), err
	case string:
		return append(out, document.Quote(value)...), nil
	case []any:
		out = append(out, '[')
		for i, item := range value {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = appendValue(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		return appendMembers(out, value)
	default:
		raw, err := json.Marshal(value)
		return append(out, raw...), err
	}
}

func appendMembers(out []byte, members map[string]any) ([]byte, error) {
	out = append(out, '{')
	for i, key := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, document.Quote(key)...), ':')
		var err error
		if out, err = appendValue(out, members[key]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}
