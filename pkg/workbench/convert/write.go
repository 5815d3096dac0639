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

// lineWidth is the greatest length of a mapping or a list in one line.
const lineWidth = 110

// write returns a profile with the rules.
func (p *proposer) write(rules []*rule) ([]byte, error) {
	document := mapping(
		"apiVersion", text(v1alpha1.GroupVersion.String()), "kind", text(v1alpha1.KindProviderProfile),
		"metadata", flow(mapping("name", text(p.options.Name))), "providers", flow(sequence(text(p.options.Provider))),
	)
	if p.kubernetes != "" {
		constraint := text(p.kubernetes)
		constraint.Style = yaml.DoubleQuotedStyle
		add(document, "kubernetes", constraint)
	}
	var set, targets *yaml.Node
	for i, r := range rules {
		e := r.first()
		if i == 0 || rules[i-1].first().set() != e.set() {
			set, targets = mapping(), nil
			add(document, string(e.set()), set)
			document.Content[len(document.Content)-2].HeadComment = blankLine
		}
		if targets == nil || !sameTarget(rules[i-1].first(), e) {
			targets = sequence()
			addTarget(set, e, targets)
		}
		targets.Content = append(targets.Content, p.node(r))
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing the profile: %w", err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("# "+blankLine+"\n"), []byte("\n")), nil
}

// blankLine is a comment that is replaced by an empty line.
const blankLine = "graft: an empty line"

func sameTarget(a, b *entry) bool {
	return a.owner.Name == b.owner.Name && (!a.owner.Other || a.owner.Forms[0] == b.owner.Forms[0])
}

// addTarget adds the list of a target's rules to a set.
func addTarget(set *yaml.Node, e *entry, rules *yaml.Node) {
	if !e.owner.Other {
		add(set, e.owner.Name, rules)
		return
	}
	form := e.owner.Forms[0]
	gvk := schema.GroupVersionKind{Group: form.Group, Version: form.Version, Kind: form.Kind}
	object := mapping("apiVersion", text(gvk.GroupVersion().String()), "kind", text(form.Kind), "name", text(form.Name))
	if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.Resource != strings.ToLower(form.Kind)+"s" {
		add(object, "resource", text(plural.Resource))
	}
	add(object, "rules", rules)
	last := len(set.Content) - 1
	if last < 0 || set.Content[last-1].Value != v1alpha1.ObjectsField {
		add(set, v1alpha1.ObjectsField, sequence())
		last = len(set.Content) - 1
	}
	set.Content[last].Content = append(set.Content[last].Content, object)
}

// node returns the rule as YAML. A comment names the objects if only some objects of the target have the difference.
func (p *proposer) node(r *rule) *yaml.Node {
	e := r.first()
	node := mapping()
	if len(e.purposes) > 0 && !slices.Equal(e.purposes, []string{"reconcile"}) {
		purposes := sequence()
		for _, purpose := range e.purposes {
			purposes.Content = append(purposes.Content, text(purpose))
		}
		add(node, "purposes", flow(purposes))
	}
	add(node, e.operation, compact(nodeOf(r.arguments()), len(e.operation)))
	var with, without int
	for _, s := range p.subjects {
		if e.owner.Purposed != (s.purpose != "") || !e.owner.Purposed && e.owner.Name != s.target.Name ||
			e.owner.Other && e.owner.Forms[0] != *s.form || s.purpose != "" && !slices.Contains(e.purposes, s.purpose) {
			continue
		}
		if slices.Contains(e.in, s) {
			with++
		} else {
			without++
		}
	}
	if without > 0 {
		node.HeadComment = fmt.Sprintf("Seen in %d of %d objects; a condition (when) has to select them.", with, with+without)
	}
	return node
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

// nodeOf returns a value as YAML, with sorted members where they have no order.
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
			add(n, key, nodeOf(modeOf(key, value[key])))
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

// firstKeys lists members that are written first.
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

// numberNode returns a number as JSON has it.
func numberNode(number string) *yaml.Node {
	tag := "!!int"
	if strings.ContainsAny(number, ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: number}
}

// compact writes short mappings and lists in one line.
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

// widthOf returns about how long the value is in one line; false where it has a text of several lines.
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
