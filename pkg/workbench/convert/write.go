// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
)

// lineWidth is how long a mapping or a list in one line may be.
const lineWidth = 110

// write writes a profile with the rules; kubernetes is its constraint on versions, or empty.
func (p *proposer) write(rules []*rule, kubernetes string, notes ...string) ([]byte, error) {
	document := mapping(
		"apiVersion", text(v1alpha1.GroupVersion.String()), "kind", text(v1alpha1.KindProviderProfile),
		"metadata", flow(mapping("name", text(p.options.Name))), "providers", flow(sequence(text(p.options.Provider))),
	)
	document.HeadComment = strings.Join(notes, "\n")
	if kubernetes != "" {
		constraint := text(kubernetes)
		constraint.Style = yaml.DoubleQuotedStyle
		add(document, "kubernetes", constraint)
		document.Content[len(document.Content)-2].HeadComment = "The versions of the objects; of others nothing is known."
	}
	if lookups := p.lookups(rules); len(lookups.Content) > 0 {
		add(document, "lookups", lookups)
	}
	var set, targets *yaml.Node
	for i, r := range rules {
		if i == 0 || rules[i-1].set != r.set {
			set, targets = mapping(), nil
			add(document, string(r.set), set)
			document.Content[len(document.Content)-2].HeadComment = blankLine
		}
		if i == 0 || rules[i-1].set != r.set || !sameTarget(rules[i-1], r) {
			targets = sequence()
			p.addTarget(set, r, targets)
			if first := set.Content[len(set.Content)-2]; len(set.Content) > 2 && first.Value != v1alpha1.ObjectsField {
				first.HeadComment = blankLine
			}
		}
		targets.Content = append(targets.Content, r.node())
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing the profile: %w", err)
	}
	return tidy(out.Bytes()), nil
}

func sameTarget(a, b *rule) bool {
	return a.atom().owner.Name == b.atom().owner.Name && formName(a.atom().owner) == formName(b.atom().owner)
}

// addTarget adds the list of a target's rules to a set.
func (p *proposer) addTarget(set *yaml.Node, r *rule, rules *yaml.Node) {
	owner := r.atom().owner
	if !owner.Other {
		add(set, owner.Name, rules)
		return
	}
	form := owner.Forms[0]
	gvk := schema.GroupVersionKind{Group: form.Group, Version: form.Version, Kind: form.Kind}
	entry := mapping("apiVersion", text(gvk.GroupVersion().String()), "kind", text(form.Kind), "name", text(form.Name))
	if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.Resource != strings.ToLower(form.Kind)+"s" {
		add(entry, "resource", text(plural.Resource))
	}
	add(entry, "rules", rules)
	last := len(set.Content) - 1
	if last < 0 || set.Content[last-1].Value != v1alpha1.ObjectsField {
		add(set, v1alpha1.ObjectsField, sequence())
		last = len(set.Content) - 1
	}
	set.Content[last].Content = append(set.Content[last].Content, entry)
}

// node is the rule as YAML.
func (r *rule) node() *yaml.Node {
	a, v := r.atom(), r.variants[0]
	node := mapping("name", text(r.name))
	if len(v.purposes) > 0 && !slices.Equal(v.purposes, []string{"reconcile"}) {
		purposes := sequence()
		for _, purpose := range v.purposes {
			purposes.Content = append(purposes.Content, text(purpose))
		}
		add(node, "purposes", flow(purposes))
	}
	if v.when != "" {
		add(node, "when", text(v.when))
	}
	add(node, a.operation, compact(nodeOf(r.arguments()), len(a.operation)))
	var notes []string
	for _, v := range r.variants {
		for _, note := range v.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	for i := range notes {
		notes[i] = strings.ToUpper(notes[i][:1]) + notes[i][1:] + "."
	}
	node.HeadComment = strings.Join(notes, "\n")
	return node
}

// refusedRule is how a rule that was refused would be written.
func (p *proposer) refusedRule(v *variant) string {
	alone := &rule{set: p.setOf(v.atom), variants: []*variant{v}}
	node := alone.node()
	node.HeadComment = ""
	node.Content = node.Content[2:] // without the name
	if strings.Contains(v.refused, "`override`") {
		override := mapping("override", text("say here why it must be so all the same"))
		node.Content = append(override.Content, node.Content...)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(sequence(node)); err != nil {
		return ""
	}
	return out.String()
}

func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	if n.Style == 0 && strings.Contains(value, "${ ") && !strings.ContainsAny(value, `"\`) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		add(n, pairs[i].(string), pairs[i+1].(*yaml.Node))
	}
	return n
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, text(key), value)
}

func flow(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	return n
}

// nodeOf is a value as YAML, with sorted members where they have no order.
func nodeOf(value any) *yaml.Node {
	switch value := value.(type) {
	case members:
		n := mapping()
		for _, m := range value {
			add(n, m.key, nodeOf(m.value))
		}
		return n
	case tree:
		n := mapping()
		for _, key := range slices.SortedFunc(maps.Keys(value), compareKeys) {
			add(n, key, nodeOf(value[key]))
		}
		return n
	case []any:
		n := sequence()
		for _, item := range value {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case string:
		return text(value)
	case octal:
		mode, _ := value.MarshalText()
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: string(mode)}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(value)}
	default:
		return numberNode(scalarText(value))
	}
}

// firstKeys are members that say what the others are about, and stand in front of them.
var firstKeys = []string{"op", "path", "provider", "name", "image", "permissions"}

func compareKeys(a, b string) int {
	rank := func(key string) int {
		if i := slices.Index(firstKeys, key); i >= 0 {
			return i
		}
		return len(firstKeys)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// numberNode writes a number as JSON has it.
func numberNode(number string) *yaml.Node {
	tag := "!!int"
	if strings.ContainsAny(number, ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: number}
}

// compact puts mappings and lists that are short into one line.
func compact(n *yaml.Node, indent int) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return n
	}
	if width, ok := widthOf(n); ok && indent+width <= lineWidth {
		return flow(n)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 {
			compact(child, indent+4)
		}
	}
	return n
}

// widthOf is about how long the value is in one line; false where it has a text of several lines.
func widthOf(n *yaml.Node) (int, bool) {
	if n.Kind == yaml.ScalarNode {
		return len(n.Value) + 2, !strings.Contains(n.Value, "\n")
	}
	width := 2
	for _, child := range n.Content {
		inner, ok := widthOf(child)
		if !ok {
			return 0, false
		}
		width += inner + 1
	}
	return width, true
}

// blankLine is the comment that stands for an empty line until the YAML is written.
const blankLine = "graft: an empty line"

// tidy makes empty lines where they are meant. The marks stand before sets and targets, no deeper than any text.
func tidy(out []byte) []byte {
	lines := strings.Split(string(out), "\n")
	for i, line := range lines {
		if line == "# "+blankLine || line == "  # "+blankLine {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
