// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
)

// The errors of YAML, to be found with errors.Is.
var (
	// ErrYAML marks a text that is not one YAML document with a mapping, or one that uses what not all readers
	// understand: duplicate keys, anchors, aliases, merge keys, tags of other types.
	ErrYAML = errors.New("invalid YAML")
	// ErrYAMLForm marks an edit that would lose a comment, or a value that cannot be written.
	ErrYAMLForm = errors.New("YAML cannot be edited in this form")
)

const (
	maxYAML      = 4 << 20 // bytes
	maxYAMLDepth = 100
)

// YAML is a YAML document with a mapping, that is edited by splicing its text: fields that nobody names, their order
// and comments stay as they are, and so does every byte that is not part of an edited value.
//
// Keys are compared as they are written, so that 1 and "1" are the same. Scalars are read as YAML 1.2 does. A document
// in an unusual form, such as a flow collection over several lines, is laid out anew by go.yaml.in/yaml/v3 at the first
// edit, with the same fields in the same order and all comments; ErrYAMLForm is returned if a comment would be lost.
type YAML struct {
	text    string // what entries index
	entries []yamlEntry
	spare   []yamlEntry // for those behind the next edit
	came    []byte      // what Text returns before the first edit
	fixed   error       // why there can be no edit
	edits   int
	room    *room
}

// YAMLOf reads a document. The error is ErrYAML with the line. The text must not change as long as the YAML is used.
func YAMLOf(text []byte) (*YAML, error) { return yamlIn(new(room), text) }

// YAML is YAMLOf for the text of the content, in the room of its document, whose Release ends the YAML.
func (c *Content) YAML() (*YAML, error) { return yamlIn(c.inline.doc.room, c.text) }

func yamlIn(room *room, text []byte) (*YAML, error) {
	if len(text) > maxYAML {
		return nil, fmt.Errorf("reading YAML: more than %d bytes: %w", maxYAML, ErrYAML)
	}
	y := &YAML{text: string(text), came: text, room: room}
	entries, doubt, at := scanYAML(y.text, y.fresh(y.text))
	y.entries = entries
	fail := func(what string) (*YAML, error) {
		return nil, fmt.Errorf("reading YAML: line %d %s: %w", lineNumber(y.text, at), what, ErrYAML)
	}
	switch {
	case doubt == yamlDuplicate:
		return fail("has a duplicate key")
	case doubt == yamlDeep:
		return fail("is nested too deeply")
	case doubt == yamlUnsure:
		if err := y.layOut(); err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
	case !y.isMap(0):
		at = entries[0].start
		return fail("is no mapping")
	}
	return y, nil
}

// fresh returns a list for the entries of a text.
func (y *YAML) fresh(text string) []yamlEntry { return y.room.yaml.list(y.spare, 8+len(text)/20) }

// Text returns the document with its edits; what came, if there are none, which must not be modified. It stands in the room of the YAML.
func (y *YAML) Text() []byte {
	if y.edits == 0 {
		return y.came
	}
	return append(y.room.bytes.take(len(y.text)), y.text...)
}

// Edits counts the edits made so far. Writing what stands there already is no edit.
func (y *YAML) Edits() int { return y.edits }

// Get returns the value at a path of keys, decoded as Node.Value does; false if there is none. Without a path it is
// the whole document. A path does not lead into lists.
func (y *YAML) Get(path ...string) (any, bool) {
	at, rest := y.walk(path)
	if len(rest) > 0 {
		return nil, false
	}
	return y.value(at), true
}

// Kind returns the kind of the value at a path, Invalid if there is none.
func (y *YAML) Kind(path ...string) Kind {
	at, rest := y.walk(path)
	if len(rest) > 0 {
		return Invalid
	}
	return y.kindOf(at)
}

func (y *YAML) kindOf(at int) Kind {
	e := &y.entries[at]
	switch e.kind {
	case yamlMap, yamlFlowMap:
		return Object
	case yamlSeq, yamlFlowSeq:
		return Array
	case yamlEmpty:
		return Null
	case yamlPlain:
		if isTextYAML(y.text[e.start:e.end]) {
			return String
		}
		switch plainYAML(y.text[e.start:e.end]).(type) {
		case nil:
			return Null
		case bool:
			return Bool
		case string:
			return String
		default:
			return Number
		}
	default:
		return String
	}
}

func (y *YAML) isMap(at int) bool {
	return y.entries[at].kind == yamlMap || y.entries[at].kind == yamlFlowMap
}

// walk follows a path as far as it leads, and returns the entry there and the rest of the path.
func (y *YAML) walk(path []string) (at int, rest []string) {
	for len(path) > 0 {
		next := y.member(at, path[0])
		if next < 0 {
			return at, path
		}
		at, path = next, path[1:]
	}
	return at, nil
}

// member returns the entry of a member, -1 if there is none.
func (y *YAML) member(at int, key string) int {
	if !y.isMap(at) {
		return -1
	}
	for i, end := at+1, int(y.entries[at].next); i < end; i = int(y.entries[i].next) {
		if y.entries[i].key(y.text) == key {
			return i
		}
	}
	return -1
}
