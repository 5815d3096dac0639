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
	m := members{json.NewDecoder(bytes.NewReader(t.data)), t.data}
	m.UseNumber()
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

// members walks through a JSON text that has no mistake in its syntax.
type members struct {
	*json.Decoder
	data []byte
}

// twice are the offsets of the first key that stands twice at or below the next value and of the one before it, and its path, of which each part begins with a
// dot or bracket; -1 where there is none: the walk is behind the value then.
func (m members) twice() (earlier, key int, path string) {
	token, err := m.Token()
	delimiter, nests := token.(json.Delim)
	if err != nil || !nests {
		return 0, -1, ""
	}
	if delimiter == '[' {
		for i := 0; m.More(); i++ {
			if earlier, key, path = m.twice(); key >= 0 {
				return earlier, key, fmt.Sprintf("[%d]%s", i, path)
			}
		}
	}
	for first := map[string]int{}; m.More(); {
		begin := int(m.InputOffset())
		begin += bytes.IndexByte(m.data[begin:], '"') // behind a comma
		token, err := m.Token()
		name, is := token.(string)
		if err != nil || !is {
			return 0, -1, ""
		}
		if at, there := first[name]; there {
			return at, begin, "." + name
		}
		first[name] = begin
		if earlier, key, path = m.twice(); key >= 0 {
			return earlier, key, "." + name + path
		}
	}
	_, _ = m.Token() // the end
	return 0, -1, ""
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
