// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// keyOrder orders the members of an object.
type keyOrder func(n *document.Node, root bool, keys []string)

// asWritten leaves members in their order.
func asWritten(*document.Node, bool, []string) {}

// asPeopleDo puts what says which object or item it is first, and sorts the other members.
func asPeopleDo(n *document.Node, root bool, keys []string) {
	first, _ := identify(n)
	weight := func(key string) int {
		switch {
		case root:
			return rank(place{}, key)
		case key == first:
			return 0
		default:
			return 1
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(weight(a), weight(b)), strings.Compare(a, b)) })
}

// writeYAML writes a JSON value as YAML: numbers with their digits, texts of several lines as blocks.
func writeYAML(w io.Writer, raw []byte, order keyOrder) error {
	parsed, err := document.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading a value to write it as YAML: %w", err)
	}
	node := yamlNode(parsed.Root(), true, order)
	if err := parsed.Err(); err != nil {
		return fmt.Errorf("reading a value to write it as YAML: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(node), encoder.Close()); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func yamlNode(n *document.Node, root bool, order keyOrder) *yaml.Node {
	switch n.Kind() {
	case document.Object:
		out := &yaml.Node{Kind: yaml.MappingNode}
		var keys []string
		for key := range n.Members() {
			keys = append(keys, key)
		}
		order(n, root, keys)
		for _, key := range keys {
			out.Content = append(out.Content, yamlText(key), yamlNode(n.Get(key), false, order))
		}
		return out
	case document.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items() {
			out.Content = append(out.Content, yamlNode(item, false, order))
		}
		return out
	default:
		if text, ok := n.Text(); ok {
			return yamlText(text)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n.Raw())}
	}
}

// elsewhere are texts that only readers of YAML 1.1 take for something else: booleans of one letter, numbers to the base of 60
// and marks.
var elsewhere = regexp.MustCompile(`^([yYnN=]|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// yamlText is a text, in quotes where YAML 1.1, which most readers speak, takes it for something else.
func yamlText(text string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if text == "" || ambiguous.MatchString(text) || elsewhere.MatchString(text) {
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}
