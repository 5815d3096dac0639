// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// lineWidth is the greatest length of a mapping or a list in one line.
const lineWidth = 110

// write returns a profile with the rules.
func (p *proposer) write(rules [][]*entry) ([]byte, error) {
	head := mapping()
	put(head, text(v1alpha1.GroupVersion.String()), "apiVersion")
	put(head, text(v1alpha1.KindProviderProfile), "kind")
	put(head, compact(nodeOf(tree{"name": p.options.Name}), 0), "metadata")
	put(head, compact(nodeOf([]any{p.options.Provider}), 0), "providers")
	if p.kubernetes != "" {
		put(head, &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: p.kubernetes}, "kubernetes")
	}
	documents := []*yaml.Node{head}
	for _, name := range target.Sets() {
		set := mapping()
		for i, rule := range rules {
			switch e := rule[0]; {
			case e.set() != name:
			case !e.owner.Other:
				put(set, ruleNode(rule), e.owner.Name, item)
			default:
				if i == 0 || !sameTarget(rules[i-1][0].owner, e.owner) {
					put(set, objectNode(e.owner.Forms[0]), v1alpha1.ObjectsField, item)
				}
				objects := set.Content[len(set.Content)-1].Content
				put(objects[len(objects)-1], ruleNode(rule), "rules", item)
			}
		}
		if len(set.Content) > 0 {
			documents = append(documents, mapping())
			put(documents[len(documents)-1], set, string(name))
		}
	}
	var out bytes.Buffer
	for i, document := range documents {
		if i > 0 {
			out.WriteByte('\n')
		}
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		encoder.CompactSeqIndent()
		if err := encoder.Encode(document); err != nil {
			return nil, fmt.Errorf("writing the profile: %w", err)
		}
	}
	return out.Bytes(), nil
}

// objectNode returns an object that the contract does not name, without rules.
func objectNode(form target.Form) *yaml.Node {
	gvk := schema.GroupVersionKind{Group: form.Group, Version: form.Version, Kind: form.Kind}
	object := mapping()
	put(object, text(gvk.GroupVersion().String()), "apiVersion")
	put(object, text(form.Kind), "kind")
	put(object, text(form.Name), "name")
	if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.Resource != strings.ToLower(form.Kind)+"s" {
		put(object, text(plural.Resource), "resource")
	}
	return object
}

// ruleNode returns a rule as YAML.
func ruleNode(rule []*entry) *yaml.Node {
	e, node := rule[0], mapping()
	if purposes := e.purposes(); len(purposes) > 0 && !slices.Equal(purposes, []string{"reconcile"}) {
		put(node, compact(nodeOf(listOf(purposes)), 0), "purposes")
	}
	arguments := mapping()
	for _, fixed := range e.fixed {
		put(arguments, text(fixed.value), fixed.name)
	}
	for _, e := range rule {
		put(arguments, nodeOf(e.value), e.path...)
	}
	put(node, compact(arguments, len(e.operation)), e.operation)
	return node
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

// put writes a value at a path of a mapping; without a path, the members of the value. It makes the mappings and the
// list on the path.
func put(n, value *yaml.Node, path ...string) {
	if len(path) == 0 {
		n.Content = append(n.Content, value.Content...)
		return
	}
	name, below := path[0], path[1:]
	if name == item {
		n.Kind, n.Content = yaml.SequenceNode, append(n.Content, value)
		return
	}
	i := 0
	for i < len(n.Content) && n.Content[i].Value != name {
		i += 2
	}
	if i == len(n.Content) {
		n.Content = append(n.Content, text(name), mapping())
	}
	if len(below) == 0 {
		n.Content[i+1] = value
		return
	}
	put(n.Content[i+1], value, below...)
}

// nodeOf returns a value as YAML, with sorted members and without expressions.
func nodeOf(value any) *yaml.Node {
	switch value := value.(type) {
	case tree:
		n := mapping()
		for _, key := range slices.Sorted(maps.Keys(value)) {
			n.Content = append(n.Content, text(key), nodeOf(value[key]))
			if mode, ok := octal(key, value[key]); ok {
				n.Content[len(n.Content)-1].Value = mode
			}
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case string:
		return text(strings.ReplaceAll(value, "${", "$${"))
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(rawOf(value))}
	}
}

// octal writes the mode of a file as octal digits.
func octal(key string, value any) (string, bool) {
	number, ok := value.(json.Number)
	if !ok || !slices.Contains([]string{"permissions", "defaultMode", "mode"}, key) {
		return "", false
	}
	mode, err := strconv.ParseUint(number.String(), 10, 12)
	return fmt.Sprintf("0%03o", mode), err == nil
}

// compact writes short mappings and lists in one line.
func compact(n *yaml.Node, indent int) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return n
	}
	n.Style = yaml.FlowStyle
	line, err := yaml.Marshal(n)
	if err == nil && indent+len(line) <= lineWidth && !bytes.Contains(line, []byte(`\n`)) {
		return n
	}
	n.Style = 0
	for i, child := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 {
			compact(child, indent+4)
		}
	}
	return n
}
