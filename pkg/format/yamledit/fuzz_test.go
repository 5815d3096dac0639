// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

var yamlSeeds = []string{
	"a: 1\nb:\n  c: x # why\n  # below\n  d: [1, \"2\"]\ne:\n- 1\n- f: g\n  h: |\n    i\n\n    j\n  # k\n- - l\n  - {m: n}\n",
	"# head\n---\na: 'it''s'\n\"b\\u00e9\": ~\nc:\nd: {}\n- e\n",
	"a: {b: c,\n d: e}\nf: g\n  h\ni: !!str 1\n? j\n: k\n",
	"a: &x 1\nb: *x\n", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "<<: {a: 1}\n", "\ta: 1", "a: b: c", "a: >-\r\n  b\r\nc: 1.50\r\n",
	"a:\n    b: 1\n    c:\n        - 0x1F\n        -\n        - 2001-01-01\n", "a: |-\n  b\nc: \"d\n  e\"", "{a: {b: c}}", "a: >\n  b",
}

// comparable makes values that are no JSON comparable.
func comparableYAML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = comparableYAML(member)
		}
	case []any:
		for i := range v {
			v[i] = comparableYAML(v[i])
		}
	case float64:
		if math.IsNaN(v) {
			return "NaN"
		}
	}
	return v
}

// FuzzSplit checks that yaml.v3 reads accepted documents in the same way.
func FuzzSplit(f *testing.F) {
	for _, seed := range yamlSeeds {
		f.Add(seed)
	}
	for _, seed := range []string{"a: x\n  - y\n", "a: x\n- y\n", "a:\n- b: 1\n  c: 2\n-  d\n", "a: b:\n", "a:\n  - - b\n", "a: -\n", "a: ---\n",
		"a: \"x\" y\n", "a:\n- b\nc: d\n- e\n", "a:\n    b: 1\n  c: 2\n", "a: #x\n", "a:  \n b: 1\n", "a: 1 #b\n#c\n d: 2\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		blocks, ok := split(source)
		if !ok {
			return
		}
		root, err := read(source)
		if err != nil {
			t.Fatalf("%q is accepted but by the library: %v", source, err)
		}
		all := ""
		for _, p := range blocks {
			all += p.text
		}
		if all != source {
			t.Fatalf("%q is split into %+v", source, blocks)
		}
		got, _ := (&File{blocks: blocks}).Get()
		if diff := cmp.Diff(comparableYAML(valueOf(root.Content[0])), comparableYAML(got)); diff != "" {
			t.Fatalf("%q (-library +got):\n%s", source, diff)
		}
	})
}

// without returns a decoded value without the value at a path, and without the mappings that become empty.
func without(value any, path []string) any {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for key, member := range object {
		if key != path[0] {
			out[key] = comparableYAML(member)
		} else if len(path) > 1 {
			if rest, ok := without(member, path[1:]).(map[string]any); ok && len(rest) > 0 {
				out[key] = rest
			}
		}
	}
	return out
}

// FuzzEdit checks that Set and Merge write the value and keep all other fields and lines, that a second edit is none,
// and that Remove leaves the other fields.
func FuzzEdit(f *testing.F) {
	for _, seed := range yamlSeeds {
		f.Add(seed, "b\nc", `"x"`, false)
		f.Add(seed, "e", `["1",{"f":"g","i":[]},[[1.5]]]`, false)
		f.Add(seed, "a", `{"b":null,"c":{"d":[{}]}}`, true)
		f.Add(seed, "new\nkey: x", `{"y":"yes","n":-1e5,"":"\u0000\u2028"}`, true)
		f.Add("a: >\n\r\n  b\r\nc: 1.50\r\n", "e", "2", true)
	}
	f.Fuzz(func(t *testing.T, text, where, raw string, merge bool) {
		y, err := Parse([]byte(text))
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrForm) {
				t.Fatal(err)
			}
			return
		}
		path := strings.Split(where, "\n")
		edit := y.Set
		if merge {
			edit = y.Merge
		}
		others, _ := y.Get()
		var kept []string
		for _, p := range y.blocks {
			if !y.whole && p.key != path[0] {
				kept = append(kept, p.text)
			}
		}
		if err := edit([]byte(raw), path...); err != nil {
			known := []error{document.ErrSyntax, document.ErrTooDeep, document.ErrDuplicateKey, document.ErrKind, ErrForm}
			if !slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }) || string(y.Text()) != text {
				t.Fatalf("error %v left %q", err, y.Text())
			}
			return
		}
		result := string(y.Text())
		for _, lines := range kept {
			if !strings.Contains(result, strings.TrimSuffix(lines, "\n")) {
				t.Fatalf("%q lost %q", result, lines)
			}
		}
		again := checkYAMLResult(t, result, path, others, raw, merge)
		if y.Edits() == 0 && result != text {
			t.Fatalf("%q is an edit", result)
		}
		must(t, again.Remove(path...))
		checkYAMLResult(t, string(again.Text()), path, others, "", true)
	})
}

// checkYAMLResult parses a document again, and compares it with the value set at a path and with all other fields.
func checkYAMLResult(t *testing.T, text string, path []string, others any, raw string, merge bool) *File {
	t.Helper()
	y, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q cannot be read: %v", text, err)
	}
	root, err := read(text)
	must(t, err)
	want := valueOf(root.Content[0])
	got, _ := y.Get()
	if diff := cmp.Diff(comparableYAML(want), comparableYAML(got)); diff != "" {
		t.Fatalf("%q (-library +got):\n%s", text, diff)
	}
	if diff := cmp.Diff(without(others, path), without(got, path)); diff != "" {
		t.Fatalf("%q: other fields (-before +after):\n%s", text, diff)
	}
	if raw == "" {
		if y.Kind(path...) != document.Invalid {
			t.Fatalf("%q: the node is still there after its removal", text)
		}
		return y
	}
	edit := y.Set
	if merge {
		edit = y.Merge
	}
	if err := edit([]byte(raw), path...); err != nil || y.Edits() != 0 {
		t.Fatalf("second edit of %q: %q, %v", text, y.Text(), err)
	}
	d, err := document.Parse([]byte(raw))
	must(t, err)
	if n := y.find(path); !merge && !equal(n, d.Root()) {
		t.Fatalf("%q: value %v", text, valueOf(n))
	}
	return y
}
