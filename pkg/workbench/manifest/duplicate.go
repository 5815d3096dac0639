// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	nodes "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// decode converts YAML without duplicate keys to JSON.
func (t text) decode() ([]byte, *source.Finding) {
	raw, err := yaml.YAMLToJSONStrict(t.data)
	if err == nil {
		return raw, nil
	}
	if finding := t.duplicate(); finding != nil {
		return nil, finding
	}
	// The strict conversion also refuses a key that overrides one of a merge, which YAML allows.
	if raw, err = yaml.YAMLToJSON(t.data); err != nil {
		return nil, t.syntax(err)
	}
	return raw, nil
}

// duplicate returns a finding about the first duplicate key of a mapping, or nil if there is none or the text is not
// YAML.
func (t text) duplicate() *source.Finding {
	var document nodes.Node
	if err := nodes.Unmarshal(t.data, &document); err != nil {
		document = nodes.Node{} // parsing it as JSON reports the error
	}
	earlier, key, path := twice(&document, "")
	if key == nil {
		return nil
	}
	at := source.Position{File: t.at.File, Line: t.first + key.Line - 1, Column: key.Column}
	if key.Line == 1 {
		at.Column += t.inset
	}
	message := fmt.Sprintf("duplicate key, first written in line %d", t.first+earlier.Line-1)
	return &source.Finding{Position: at, Path: path, Rule: source.DuplicateKey, Message: message}
}

// duplicateMember finds the first key that is written twice in an object of a JSON document; nil if there is none.
func (t text) duplicateMember() *source.Finding {
	var value any
	// The syntax was checked when the documents were split; a document with an error has no strict errors.
	strict, _ := kjson.UnmarshalStrict(t.data, &value, kjson.DisallowDuplicateFields)
	if len(strict) == 0 {
		return nil
	}
	if finding := t.duplicate(); finding != nil { // almost every JSON document is YAML, too
		return finding
	}
	return &source.Finding{Position: t.at, Rule: source.DuplicateKey, Message: strict[0].Error()}
}

// twice returns the first duplicate key at or below a node, with the earlier one and its path. It does not follow
// aliases.
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
