// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// replacements replace each value in turn.
var replacements = []yaml.Node{
	{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"},
	{Kind: yaml.SequenceNode, Tag: "!!seq"},
	{Kind: yaml.MappingNode, Tag: "!!map"},
	{Kind: yaml.ScalarNode, Tag: "!!str", Value: "${ x.y }", Style: yaml.DoubleQuotedStyle},
}

// TestChecksContinueAfterAnyWrongValue replaces each key and value of a profile: the checks continue, and each finding has a
// position, a message and a rule.
func TestChecksContinueAfterAnyWrongValue(t *testing.T) {
	data, err := os.ReadFile("testdata/reports/everything/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for index := 2; ; index++ {
		var document yaml.Node
		if err := yaml.Unmarshal(data, &document); err != nil {
			t.Fatal(err)
		}
		if !replaceAt(&document, index, replacements[index%len(replacements)]) {
			return
		}
		text, err := yaml.Marshal(&document)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Run(Options{}, []Input{{File: source.File{Name: "f", Data: text}}}).Findings {
			if f.Line == 0 || f.Message == "" || PageOf(f.Rule) == nil {
				t.Errorf("%s [%s]\n%s", f.Error(), f.Rule, text)
			}
		}
	}
}

// replaceAt puts another node in the place of the one with an index, counted in the order of the text; false when there is none.
func replaceAt(root *yaml.Node, index int, by yaml.Node) bool {
	var visit func(n *yaml.Node) bool
	visit = func(n *yaml.Node) bool {
		if index--; index < 0 {
			*n = by
			return true
		}
		for _, child := range n.Content {
			if visit(child) {
				return true
			}
		}
		return false
	}
	return visit(root)
}
