// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// documentPlace locates a document.
type documentPlace struct {
	name             string
	field            fieldPath
	file             string
	format, encoding string
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

// The maps of strings that rules edit.
var (
	labelsPath         = fieldPath{{Key: "metadata"}, {Key: "labels"}}
	annotationsPath    = fieldPath{{Key: "metadata"}, {Key: "annotations"}}
	podLabelsPath      = fieldPath{{Key: "spec"}, {Key: "template"}, {Key: "metadata"}, {Key: "labels"}}
	podAnnotationsPath = fieldPath{{Key: "spec"}, {Key: "template"}, {Key: "metadata"}, {Key: "annotations"}}
)

// AnyItem selects all items of a list in a Trace.
const AnyItem = "*"

// Outer returns the path of the object's field that contains the trace.
func (t Trace) Outer() string { return cmp.Or(t.Document, t.Path) }

// Any returns the trace of all items of the list.
func (t Trace) Any() Trace {
	t.Item = AnyItem
	return t
}

var (
	itemSuffix     = regexp.MustCompile(`^(.+)\[\+ ([0-9a-f]{8})\]$`)
	documentPrefix = regexp.MustCompile(`^(yaml|json)( b64)? ("(?:[^"\\]|\\.)*") (.+)$`)
)

// String writes the trace as records have it: spec.a[name=x], spec.list[+ 1f2e3d4c], yaml "data[\"c.yaml\"]" a.b.
func (t Trace) String() string {
	text := t.Path
	if t.Item != "" {
		text += "[+ " + t.Item + "]"
	}
	if t.Document != "" {
		encoding := ""
		if t.Encoding == "b64" {
			encoding = " b64"
		}
		text = cmp.Or(t.Format, "yaml") + encoding + " " + strconv.Quote(t.Document) + " " + text
	}
	return text
}

// MarshalText returns the text of String.
func (t Trace) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the text of String. Any other text becomes a path without a value.
func (t *Trace) UnmarshalText(text []byte) error {
	*t = Trace{Path: string(text)}
	if m := documentPrefix.FindStringSubmatch(t.Path); m != nil {
		if outer, err := strconv.Unquote(m[3]); err == nil {
			*t = Trace{Document: outer, Format: m[1], Encoding: strings.TrimSpace(m[2]), Path: m[4]}
		}
	}
	if m := itemSuffix.FindStringSubmatch(t.Path); m != nil {
		t.Path, t.Item = m[1], m[2]
	}
	return nil
}

// itemsOf returns the traces of the items of a value: of each item of a list if several is true, or else of the value
// itself.
func (t Trace) itemsOf(raw []byte, several bool) []Trace {
	value, err := document.Parse(raw)
	if err != nil {
		return nil
	}
	defer value.Release()
	items := []*document.Node{value.Root()}
	if several {
		items = value.Root().Items()
	}
	traces := make([]Trace, len(items))
	for i, item := range items {
		traces[i] = t
		traces[i].Item = Digest(Canonical(item))
	}
	return traces
}

// Canonical returns a value in the canonical form for digests, or nil for a missing one.
func Canonical(n *document.Node) []byte {
	if n == nil {
		return nil
	}
	raw, err := json.Marshal(n.Value())
	if err != nil {
		return nil
	}
	return raw
}

// Digest returns the beginning of the hash of a value, or - for none.
func Digest(value []byte) string {
	if value == nil {
		return "-"
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:4])
}

// Traces reads and restores traces in one state of an object. It opens each document once.
type Traces struct {
	root      *document.Node
	documents map[string]*embedded
}

// TracesIn reads traces in the object that has the root.
func TracesIn(root *document.Node) *Traces { return &Traces{root: root} }

// Get returns the value at the trace in canonical form, or nil if it is missing or unreadable.
func (s *Traces) Get(t Trace) []byte {
	p, err := parsePath(t.Path)
	if err != nil {
		return nil
	}
	in, err := s.in(t)
	if err != nil {
		return nil
	}
	var found []byte
	_ = in.look(p, func(root *document.Node, p fieldPath) {
		if n := p.find(root); t.Item == "" {
			found = Canonical(n)
		} else if i := itemWith(n, t.Item); i >= 0 {
			found = Canonical(n.Item(i))
		}
	})
	return found
}

// Restore restores the former value at a lasting trace, as JSON; nil removes the value. It ignores other traces.
// Changes in a document are written to the object by Flush.
func (s *Traces) Restore(t Trace, before []byte) error {
	p, err := parsePath(t.Path)
	if outer, problem := parsePath(t.Document); err != nil || t.Document == "" && !isLasting(p) || t.Document != "" && (problem != nil || !isLasting(outer)) {
		return nil //nolint:nilerr // what is no path leads nowhere
	}
	in, err := s.in(t)
	if err != nil {
		return nil //nolint:nilerr // nobody can read it any more
	}
	switch {
	case t.Item != "" && before == nil:
		return in.removeItem(p, t.Item)
	case t.Item != "":
		return in.add(p, before, false)
	case before == nil:
		return in.remove(p)
	default:
		return in.put(p, before)
	}
}

// Flush writes the documents back that were edited.
func (s *Traces) Flush() error {
	for _, in := range s.documents {
		if err := in.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// in returns the document that contains the trace.
func (s *Traces) in(t Trace) (*embedded, error) {
	if t.Document == "" {
		return &embedded{tree: s.root}, nil
	}
	place := documentPlace{name: t.Document, format: cmp.Or(t.Format, "yaml"), encoding: t.Encoding}
	key := place.format + place.encoding + t.Document
	if opened := s.documents[key]; opened != nil {
		return opened, nil
	}
	var err error
	if place.field, err = parsePath(t.Document); err != nil {
		return nil, err
	}
	opened, err := place.read(s.root)
	if err != nil {
		return nil, err
	}
	if s.documents == nil {
		s.documents = map[string]*embedded{}
	}
	s.documents[key] = opened
	return opened, nil
}

// itemWith returns the index of the item with the digest, or -1.
func itemWith(list *document.Node, digest string) int {
	for i, item := range list.Items() {
		if Digest(Canonical(item)) == digest {
			return i
		}
	}
	return -1
}

// Prefixes of paths that can be restored, and of exceptions that gardenlet writes at each reconciliation or that cannot
// change. The policies of a VerticalPodAutoscaler are exceptions: gardenlet sets the whole list before its merge patch,
// which replaces whole lists (gardener:
// pkg/component/nodemanagement/machinecontrollermanager/machine_controller_manager.go,
// pkg/component/kubernetes/apiserver/verticalpodautoscaler.go, and likewise in every other component with one).
var (
	lasting   = []string{"metadata.labels", "metadata.annotations", "spec", "data"}
	transient = []string{
		"spec.template", "spec.jobTemplate", "spec.volumeClaimTemplates", "spec.volumeClaimTemplate", "spec.storageClass",
		"spec.storageCapacity", "spec.units", "spec.files", "spec.criConfig", "spec.providerConfig", "spec.resourcePolicy",
	}
)

// Traces returns the lasting effects of writing a value to an object. If they cannot be determined, as for a nil value,
// which was not computed, it returns the trace of all items of the list.
func (w *Write) Traces(v *Resolved) []Trace {
	if w.leaves != nil {
		return w.leaves(v)
	}
	path, ok := lastingPath(w.Place)
	if !ok {
		return nil
	}
	return []Trace{{Path: path}}
}

// lastingPath returns the path of a place that keeps its value after the rule is removed, because Gardener does not
// write it again: labels, annotations and fields of the object itself. Gardener writes pod templates and parts of nodes
// at each reconciliation.
func lastingPath(p Place) (string, bool) {
	var path fieldPath
	switch p.Kind {
	case Label:
		path = labelsPath.with(p.Name)
	case Annotation:
		path = annotationsPath.with(p.Name)
	case ServiceField:
		path = fieldPath{{Key: "spec"}, {Key: p.Name}}
	default:
		return "", false
	}
	text := path.String()
	return text, isLasting(path)
}

func isLasting(p fieldPath) bool {
	keys := strings.Join(p.keys(), ".")
	within := func(outer []string) bool {
		for _, o := range outer {
			if keys == o || inside(keys, o) {
				return true
			}
		}
		return false
	}
	return len(p.keys()) > 1 && within(lasting) && !within(transient)
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

// depth returns the number of keys in the path before the first item of a list.
func (p fieldPath) depth() int {
	if i := slices.IndexFunc(p, func(s fieldpath.Step) bool { return s.By != "" }); i >= 0 {
		return i
	}
	return len(p)
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
