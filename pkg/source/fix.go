// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Fix is a change of the text that fixes a finding unambiguously.
type Fix struct {
	// At is the position of Old.
	At Position
	// Old is the text that is replaced by New, exactly as the file has it.
	Old, New string
}

// Replace fixes the finding by another YAML text for a single-line scalar.
func (f Finding) Replace(n Node, text string) Finding {
	if old, ok := written(n); ok {
		f.Fix = &Fix{At: n.Position(), Old: old, New: text}
	}
	return f
}

// Instead fixes the finding by the only known word that is similar to a scalar. It fixes nothing if no word or several
// words are.
func (f Finding) Instead(n Node, known []string) Finding {
	if n.Node == nil {
		return f
	}
	if word, ok := Nearest(n.Value, known); ok {
		return f.Write(n, word)
	}
	return f
}

// Write fixes the finding by another text in a scalar, which keeps its quotes if possible.
func (f Finding) Write(n Node, text string) Finding {
	if n.Node == nil {
		return f
	}
	return f.Replace(n, quote(text, n.Style))
}

// equal reports whether two values have the same text.
func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, equal)
}

// written returns the text of a scalar in the file, or false if its value does not determine it.
func written(n Node) (string, bool) {
	if n.Node == nil || n.Kind != yaml.ScalarNode || n.Value == "" || strings.ContainsAny(n.Value, "\n\r\t") {
		return "", false
	}
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'", true
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return `"` + n.Value + `"`, !strings.ContainsAny(n.Value, "\\\"")
	default:
		return n.Value, n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
}

// plainWord are texts that need no quotes anywhere.
var plainWord = regexp.MustCompile(`^[A-Za-z_/][-A-Za-z0-9_./]*$`)

// quote writes a text as YAML in a style.
func quote(text string, style yaml.Style) string {
	switch {
	case style&yaml.SingleQuotedStyle != 0:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case style&yaml.DoubleQuotedStyle == 0 && strings.Contains(text, `"`) && !strings.Contains(text, "'"):
		return "'" + text + "'"
	case style&yaml.DoubleQuotedStyle == 0 && plainWord.MatchString(text) && !ambiguous[strings.ToLower(text)]:
		return text
	default:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
}

// ambiguous are words that YAML 1.1 or 1.2 does not take for text.
var ambiguous = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "null": true, "y": true, "n": true}

// mergeDuplicateKeys leaves every key of the mappings in a document once, and only string keys, so that lookups by key or index find
// the decoded value. It joins the values of a duplicate key as far as possible, so that mistakes in both are found.
func mergeDuplicateKeys(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		var kept []*yaml.Node
		first := map[string]int{} // the indices of the values
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if !isPlain(key) {
				continue
			}
			if at, ok := first[key.Value]; ok {
				kept[at] = mergeNodes(kept[at], value)
				continue
			}
			first[key.Value] = len(kept) + 1
			kept = append(kept, key, value)
		}
		n.Content = kept
	}
	for _, inner := range n.Content {
		mergeDuplicateKeys(inner)
	}
}

// isPlain reports whether a key is a plain string.
func isPlain(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag != "!!merge" }

// mergeNodes returns the first of two values with the members or items of the second if both are mappings or lists, or else
// the first existing one.
func mergeNodes(a, b *yaml.Node) *yaml.Node {
	switch {
	case Node{Node: a}.Absent():
		return b
	case a.Kind != b.Kind || equal(a, b):
	case a.Kind == yaml.MappingNode:
		a.Content = append(a.Content, b.Content...)
	case a.Kind == yaml.SequenceNode:
		type text struct{ tag, value string }
		seen := map[text]bool{}
		for _, item := range a.Content {
			seen[text{item.Tag, item.Value}] = item.Kind == yaml.ScalarNode
		}
		for _, item := range b.Content {
			if item.Kind != yaml.ScalarNode || !seen[text{item.Tag, item.Value}] {
				a.Content = append(a.Content, item)
			}
		}
	}
	return a
}
