// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// FuzzYAMLScan: what the scanner accepts, the library reads in the same way; what it calls a duplicate or too deep is
// none that the library and its checks accept.
func FuzzYAMLScan(f *testing.F) {
	for _, seed := range yamlSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, doubt, _ := scanYAML(text, nil)
		if doubt == yamlUnsure {
			return
		}
		root, err := parseYAML([]byte(text))
		var want any
		if err == nil {
			want, err = checkYAML(root, 0)
		}
		if doubt != yamlFine {
			if err == nil {
				t.Fatalf("%q is accepted by the library", text)
			}
			return
		}
		y := &YAML{text: text, entries: entries}
		if !y.isMap(0) {
			return // YAMLOf refuses it.
		}
		if err != nil {
			t.Fatalf("%q is accepted but for the library: %v", text, err)
		}
		if diff := cmp.Diff(comparableYAML(want), comparableYAML(y.value(0))); diff != "" {
			t.Fatalf("%q (-library +got):\n%s", text, diff)
		}
	})
}

// without returns a decoded value without what stands at a path, and the mappings that become empty so.
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

// surroundings returns what stands in front of and behind the first member of a path; all but a final line ending,
// for a new one.
func surroundings(y *YAML, key string) (before, after string) {
	if y.entries[0].kind != yamlMap {
		return "", ""
	}
	if at := y.member(0, key); at >= 0 {
		return y.text[:y.entries[at].line], y.text[y.entries[at].below:]
	}
	return y.text[:y.entries[0].end], y.text[y.entries[0].below:]
}

// FuzzYAML: after Set or Merge the value is there, all other fields are as they were, what stands outside of the
// edited member of the document is the same text, and a second edit is none; Remove leaves the other fields.
func FuzzYAML(f *testing.F) {
	for _, seed := range yamlSeeds {
		f.Add(seed, "b\nc", `"x"`, false)
		f.Add(seed, "e", `["1",{"f":"g","i":[]},[[1.5]]]`, false)
		f.Add(seed, "a", `{"b":null,"c":{"d":[{}]}}`, true)
		f.Add(seed, "new\nkey: x", `{"y":"yes","n":-1e5,"":"\u0000\u2028"}`, true)
		f.Add("a: >\n\r\n  b\r\nc: 1.50\r\n", "e", "2", true)
	}
	f.Fuzz(func(t *testing.T, text, where, raw string, merge bool) {
		y, err := YAMLOf([]byte(text))
		if err != nil {
			if !errors.Is(err, ErrYAML) && !errors.Is(err, ErrYAMLForm) {
				t.Fatal(err)
			}
			return
		}
		path := strings.Split(where, "\n")
		edit := y.Set
		if merge {
			edit = y.Merge
		}
		splicing := y.text == text
		others, _ := y.Get()
		before, after := surroundings(y, path[0])
		if err := edit([]byte(raw), path...); err != nil {
			known := []error{ErrSyntax, ErrTooDeep, ErrDuplicateKey, ErrKind, ErrYAMLForm}
			if !slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }) || string(y.Text()) != text {
				t.Fatalf("error %v left %q", err, y.Text())
			}
			// A folded text of which the lines end in both ways is refused: nothing is lost.
			mixed := strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") != strings.Count(text, "\n")
			if errors.Is(err, errChange) && !mixed && !strings.ContainsAny(raw, ".eE") && strings.Count(raw, "[")+strings.Count(raw, "{") < 9 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		sameIndex(t, y)
		result := string(y.Text())
		if splicing && !strings.HasPrefix(result, strings.TrimRight(before, "\r\n")) || splicing && !strings.HasSuffix(result, after) {
			t.Fatalf("%q lost its surroundings", result)
		}
		again := checkYAMLResult(t, result, path, others, raw, merge)
		if y.Edits() == 0 && result != text {
			t.Fatalf("%q is an edit", result)
		}
		must(t, again.Remove(path...))
		checkYAMLResult(t, string(again.Text()), path, others, "", true)
	})
}

// sameIndex holds that the index after an edit is the one that the whole text has.
func sameIndex(t *testing.T, y *YAML) {
	t.Helper()
	entries, doubt, _ := scanYAML(y.text, nil)
	if doubt != yamlFine || !slices.Equal(entries, y.entries) {
		t.Fatalf("%q is indexed as\n%+v\nand not as\n%+v", y.text, y.entries, entries)
	}
}

// checkYAMLResult reads a document anew and compares it with what was set at a path, and with all the other fields.
func checkYAMLResult(t *testing.T, text string, path []string, others any, raw string, merge bool) *YAML {
	t.Helper()
	y, err := YAMLOf([]byte(text))
	if err != nil {
		t.Fatalf("%q cannot be read: %v", text, err)
	}
	root, err := parseYAML([]byte(text))
	must(t, err)
	want, err := checkYAML(root, 0)
	must(t, err)
	got, _ := y.Get()
	if diff := cmp.Diff(comparableYAML(want), comparableYAML(got)); diff != "" {
		t.Fatalf("%q (-library +got):\n%s", text, diff)
	}
	if diff := cmp.Diff(without(others, path), without(got, path)); diff != "" {
		t.Fatalf("%q: other fields (-before +after):\n%s", text, diff)
	}
	if raw == "" {
		if y.Kind(path...) != Invalid {
			t.Fatalf("%q: not removed", text)
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
	at, _ := y.walk(path)
	d := parse(t, raw)
	if e := (&yamlEdit{YAML: y}); !merge && !e.equal(at, d.Root()) {
		t.Fatalf("%q: value %v", text, y.value(at))
	}
	return y
}
