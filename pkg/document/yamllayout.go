// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// layOut reads a document that the scanner is not sure about with the library, checks it, and lays it out anew for
// later edits.
func (y *YAML) layOut() error {
	root, err := parseYAML([]byte(y.text))
	if err != nil {
		return err
	}
	want, err := checkYAML(root, 0)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(root), encoder.Close()); err != nil {
		return fmt.Errorf("laying out YAML: %w", ErrYAMLForm)
	}
	laid := &YAML{text: out.String(), room: y.room}
	entries, doubt, _ := scanYAML(laid.text, laid.fresh(laid.text))
	if laid.entries = entries; doubt != yamlFine {
		return fmt.Errorf("laying out YAML: %w", ErrYAMLForm)
	}
	if !reflect.DeepEqual(want, laid.value(0)) {
		return fmt.Errorf("laying out YAML: %w", ErrYAMLForm)
	}
	if !sameRemarks(y.text, laid.text) {
		y.fixed = ErrYAMLForm
	}
	y.text, y.entries = laid.text, laid.entries
	return nil
}

// parseYAML reads one document. Messages of the library hold the line and no values.
func parseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, second yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line 1 is no mapping: %w", ErrYAML)
	case err != nil:
		return nil, yamlError(string(text), err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d begins a second document: %w", second.Line, ErrYAML)
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(string(text), err)
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d is no mapping: %w", root.Line, ErrYAML)
	}
	return &root, nil
}

// yamlError wraps an error of the library, whose messages quote nothing but names of anchors. It leaves the number of
// the line out if that is the first one, and always for characters and anchors.
func yamlError(text string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	_, anchor, unknown := strings.Cut(message, "unknown anchor '")
	switch {
	case unknown:
		anchor, _, _ = strings.Cut(anchor, "'")
		return fmt.Errorf("line %d has an alias: %w", lineNumber(text, max(0, strings.Index(text, "*"+anchor))), ErrYAML)
	case strings.HasPrefix(message, "line "):
		return fmt.Errorf("%s: %w", message, ErrYAML)
	default:
		return fmt.Errorf("line %d: %s: %w", lineNumber(text, oddCharacter(text)), message, ErrYAML)
	}
}

// oddCharacter returns the offset of the first character that YAML does not allow, 0 if there is none.
func oddCharacter(text string) int {
	odd := func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r >= 0x7f && r < 0xa0 && r != 0x85 || r == '\uFFFD'
	}
	return max(0, strings.IndexFunc(text, odd))
}

// checkYAML refuses what readers do not agree about, takes flow style and tags away, and returns the value.
func checkYAML(n *yaml.Node, depth int) (any, error) {
	bad := func(what string) (any, error) {
		return nil, fmt.Errorf("line %d %s: %w", n.Line, what, ErrYAML)
	}
	switch {
	case depth > maxYAMLDepth:
		return bad("is nested too deeply")
	case n.Kind == yaml.AliasNode:
		return bad("has an alias")
	case n.Anchor != "":
		return bad("has an anchor")
	}
	n.Style &^= yaml.FlowStyle
	switch n.Kind {
	case yaml.DocumentNode:
		return checkYAML(n.Content[0], depth)
	case yaml.MappingNode:
		if n.ShortTag() != "!!map" {
			return bad("has a tag")
		}
		n.Tag = ""
		return checkMapping(n, depth)
	case yaml.SequenceNode:
		if n.ShortTag() != "!!seq" {
			return bad("has a tag")
		}
		n.Tag = ""
		out := []any{}
		for _, item := range n.Content {
			value, err := checkYAML(item, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	default:
		return checkScalar(n)
	}
}

func checkMapping(n *yaml.Node, depth int) (any, error) {
	out := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		what := ""
		switch {
		case key.Kind != yaml.ScalarNode || key.Anchor != "":
			what = "has a key that is no scalar"
		case key.ShortTag() == "!!merge":
			what = "has a merge key"
		case out[key.Value] != nil:
			what = "has a duplicate key"
		}
		if what != "" {
			return nil, fmt.Errorf("line %d %s: %w", key.Line, what, ErrYAML)
		}
		if key.Style != 0 {
			key.Style, key.Tag = yaml.DoubleQuotedStyle, "!!str"
		}
		value, err := checkYAML(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		out[key.Value] = present{value}
	}
	for key, value := range out {
		out[key] = value.(present).value
	}
	return out, nil
}

// present is a value that may be nil.
type present struct{ value any }

// checkScalar gives a scalar a form without a tag.
func checkScalar(n *yaml.Node) (any, error) {
	tag := n.ShortTag()
	tagged := n.Style&yaml.TaggedStyle != 0
	n.Style &^= yaml.TaggedStyle
	if tag == "!!str" {
		if n.Style != 0 || tagged || strings.ContainsAny(n.Value, "\n\t") {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n.Value, nil
	}
	if tagged || n.Style != 0 || tag == "!!binary" {
		return nil, fmt.Errorf("line %d has a tag: %w", n.Line, ErrYAML)
	}
	n.Tag = ""
	if n.Value == "" {
		return nil, nil
	}
	return plainYAML(n.Value), nil
}

var yamlRemark = regexp.MustCompile(`(?m)(?:^|[ \t])#.*$`)

// sameRemarks reports whether everything that looks like a comment in one text stands in the other as well.
func sameRemarks(before, after string) bool {
	count := map[string]int{}
	for _, remark := range yamlRemark.FindAllString(after, -1) {
		count[strings.TrimSpace(remark)]++
	}
	for _, remark := range yamlRemark.FindAllString(before, -1) {
		remark = strings.TrimSpace(remark)
		if count[remark]--; count[remark] < 0 {
			return false
		}
	}
	return true
}
