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
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
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

// MarshalText returns the text of String. It never fails.
func (t Trace) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the text of String. Any other text becomes a path without a value. It never fails.
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

// itemOf returns the trace of an item of the list, or none for a value that is not JSON.
func (t Trace) itemOf(raw []byte) []Trace {
	item, err := document.Parse(raw)
	if err != nil {
		return nil
	}
	defer item.Release()
	t.Item = Digest(Canonical(item.Root()))
	return []Trace{t}
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
	in, err := s.documentOf(t)
	if err != nil {
		return nil
	}
	n := p.find(in.tree)
	if t.Item == "" {
		return Canonical(n)
	}
	if i := itemWith(n, t.Item); i >= 0 {
		return Canonical(n.Item(i))
	}
	return nil
}

// Restore restores the former value at a lasting trace, as JSON; nil removes the value. It ignores other traces.
// Changes in a document are written to the object by Flush. It fails if the path leads through a value of another kind.
func (s *Traces) Restore(t Trace, before []byte) error {
	p, err := parsePath(t.Path)
	if outer, problem := parsePath(t.Document); err != nil || t.Document == "" && !isLasting(p) || t.Document != "" && (problem != nil || !isLasting(outer)) {
		return nil //nolint:nilerr // an invalid path has no place in the object
	}
	in, err := s.documentOf(t)
	if err != nil {
		return nil //nolint:nilerr // the document no longer exists
	}
	if t.Item != "" && before != nil {
		return in.add(p, before)
	}
	return in.edit(func(root *document.Node) error {
		switch {
		case before != nil:
			return p.put(root, before)
		case t.Item == "":
			p.remove(root)
		default:
			list := p.find(root)
			if i := itemWith(list, t.Item); i >= 0 {
				list.RemoveItem(i)
			}
		}
		return nil
	})
}

// Flush writes the documents back that were edited. It fails if the object cannot hold a document any more.
func (s *Traces) Flush() error {
	for _, in := range s.documents {
		if err := in.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// documentOf returns the document that contains the trace.
func (s *Traces) documentOf(t Trace) (*embedded, error) {
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
	switch {
	case w.trace == nil:
		return nil
	case !w.Adds:
		return []Trace{*w.trace}
	case v == nil:
		return []Trace{w.trace.Any()}
	default:
		return w.trace.itemOf(v.JSON)
	}
}

// trace returns the trace of a field of the object, or nil if Gardener writes the field again.
func (p fieldPath) trace() *Trace {
	if !isLasting(p) {
		return nil
	}
	return &Trace{Path: p.String()}
}

// isLasting reports whether a field keeps its value after the rule is removed, because Gardener does not write it again.
func isLasting(p fieldPath) bool {
	keys := strings.Join(p.keys(), ".")
	within := func(outer []string) bool {
		return slices.ContainsFunc(outer, func(o string) bool { return keys == o || inside(keys, o) })
	}
	return len(p.keys()) > 1 && within(lasting) && !within(transient)
}
