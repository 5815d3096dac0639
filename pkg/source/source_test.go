// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

type thing struct {
	Name   string            `json:"name"`
	Count  int               `json:"count"`
	Strict bool              `json:"strict"`
	Labels map[string]string `json:"labels"`
	Parts  []part            `json:"parts"`
	Free   source.Node       `json:"free"`
	Maybe  *part             `json:"maybe"`
}

type part struct {
	Size int64 `json:"size"`
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"decodes a valid document", "name: a\ncount: 3\nstrict: true\nlabels: {x: y}\nparts: [{size: 1}]\nfree: [1, {a: b}]\nmaybe: {size: 2}\n", nil},
		{"suggests a similar field", "nmae: a\n", []string{`f.yaml:1:1: unknown field "nmae" (did you mean "name"?)`}},
		{"unknown field without a neighbour", "zzz: a\n", []string{`f.yaml:1:1: unknown field "zzz"`}},
		{"unknown field inside", "parts:\n- size: 1\n  sze: 2\n", []string{`f.yaml:3:3: parts[0]: unknown field "sze" (did you mean "size"?)`}},
		{"rejects a number for a string", "name: 3\n", []string{`f.yaml:1:7: name: must be a string (put it in quotes), is "3"`}},
		{"string wanted in a map", "labels: {x: true}\n", []string{`f.yaml:1:13: labels.x: must be a string (put it in quotes), is "true"`}},
		{"rejects a string for a number", "count: many\n", []string{`f.yaml:1:8: count: must be a whole number, is the string "many"`}},
		{"rejects a fraction for a whole number", "count: 1.5\n", []string{`f.yaml:1:8: count: must be a whole number, is "1.5"`}},
		{"rejects a string for a boolean", "strict: yes please\n", []string{`f.yaml:1:9: strict: must be true or false, is the string "yes please"`}},
		{"rejects a mapping for a list", "parts: {size: 1}\n", []string{`f.yaml:1:8: parts: must be a list, is a mapping`}},
		{"rejects a list for a mapping", "labels: [a]\n", []string{`f.yaml:1:9: labels: must be a mapping, is a list`}},
		{"rejects a list for a string", "name: [a]\n", []string{`f.yaml:1:7: name: must be a string, is a list`}},
		{"all at once", "nmae: a\ncount: many\n", []string{
			`f.yaml:1:1: unknown field "nmae" (did you mean "name"?)`, `f.yaml:2:8: count: must be a whole number, is the string "many"`}},
		{"null is absent", "name: null\nparts:\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, findings := source.Parse(source.File{Name: "f.yaml", Data: []byte(test.text)})
			if len(nodes) != 1 || len(findings) > 0 {
				t.Fatalf("parsing: %d documents, %v", len(nodes), findings)
			}
			var into thing
			if diff := cmp.Diff(test.want, texts(source.Decode(nodes[0], "", &into))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodedValues(t *testing.T) {
	nodes, _ := source.Parse(source.File{Name: "f.yaml", Data: []byte("name: a\ncount: 3\nparts: [{size: 1}]\nmaybe: {size: 2}\nfree: x\n")})
	var got thing
	if findings := source.Decode(nodes[0], "", &got); len(findings) > 0 {
		t.Fatal(findings)
	}
	if got.Name != "a" || got.Count != 3 || got.Parts[0].Size != 1 || got.Maybe.Size != 2 || got.Free.Value != "x" || got.Free.Line != 5 {
		t.Errorf("decoded %+v", got)
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		documents  int
		want       []string
	}{
		{"reads two documents", "a: 1\n---\nb: 2\n", 2, nil},
		{"omits empty documents", "---\n---\na: 1\n---\n# nothing\n", 1, nil},
		{"reads no document from an empty file", "", 0, nil},
		{"reports a duplicate key", "a: 1\nb: {c: 1, c: 2}\na: 3\n", 1, []string{
			"f.yaml:2:11: b.c: duplicate key, first written in line 2", "f.yaml:3:1: a: duplicate key, first written in line 1"}},
		{"reports an anchor and an alias", "a: &x {b: 1}\nc: *x\n", 1, []string{
			"f.yaml:1:4: a: anchors and aliases are not allowed", "f.yaml:2:4: c: anchors and aliases are not allowed"}},
		{"reports a merge key", "a: {<<: {b: 1}}\n", 1, []string{"f.yaml:1:5: a: a key must be a plain string"}},
		{"mapping as key", "{a: b}: c\n", 1, []string{"f.yaml:1:1: a key must be a plain string"}},
		{"reports a list without an end", "a: [1\nb: 2\n", 0, []string{"f.yaml:1: not YAML: did not find expected ',' or ']'"}},
		{"expression without quotes", "a: 1\nb:\n- {c: ${ d }}\n", 0, []string{
			"f.yaml:3:7: not YAML: did not find expected ',' or '}'; put a text with ${ } in single quotes inside braces and brackets, and if it has a colon or double quotes"}},
		{"expression with quotes", "a: \"${ b[\"c\"] }\"\n", 0, []string{
			"f.yaml:1:5: not YAML: did not find expected key; put a text with ${ } in single quotes inside braces and brackets, and if it has a colon or double quotes"}},
		{"expression with a colon", "a: 1\nb:\n- c: ${ d ? 1 : 2 }\n", 0, []string{
			"f.yaml:3:6: not YAML: mapping values are not allowed in this context; put a text with ${ } in single quotes inside braces and brackets, and if it has a colon or double quotes"}},
		{"reports indentation with a tab", "a:\n\tb: 1\n", 0, []string{"f.yaml:2:1: not YAML: a line is indented with a tab; use spaces only"}},
		{"tab after spaces", "a: 1\nb:\n  \tc: 1\n  d: 2\n", 0, []string{"f.yaml:3:3: not YAML: a line is indented with a tab; use spaces only"}},
		{"tab instead of a line at the margin", "a: 1\n\tb: 2\n", 0, []string{
			"f.yaml:2:1: not YAML: a line is indented with a tab; use spaces only"}},
		{"rejects a character that begins no token", "a: 1\nb: @c\n", 0, []string{"f.yaml:2: not YAML: found character that cannot start any token"}},
		{"no space after a colon", "metadata:\n  name:foo\n\n  labels: {a: b}\n", 0, []string{"f.yaml:4: not YAML: mapping values are not allowed in this context"}},
		{"no space after a colon below a field", "a:\n- b: c\n  name:${ d }\n  e: f\n", 0, []string{"f.yaml:3: not YAML: could not find expected ':'"}},
		{"a word with a colon in a text", "a: see\n  b:c\n  d: e\n", 0, []string{"f.yaml:3: not YAML: mapping values are not allowed in this context"}},
		{"an address before a field", "a:\n- https://b\n  c: d\n", 0, []string{"f.yaml:3: not YAML: mapping values are not allowed in this context"}},
		{"rejects a single word", "a: 1\nb\nc: 2\n", 0, []string{"f.yaml:2: not YAML: could not find expected ':'"}},
		{"counts columns in characters", "a: 1\né: {b: ${ c }}\n", 0, []string{"f.yaml:2:8: not YAML: did not find expected ',' or '}'; " +
			"put a text with ${ } in single quotes inside braces and brackets, and if it has a colon or double quotes"}},
		{"a value within a value", "a: 1\nwhé: b: c\n", 0, []string{"f.yaml:2: not YAML: mapping values are not allowed in this context"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, findings := source.Parse(source.File{Name: "f.yaml", Data: []byte(test.text)})
			if len(nodes) != test.documents {
				t.Errorf("%d documents, want %d", len(nodes), test.documents)
			}
			if diff := cmp.Diff(test.want, texts(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTimesAreText checks that values that look like times stay texts.
func TestTimesAreText(t *testing.T) {
	nodes, findings := source.Parse(source.File{Name: "f.yaml", Data: []byte("name: 2020-01-01\nfree: {2020-01-01: 2001-12-14t21:59:43.10-05:00}\n")})
	var into thing
	findings = append(findings, source.Decode(nodes[0], "", &into)...)
	var free any
	if err := into.Free.Decode(&free); err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	want := map[string]any{"2020-01-01": "2001-12-14t21:59:43.10-05:00"}
	if diff := cmp.Diff(want, free); diff != "" || into.Name != "2020-01-01" {
		t.Errorf("decoded %q, %s", into.Name, diff)
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"flags", "featureGates", "volumes", "podLabels"}
	for word, want := range map[string]string{
		"flag": `flags`, "FeatureGates": "featureGates", "featureGate": "featureGates", "volmues": "volumes", "kubernetes": "", "x": "",
		"vol": "volumes", "feat": "featureGates", "pod": "podLabels", "fl": "", "Fe": "",
	} {
		expected := ""
		if want != "" {
			expected = ` (did you mean "` + want + `"?)`
		}
		if got := source.Suggest(word, known); got != expected {
			t.Errorf("Suggest(%q) is %q, want %q", word, got, expected)
		}
	}
}

// FuzzParse checks that any bytes give documents or findings with a position in the file, and never a panic.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "a: [1, {b: c}]\n---\nx: |\n  y\n", "&a {*a : 1}", "{", "\xff", "a: &x [*x]",
		"list: [a]\nlist: [a, b]\n", "list:\nlist: [{a: 1, a: [2]}]\nlist: {}\n", "x: &list 1\n*list : []\nlist: [a]\n", "&x {a: {b: 1}, a: {b: {c: 2}}, !!merge a: 1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nodes, findings := source.Parse(source.File{Name: "f", Data: []byte(text)})
		for _, finding := range findings {
			if finding.File != "f" || finding.Message == "" {
				t.Errorf("finding without place or message: %+v", finding)
			}
		}
		for _, node := range nodes {
			var into thing
			_ = source.Decode(node, "", &into)
			once(t, node)
		}
	})
}

// once checks that keys are plain and unique texts, so that positions can be found next to decoded values.
func once(t *testing.T, n source.Node) {
	t.Helper()
	for _, field := range n.Fields() {
		if got := n.Get(field.Key.Value); field.Key.Kind != yaml.ScalarNode || got != field.Value {
			t.Errorf("%s: the key %q leads elsewhere", field.Key.Position(), field.Key.Value)
		}
		once(t, field.Value)
	}
	for _, item := range n.Items() {
		once(t, item)
	}
}

// TestDuplicates checks the decoded values and positions of duplicate keys.
func TestDuplicates(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"joins two lists":              {"a: [b]\na: [b, c, {}]\n", "{a: [b, c, {}]}"},
		"the longer first":             {"a: [b, c]\na: [d]\n", "{a: [b, c, d]}"},
		"keeps equal items once":       {"a: [{b: c}]\na: [{b: c}]\n", "{a: [{b: c}]}"},
		"merges nested mappings":       {"a: {b: 1, c: {d: 1}}\na: {e: 3, c: {d: 2, f: 4}}\n", "{a: {b: 1, c: {d: 1, f: 4}, e: 3}}"},
		"keeps the first of two texts": {"a: 1\na: 2\n", "{a: 1}"},
		"keeps the first of two types": {"a: 1\na: [2]\n", "{a: 1}"},
		"skips a null before lists":    {"a:\na: [1]\na: [2]\n", "{a: [1, 2]}"},
		"below an anchor":              {"&x {a: 1, a: 2}", "{a: 1}"},
		"an alias that is like one":    {"x: &a 1\n*a : 2\na: [3]\n", "{x: 1, a: [3]}"},
		"a merge that is like one":     {"!!merge a: []\na: [3]\n", "{a: [3]}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nodes, findings := source.Parse(source.File{Name: "f", Data: []byte(test.text)})
			if len(nodes) != 1 || len(findings) == 0 {
				t.Fatalf("%d documents, findings: %v", len(nodes), findings)
			}
			once(t, nodes[0])
			if diff := cmp.Diff(test.want, plain(nodes[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// plain is a value in one line.
func plain(n source.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for _, field := range n.Fields() {
			parts = append(parts, field.Key.Value+": "+plain(field.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Items() {
			parts = append(parts, plain(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return n.Value
	}
}

func texts(findings source.Findings) []string {
	var lines []string
	for _, finding := range findings {
		lines = append(lines, finding.Error())
	}
	return lines
}
