// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	nodes "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// decode makes JSON of YAML in which no key stands twice.
func (t text) decode() ([]byte, *source.Finding) {
	raw, err := yaml.YAMLToJSONStrict(t.data)
	if err == nil {
		return raw, nil
	}
	if finding := t.duplicate(); finding != nil {
		return nil, finding
	}
	// Strictness also refuses a key that is written beside a merge with the same one, which YAML allows.
	if raw, err = yaml.YAMLToJSON(t.data); err != nil {
		return nil, t.syntax(err)
	}
	return raw, nil
}

// duplicate finds the first key that stands twice in its mapping; nil where there is none, or no YAML.
func (t text) duplicate() *source.Finding {
	var document nodes.Node
	if err := nodes.Unmarshal(t.data, &document); err != nil {
		document = nodes.Node{} // whoever reads it as JSON says what is wrong
	}
	earlier, key, path := twice(&document, "")
	if key == nil {
		return nil
	}
	at := source.Position{File: t.at.File, Line: t.first + key.Line - 1, Column: key.Column}
	if key.Line == 1 {
		at.Column += t.inset
	}
	return duplicateKey(at, path, t.first+earlier.Line-1)
}

// duplicateKey is the finding that a key stands at a place, and in an earlier line of the file.
func duplicateKey(at source.Position, path string, earlier int) *source.Finding {
	return &source.Finding{
		Position: at, Path: path, Rule: source.DuplicateKey, Message: fmt.Sprintf("duplicate key, first written in line %d", earlier),
	}
}

// duplicateMember finds the first key that stands twice in its object, in a document of JSON; nil where there is none.
func (t text) duplicateMember() *source.Finding {
	m := members{data: t.data}
	earlier, key, path := m.twice()
	if key < 0 {
		return nil
	}
	return duplicateKey(t.position(key), strings.TrimPrefix(path, "."), t.position(earlier).Line)
}

// position is where an offset in a document of JSON is in the file.
func (t text) position(offset int) source.Position {
	at, before := t.at, t.data[:offset]
	if lines := bytes.Count(before, []byte("\n")); lines > 0 {
		at.Line, at.Column, before = at.Line+lines, 1, before[bytes.LastIndexByte(before, '\n')+1:]
	}
	at.Column += utf8.RuneCount(before)
	return at
}

// members walks through a JSON text that has no mistake in its syntax. It makes nothing of values, as dumps of seeds are large.
type members struct {
	data []byte
	at   int
}

// twice are the offsets of the first key that stands twice at or below the value here and of the one before it, and its path, of which each part begins with a
// dot or bracket; -1 where there is none: the walk is behind the value then.
func (m *members) twice() (earlier, key int, path string) {
	switch m.data[m.at] {
	case '[':
		for i := 0; m.more(']'); i++ {
			if earlier, key, path = m.twice(); key >= 0 {
				return earlier, key, fmt.Sprintf("[%d]%s", i, path)
			}
		}
	case '{':
		first := map[string]int{}
		for m.more('}') {
			begin := m.at
			name := m.text()
			if at, ok := first[name]; ok {
				return at, begin, "." + name
			}
			first[name] = begin
			m.space()
			m.at++ // the colon
			m.space()
			if earlier, key, path = m.twice(); key >= 0 {
				return earlier, key, "." + name + path
			}
		}
	case '"':
		m.skipText()
	default: // a number or a word
		for m.at < len(m.data) && bytes.IndexByte([]byte(",]} \t\r\n"), m.data[m.at]) < 0 {
			m.at++
		}
	}
	return 0, -1, ""
}

// more goes to the next item or key of a list or object, from where that begins or from behind an item or member, or behind its end.
func (m *members) more(end byte) bool {
	m.space()
	if m.data[m.at] != end {
		m.at++ // the bracket or comma
		m.space()
	}
	if m.data[m.at] != end {
		return true
	}
	m.at++
	return false
}

func (m *members) space() {
	for m.at < len(m.data) && bytes.IndexByte([]byte(" \t\r\n"), m.data[m.at]) >= 0 {
		m.at++
	}
}

// skipText goes behind a string.
func (m *members) skipText() {
	for m.at++; m.data[m.at] != '"'; m.at++ {
		if m.data[m.at] == '\\' {
			m.at++
		}
	}
	m.at++
}

// text goes behind a string, and is what it says.
func (m *members) text() string {
	begin := m.at
	m.skipText()
	raw := m.data[begin:m.at]
	var said string
	if bytes.IndexByte(raw, '\\') < 0 || json.Unmarshal(raw, &said) != nil {
		return string(raw[1 : len(raw)-1])
	}
	return said
}

// twice is the first key that stands twice at or below a node, with the one before it and its path. Aliases are found where they point to.
func twice(n *nodes.Node, path string) (earlier, key *nodes.Node, at string) {
	if n.Kind != nodes.MappingNode {
		for i, child := range n.Content {
			inner := path
			if n.Kind == nodes.SequenceNode {
				inner = fmt.Sprintf("%s[%d]", path, i)
			}
			if earlier, key, at = twice(child, inner); key != nil {
				return earlier, key, at
			}
		}
		return nil, nil, ""
	}
	first := map[string]*nodes.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, inner := n.Content[i], n.Content[i].Value
		if path != "" {
			inner = path + "." + inner
		}
		if key.Kind == nodes.ScalarNode && key.Tag != "!!merge" {
			if first[key.Value] != nil {
				return first[key.Value], key, inner
			}
			first[key.Value] = key
		}
		if earlier, key, at = twice(n.Content[i+1], inner); key != nil {
			return earlier, key, at
		}
	}
	return nil, nil, ""
}
