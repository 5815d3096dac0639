// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// AnyItem stands in a Trace for all items of a list.
const AnyItem = "*"

// Trace is what a rule leaves on an object where nobody writes it anew: a field, or an item of a list, of the object or of a document inside it.
type Trace struct {
	// Document is the path of the field in which the document is, with its format and encoding; empty: the object itself.
	Document, Format, Encoding string
	// Path is that of the field or list. It may have positions, where a patch wrote by them.
	Path string
	// Item is the digest of the item, or AnyItem; empty: the trace is the field.
	Item string
}

// Outer is the path of the field of the object in which the trace is.
func (t Trace) Outer() string { return cmp.Or(t.Document, t.Path) }

// path is the path of the field or list; documents are not written by positions.
func (t Trace) path() (fieldPath, error) {
	if t.Document != "" {
		return parsePath(t.Path)
	}
	return parseAny(t.Path)
}

// Any is the trace of all items of the list.
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

// MarshalText is String.
func (t Trace) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what String writes; everything else is a path that leads nowhere.
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

// itemsOf are the traces of the items of a value: of all in a list where several are meant, else of the value itself.
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

// Canonical is a value in the one form that digests compare; nil for what is not there.
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

// Digest is the beginning of the hash of a value; - for none.
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

// Get is what stands at the trace, in the canonical form; nil where nothing does or nothing can be read.
func (s *Traces) Get(t Trace) []byte {
	p, err := t.path()
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

// Restore puts back what stood at a lasting trace, as JSON; nil removes what is there. Other traces are left alone. What was
// restored in a document is in the object after Flush.
func (s *Traces) Restore(t Trace, before []byte) error {
	p, err := t.path()
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

// in is the document in which the trace is.
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

// parseAny reads a path that may have positions.
func parseAny(text string) (fieldPath, error) {
	p, err := fieldpath.Parse(text)
	return fieldPath(p), err
}

// itemWith is the position of the item that has the digest; -1 where none has.
func itemWith(list *document.Node, digest string) int {
	for i, item := range list.Items() {
		if Digest(Canonical(item)) == digest {
			return i
		}
	}
	return -1
}
