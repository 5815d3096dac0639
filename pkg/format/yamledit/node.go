// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// read parses one document and checks it. Messages of the library hold the line and no values.
func read(text string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var root, second yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line 1 is not a mapping: %w", ErrSyntax)
	case err != nil:
		return nil, syntaxError(text, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d begins a second document: %w", second.Line, ErrSyntax)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(text, err)
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d is not a mapping: %w", root.Line, ErrSyntax)
	}
	return &root, checkNode(root.Content[0], 0)
}

// readMember parses the text of a mapping with one member. It reads a plain string or a boolean on one line itself, as
// most members have them, and leaves anything else to the library.
func readMember(member string) (*yaml.Node, error) {
	key, value, ok := cutKey(strings.TrimSuffix(member, "\n"))
	if !ok || !isPlainString(key) {
		return read(member)
	}
	scalar := text(value)
	switch {
	case value == "true" || value == "false":
		scalar = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: value}
	case !isPlainString(value):
		return read(member)
	}
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{text(key), scalar}}
	return &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{mapping}}, nil
}

// syntaxError wraps an error of the library; its messages quote only names of anchors. It adds the line if the library
// omits it: on the first line, and for characters and anchors.
func syntaxError(text string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	_, anchor, unknown := strings.Cut(message, "unknown anchor '")
	switch {
	case unknown:
		anchor, _, _ = strings.Cut(anchor, "'")
		return fmt.Errorf("line %d has an alias: %w", lineOf(text, strings.Index(text, "*"+anchor)), ErrSyntax)
	case strings.HasPrefix(message, "line "):
		return fmt.Errorf("%s: %w", message, ErrSyntax)
	default:
		odd := func(r rune) bool {
			return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r >= 0x7f && r < 0xa0 && r != 0x85 || r == '\uFFFD'
		}
		return fmt.Errorf("line %d: %s: %w", lineOf(text, strings.IndexFunc(text, odd)), message, ErrSyntax)
	}
}

func lineOf(text string, at int) int { return 1 + strings.Count(text[:max(0, at)], "\n") }

// checkNode rejects values that parsers interpret differently. A null in flow style gets a value, so that it is encoded
// as null.
func checkNode(n *yaml.Node, depth int) error {
	problem := ""
	switch tag := n.ShortTag(); {
	case depth > maxDepth:
		problem = "is nested too deeply"
	case n.Kind == yaml.AliasNode:
		problem = "has an alias"
	case n.Anchor != "":
		problem = "has an anchor"
	case n.Kind == yaml.MappingNode && tag != "!!map", n.Kind == yaml.SequenceNode && tag != "!!seq", tag == "!!binary",
		n.Kind == yaml.ScalarNode && tag != "!!str" && n.Style != 0:
		problem = "has a tag"
	}
	if problem != "" {
		return fmt.Errorf("line %d %s: %w", n.Line, problem, ErrSyntax)
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if err := checkKey(child, seen); err != nil {
				return err
			}
			continue
		}
		if n.Style&yaml.FlowStyle != 0 && child.ShortTag() == "!!null" {
			child.Value = "null" // The library encodes an empty one in flow style as a string.
		}
		if err := checkNode(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(key *yaml.Node, seen map[string]bool) error {
	problem := ""
	switch {
	case key.Kind != yaml.ScalarNode || key.Anchor != "":
		problem = "has a key that is not a scalar"
	case key.ShortTag() == "!!merge":
		problem = "has a merge key"
	case seen[key.Value]:
		problem = "has a duplicate key"
	}
	seen[key.Value] = true
	if problem != "" {
		return fmt.Errorf("line %d %s: %w", key.Line, problem, ErrSyntax)
	}
	return nil
}

// member returns the value of a key, nil if there is none.
func member(mapping *yaml.Node, key string) *yaml.Node {
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

func indexOf(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// kindOf returns the kind of a value as JSON has it.
func kindOf(n *yaml.Node) document.Kind {
	if n == nil {
		return document.Invalid
	}
	switch n.Kind {
	case yaml.MappingNode:
		return document.Object
	case yaml.SequenceNode:
		return document.Array
	}
	switch n.ShortTag() {
	case "!!null":
		return document.Null
	case "!!bool":
		return document.Bool
	case "!!int", "!!float":
		return document.Number
	default: // Dates are strings, as for the components of Kubernetes (sigs.k8s.io/yaml).
		return document.String
	}
}

// valueOf decodes a node: map[string]any, []any, string, int64, float64, json.Number, bool or nil.
func valueOf(n *yaml.Node) any {
	switch kindOf(n) {
	case document.Object:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = valueOf(n.Content[i+1])
		}
		return out
	case document.Array:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = valueOf(item)
		}
		return out
	case document.String:
		return n.Value
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return n.Value
	}
	switch v := value.(type) {
	case int:
		return int64(v)
	case uint64:
		return json.Number(strconv.FormatUint(v, 10))
	}
	return value
}

// encode writes a document as the encoders of Kubernetes' components do: two columns for each level, dashes below their key.
func encode(root *yaml.Node) (string, error) {
	if len(root.Content[0].Content) == 0 {
		return headOf(root) + "{}\n", nil
	}
	if line, ok := plainLine(root); ok {
		return line, nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err := errors.Join(encoder.Encode(root), encoder.Close())
	return out.String(), err
}

// plainLine returns the line of a mapping with one member, a plain string or a boolean, without comments. The library
// takes much longer for it.
func plainLine(root *yaml.Node) (string, bool) {
	mapping := root.Content[0]
	if len(mapping.Content) != 2 {
		return "", false
	}
	key, value := mapping.Content[0], mapping.Content[1]
	for _, n := range []*yaml.Node{root, mapping, key, value} {
		if n.Style != 0 || n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
			return "", false
		}
	}
	plain := isPlainString(value.Value) || value.Value == "true" || value.Value == "false"
	return key.Value + ": " + value.Value + "\n", plain && value.Kind == yaml.ScalarNode && isPlainString(key.Value)
}

// headOf returns the comment of a document with its lines.
func headOf(root *yaml.Node) string {
	head := root.HeadComment
	if head != "" {
		head += "\n"
	}
	return head
}

// lostRemarks counts the comments of a block that it would not have after it is encoded.
func lostRemarks(p *block) int {
	text, err := encode(p.node)
	if err != nil {
		return 0
	}
	isHash := func(text string) int { return strings.Count(text, "#") }
	return max(0, isHash(p.text)-isHash(text))
}

// plainWords are scalars that some version of YAML reads as something else than a string, in lower case.
var plainWords = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// text returns the node of a string, in quotes unless YAML 1.1 and 1.2 read it as one without them.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !isPlainString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func isPlainString(s string) bool {
	if s == "" || len(s) > 128 || !isWordByte(s[0]) || s[0] == '.' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isWordByte(c) && (i == 0 || c != '-' && c != '%' && c != '+' && (c != ':' || i+1 == len(s))) {
			return false
		}
	}
	if s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789abcdefABCDEFxXoO_.+-:tTzZ") == "" {
		return false // It could be read as a number or a date.
	}
	return !slices.ContainsFunc(plainWords, func(word string) bool { return strings.EqualFold(s, word) })
}
