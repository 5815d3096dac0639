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
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// embeddedDocument defines the operation that edits a document inside the object.
func embeddedDocument() Definition {
	return Definition{
		Name: "document",
		Summary: "edits a YAML or JSON document in a field of the object: sets and removes fields by path, and appends missing items to " +
			"lists; the remaining text and its comments are unchanged. A field that is an object, such as spec.providerConfig, is a " +
			"document, too",
		Example: "document: {at: 'data[\"config.yaml\"]', set: {leaderElection.leaderElect: true}, append: {targetClientConnection.namespaces: [monitoring]}}",
		Examples: []string{
			"document: {at: 'data[\"config.json\"]', format: json, encoding: b64, remove: ['rules[name=old]']}",
		},
		Arguments: []Argument{
			{Name: "at", Type: fixedText, Required: true, Summary: "the path of the field, as in the operation fields"},
			{Name: "format", Type: oneOfTexts("yaml", "json"), Summary: "the format of the text; yaml by default"},
			{Name: "encoding", Type: oneOfTexts("plain", "b64"), Summary: "b64 if the field holds base64"},
			{Name: "set", Type: mappingOf(orNull(anyTree)), Summary: "fields to set, by path; mappings are merged, and null removes"},
			{Name: "append", Type: mappingOf(listOf(anyTree)), Summary: "required items by the path of the list; missing ones are appended"},
			{Name: "remove", Type: names, Summary: "paths of fields and of items of lists to remove"},
		},
		Parts:   target.Metadata,
		compile: compileDocument,
	}
}

func compileDocument(c *Context, arguments source.Node, at string) ([]Write, source.Findings) {
	var findings source.Findings
	place := documentPlace{format: textOf(arguments.Get("format")), encoding: textOf(arguments.Get("encoding"))}
	if place.format != "" && !slices.Contains([]string{"yaml", "json"}, place.format) {
		findings = append(findings, arguments.Finding(at+".format", "must be yaml or json, is %q", place.format).Of(source.WrongValue))
	}
	if place.encoding != "" && !slices.Contains([]string{"plain", "b64"}, place.encoding) {
		findings = append(findings, arguments.Finding(at+".encoding", "must be plain or b64, is %q", place.encoding).Of(source.WrongValue))
	}
	path := textOf(arguments.Get("at"))
	problem := checkName(path)
	field, err := parsePath(path)
	switch {
	case problem != "":
	case err != nil:
		problem = fmt.Sprintf("is not the path of a field: %v", err)
	default:
		place.name, place.field = field.String(), field
		problem = checkOwner(c.Target, field, false)
	}
	if problem != "" {
		findings = append(findings, arguments.Get("at").Finding(at+".at", "%s", problem).Of(WrongPath))
	}
	if len(findings) > 0 {
		return nil, findings
	}
	return fieldCompiler{context: c, place: Place{Kind: DocumentField, Container: place.name}, in: place}.compile(arguments, at)
}

// documentPlace locates a document inside the object. The zero value is the object itself.
type documentPlace struct {
	name             string
	field            fieldPath
	format, encoding string
}

// embedded is a document inside an object: a part of the object, or JSON or YAML in a text.
type embedded struct {
	tree *document.Node
	// text is the document of tree, and write puts a text back into the object. Both are nil for a part of the object.
	text  *document.Document
	write func(text []byte) error
	// yaml is the text if it is YAML. It gets each edit of tree.
	yaml *yamledit.File
}

// errNoDocument means that there is nothing at the place of a document.
var errNoDocument = errors.New("there is no document")

// set returns a function that writes a field of the document.
func (d documentPlace) set(p fieldPath) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		if d.name == "" {
			defer o.ForgetCommandLines()
			return p.write(o.Document.Root(), v)
		}
		return d.edit(o, p, func(e *embedded) error { return e.set(p, v) })
	}
}

// add returns a function that appends an item to a list of the document.
func (d documentPlace) add(p fieldPath) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		if d.name == "" {
			defer o.ForgetCommandLines()
			return p.add(o.Document.Root(), v.JSON)
		}
		return d.edit(o, p, func(e *embedded) error { return e.add(p, v.JSON) })
	}
}

// edit opens the document, once in a rule, and edits it.
func (d documentPlace) edit(o *target.Object, p fieldPath, edit func(*embedded) error) error {
	editor, err := o.Editor(d.name, func() (target.Editor, error) { return d.read(o.Document.Root()) })
	if err != nil {
		return err
	}
	return nested(edit(editor.(*embedded)), "%s of the document %s", p, d.name)
}

// trace returns the trace of a field of the document. It returns nil for a field or a document that Gardener writes again.
func (d documentPlace) trace(p fieldPath) *Trace {
	if d.name == "" {
		return p.trace()
	}
	if !isLasting(d.field) {
		return nil
	}
	return &Trace{Document: d.name, Format: cmp.Or(d.format, "yaml"), Encoding: strings.TrimPrefix(d.encoding, "plain"), Path: p.String()}
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

// readEmbedded reads a document out of a text. YAML is edited as JSON.
func readEmbedded(text []byte, format string, write func([]byte) error) (*embedded, error) {
	e := &embedded{write: write}
	if format != "json" {
		var err error
		if e.yaml, err = yamledit.Parse(text); err != nil {
			return nil, err
		}
		value, _ := e.yaml.Get()
		if text, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	var err error
	if e.text, err = document.Parse(text); err != nil {
		return nil, err
	}
	if e.tree = e.text.Root(); e.tree.Kind() != document.Object {
		return nil, fmt.Errorf("is not an object: %w", document.ErrKind)
	}
	return e, nil
}

// Edits returns the number of edits of the text.
func (e *embedded) Edits() int {
	if e.text == nil {
		return 0
	}
	return e.text.Edits()
}

// Flush puts the text back if it was edited.
func (e *embedded) Flush() error {
	if e.Edits() == 0 {
		return nil
	}
	if err := e.text.Err(); err != nil {
		return err
	}
	if e.yaml != nil {
		return e.write(e.yaml.Text())
	}
	return e.write(e.text.Bytes())
}

// edit edits the document. In YAML, it then edits only the differences, so that comments and the order remain.
func (e *embedded) edit(edit func(root *document.Node) error) error {
	if err := edit(e.tree); err != nil || e.yaml == nil {
		return err
	}
	return e.yaml.Set(e.text.Bytes())
}

// set writes a value to a field. In YAML, a list replaces the existing one.
func (e *embedded) set(p fieldPath, v Resolved) error {
	return e.edit(func(root *document.Node) error {
		if e.yaml != nil && bytes.HasPrefix(v.JSON, []byte("[")) && !p.isItem() {
			return p.put(root, v.JSON)
		}
		return p.write(root, v)
	})
}

// add appends an item to a list that does not have it.
func (e *embedded) add(p fieldPath, item []byte) error {
	return e.edit(func(root *document.Node) error { return p.add(root, item) })
}
