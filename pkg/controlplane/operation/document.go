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
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// embeddedDocument defines the operation that edits a document inside the object.
func embeddedDocument() Definition {
	return Definition{
		Name: "document",
		Summary: "edits a YAML or JSON document in a field of the object (at) or in a file of the node (file): sets and removes fields by path, " +
			"and appends missing items to lists; the remaining text and its comments are unchanged. A field that is an object, " +
			"such as spec.providerConfig, is a document, too",
		Example: "document: {at: 'data[\"config.yaml\"]', set: {leaderElection.leaderElect: true}, append: {targetClientConnection.namespaces: [monitoring]}}",
		Examples: []string{
			"document: {at: 'data[\"config.json\"]', format: json, encoding: b64, remove: ['rules[name=old]']}",
			"document: {file: /etc/containerd/options.yaml, set: {log.level: \"${ pool.name }\"}}",
		},
		Arguments: []Argument{
			{Name: "at", Type: fixedText, Summary: "the path of the field, as in the operation fields; exactly one of at and file is required"},
			{Name: "file", Type: fixedText, Summary: "absolute path of the file on the node"},
			{Name: "format", Type: oneOfTexts("yaml", "json"), Summary: "the format of the text; yaml by default"},
			{Name: "encoding", Type: oneOfTexts("plain", "b64"), Summary: "b64 if the field holds base64; not for files, which declare their encoding"},
			{Name: "set", Type: mappingOf(orNull(anyTree)), Summary: "fields to set, by path; mappings are merged, and null removes"},
			{Name: "append", Type: mappingOf(computed(listOf(anyTree))), Summary: "required items by the path of the list; missing ones are appended"},
			{Name: "remove", Type: names, Summary: "paths of fields and of items of lists to remove"},
		},
		Parts:   target.Metadata,
		Compile: compileDocument,
	}
}

// documentArguments are the arguments of document.
type documentArguments struct {
	At       source.Node   `json:"at"`
	File     source.Node   `json:"file"`
	Format   string        `json:"format"`
	Encoding string        `json:"encoding"`
	Set      source.Node   `json:"set"`
	Append   source.Node   `json:"append"`
	Remove   []source.Node `json:"remove"`
}

func compileDocument(c *Context, arguments source.Node, at string) ([]Write, source.Findings) {
	var a documentArguments
	findings := source.Decode(arguments, at, &a)
	if a.Format != "" && !slices.Contains([]string{"yaml", "json"}, a.Format) {
		findings = append(findings, arguments.Finding(at+".format", "must be yaml or json, is %q", a.Format).Of(source.WrongValue))
	}
	if a.Encoding != "" && !slices.Contains([]string{"plain", "b64"}, a.Encoding) {
		findings = append(findings, arguments.Finding(at+".encoding", "must be plain or b64, is %q", a.Encoding).Of(source.WrongValue))
	}
	place, problems := compileDocumentPlace(c, a, arguments, at)
	if findings = append(findings, problems...); len(findings) > 0 {
		return nil, findings
	}
	f := fieldCompiler{
		context: c, place: Place{Kind: DocumentField, Container: place.name},
		apply: func(p fieldPath) func(*target.Object, Resolved) error {
			return place.edit(p, func(e *embedded, v Resolved) error { return e.set(p, v) })
		},
		trace: place.trace,
		appendTo: func(p fieldPath, several bool) func(*target.Object, Resolved) error {
			return place.edit(p, func(e *embedded, v Resolved) error { return e.add(p, v.JSON, several) })
		},
	}
	return f.compile(arguments, at, fieldEdits{Set: a.Set, Append: a.Append, Remove: a.Remove})
}

func compileDocumentPlace(c *Context, a documentArguments, arguments source.Node, at string) (documentPlace, source.Findings) {
	place := documentPlace{format: a.Format, encoding: a.Encoding}
	switch {
	case a.At.Absent() == a.File.Absent():
		return place, source.Findings{arguments.Finding(at, "exactly one of at and file is needed").Of(source.ExclusiveFields)}
	case !a.File.Absent():
		place.name, place.file = a.File.Value, a.File.Value
		if problem := checkDocumentFile(c, a); problem != "" {
			return place, source.Findings{a.File.Finding(at+".file", "%s", problem).Of(WrongPath)}
		}
		return place, nil
	}
	problem := checkName(a.At.Value)
	field, err := parsePath(a.At.Value)
	switch {
	case problem != "":
	case a.At.Kind != yaml.ScalarNode || err != nil:
		problem = fmt.Sprintf("is not the path of a field: %v", err)
	default:
		place.name, place.field = field.String(), field
		problem = checkDocumentField(c.Target, field)
	}
	if problem != "" {
		return place, source.Findings{a.At.Finding(at+".at", "%s", problem).Of(WrongPath)}
	}
	return place, nil
}

func checkDocumentFile(c *Context, a documentArguments) string {
	switch name := a.File.Value; {
	case !c.Target.Has(target.Files):
		return "only the target node has files"
	case checkName(name) != "":
		return checkName(name)
	case !path.IsAbs(name) || path.Clean(name) != name:
		return "must be an absolute path without . and .."
	case name == target.KubeletConfigurationPath:
		return "the kubelet's configuration is edited with configuration and featureGates on the target kubelet"
	case a.Encoding != "":
		return "remove encoding: the file itself has it"
	}
	return ""
}

// checkDocumentField returns the operation to use instead for a field; the provider's configuration is a document.
func checkDocumentField(t *target.Target, field fieldPath) string {
	problem := checkOwner(t, field, false)
	switch {
	case problem == "" || t.Has(target.NodeSpec) && field.String() == "spec.providerConfig":
		return ""
	case t.Has(target.Files) && field[0].Key == "spec" && len(field) > 1 && field[1].Key == "files":
		return "a document in a file of the node is named by file"
	}
	return problem
}

// documentPlace locates a document.
type documentPlace struct {
	name             string
	field            fieldPath
	file             string
	format, encoding string
}

// embedded is a document inside an object: a part of the object, or JSON or YAML in a text.
type embedded struct {
	tree *document.Node
	// text is the document of tree, and write puts a text back into the object. Both are nil for a part of the object.
	text  *document.Document
	write func(text []byte) error
	// yaml is the text if it is YAML. It gets each edit of tree.
	yaml  *yamledit.File
	edits int
}

// errNoDocument means that there is nothing at the place of a document.
var errNoDocument = errors.New("there is no document")

// edit opens the document, once in a rule, and edits it.
func (d documentPlace) edit(p fieldPath, edit func(*embedded, Resolved) error) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		editor, err := o.Editor(d.name, func() (target.Editor, error) { return d.open(o) })
		if err != nil {
			return err
		}
		return nested(edit(editor.(*embedded), v), "%s of the document %s", p, d.name)
	}
}

// trace returns the trace of a field of the document. It returns nil for a file of a node, and for a document in a field
// that Gardener writes again.
func (d documentPlace) trace(p fieldPath) *Trace {
	if d.file != "" || !isLasting(d.field) {
		return nil
	}
	return &Trace{Document: d.name, Format: cmp.Or(d.format, "yaml"), Encoding: strings.TrimPrefix(d.encoding, "plain"), Path: p.String()}
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

// readEmbedded reads a document out of a text. YAML is edited as JSON.
func readEmbedded(text []byte, format string, write func([]byte) error) (*embedded, error) {
	e := &embedded{write: write}
	if format != "json" {
		var err error
		if e.yaml, err = yamledit.Parse(text); err != nil {
			return nil, err
		}
		value, _ := e.yaml.Get()
		if text, err = json.Marshal(withFractions(value)); err != nil {
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

// Flush puts the text back if it was edited.
func (e *embedded) Flush() error {
	if e.text == nil || e.text.Edits() == e.edits {
		return nil
	}
	if err := e.text.Err(); err != nil {
		return err
	}
	e.edits = e.text.Edits()
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
			return fmt.Errorf("%w: the appended value must be a list", ErrValue)
		}
		items = wanted.Root().Items()
	}
	return e.edit(func(root *document.Node) error { return p.add(root, items) })
}

// withFractions returns a YAML value for JSON in which 1.0 is a number with a fraction.
func withFractions(value any) any {
	switch value := value.(type) {
	case float64:
		if raw, err := json.Marshal(value); err == nil && !bytes.ContainsAny(raw, ".eE") {
			return json.Number(string(raw) + ".0")
		}
	case []any:
		for i := range value {
			value[i] = withFractions(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = withFractions(value[key])
		}
	}
	return value
}
