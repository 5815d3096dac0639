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

// asPeopleDo moves the identifying member of an object or item to the front, and sorts the rest.
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
func writeYAML(w io.Writer, raw []byte, order keyOrder, inside ...Inside) error {
	parsed, err := document.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading a value to write it as YAML: %w", err)
	}
	node := (&yamlForm{order, inside}).node(place{}, parsed.Root())
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

// yamlForm holds settings for writing YAML. Texts inside of fields in another form than a string are added as comments.
type yamlForm struct {
	order  keyOrder
	inside []Inside
}

func (f *yamlForm) node(at place, n *document.Node) *yaml.Node {
	switch n.Kind() {
	case document.Object:
		return f.object(at, n)
	case document.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items() {
			out.Content = append(out.Content, f.node(at.item(""), item))
		}
		return out
	default:
		if text, ok := n.Text(); ok {
			return yamlText(text)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n.Raw())}
	}
}

func (f *yamlForm) object(at place, n *document.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	var keys []string
	for key := range n.Members() {
		keys = append(keys, key)
	}
	f.order(n, at.path == "", keys)
	for _, key := range keys {
		name := yamlText(key)
		if strings.Contains(key, "\n") {
			name.Style = yaml.DoubleQuotedStyle
		}
		out.Content = append(out.Content, name, f.node(at.member(key), n.Get(key)))
	}
	if text, ok := textInside(f.inside, at.shape, n); ok && !n.Get("data").Is(text) {
		out.Content[0].HeadComment = comment(text)
	}
	return out
}

// comment returns a text as a comment; each line of it stays in the comment.
func comment(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight("# "+oneLine(line), " ") + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// elsewhere are texts that only readers of YAML 1.1 take for something else: booleans of one letter, numbers to the base of 60
// and marks.
var elsewhere = regexp.MustCompile(`^([yYnN=]|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// breaking are characters that some readers take for the end of a line, and the writer for nothing special.
const breaking = "\u0085\u2028\u2029\ufeff"

// yamlText returns a text, in quotes if YAML 1.1, which most parsers implement, would read another type.
func yamlText(text string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if text == "" || ambiguous.MatchString(text) || elsewhere.MatchString(text) || strings.HasPrefix(text, "\t") || strings.ContainsAny(text, breaking) {
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}
