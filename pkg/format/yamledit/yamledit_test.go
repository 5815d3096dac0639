// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, text string) *File {
	t.Helper()
	y, err := Parse([]byte(text))
	must(t, err)
	return y
}

func TestParseErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, line string }{
		"rejects an empty document":                {"", "line 1"},
		"rejects a scalar":                         {"text\n", "line 1"},
		"rejects a list":                           {"# c\n- a\n", "line 2"},
		"rejects two colons in one line":           {"a: b: c\n", "line 1"},
		"rejects wrong indentation":                {"a:\n  - b\n c\n", "line "},
		"rejects a duplicate key":                  {"a: 1\nb:\n  c: 1\n  \"c\": 2\n", "line 4"},
		"duplicate in flow":                        {"a: {b: 1, b: 2}\n", "line 1"},
		"rejects a duplicate key beside a tag":     {"a: !!str x\nb: 1\nb: 2\n", "line 3"},
		"duplicate of many":                        {manyKeys() + "key9: 1\n", "line 100"},
		"rejects an anchor":                        {"a: 1\nb: &x 1\n", "line 2"},
		"rejects an alias":                         {"a: &x 1\nb: *x\n", "line 1"},
		"rejects an alias without an anchor":       {"a: 1\nb: *x\n", "line 2"},
		"rejects a merge key":                      {"a: 1\nb:\n  <<: {c: 1}\n", "line 3"},
		"rejects a second document":                {"a: 1\n---\nb: 1\n", "line 2"},
		"second is broken":                         {"a: 1\n---\n{\n", "line "},
		"rejects a tag":                            {"a: !x 1\n", "line 1"},
		"rejects binary data":                      {"a: !!binary YQ==\n", "line 1"},
		"key is no scalar":                         {"? [a]\n: b\n", "line 1"},
		"rejects indentation with a tab":           {"a:\n\tb: 1\n", "line "},
		"rejects lists that are nested too deeply": {"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "line 1"},
		"too deep in lines":                        {deepYAML(200), "line "},
		"too deep for all":                         {"a: " + strings.Repeat("[", 100000), "line 1"},
		"rejects a document that is too large":     {"a: " + strings.Repeat("x", maxSize), "bytes"},
		"rejects a control character":              {"a: 1\nb: \x01\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			y, err := Parse([]byte(tt.text))
			if !errors.Is(err, ErrSyntax) || y != nil || !strings.Contains(err.Error(), tt.line) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func manyKeys() string {
	var out strings.Builder
	for i := range 99 {
		fmt.Fprintf(&out, "key%d: 1\n", i)
	}
	return out.String()
}

func deepYAML(depth int) string {
	var out strings.Builder
	for i := range depth {
		fmt.Fprintf(&out, "%sa:\n", strings.Repeat(" ", i))
	}
	return out.String()
}

func TestGet(t *testing.T) {
	y := parse(t, `---
null1:
null2: ~
yes: yes
true: true
int: -12
hex: 0x10
big: 18446744073709551615
float: 1.50
date: 2001-01-01
version: 1.2.3
percent: 5%
single: 'it''s # it'
"doub\u006ce": "a\n\x41\"\U0001F600"
1: one
plain: a:b#c d # comment
block: |
  a

   b
folded: >-
  a
  b
list:
- a
-
- - 1
- b: {c: [1, "2"], d: {}}
  e: []
`)
	want := map[string]any{
		"null1": nil, "null2": nil, "yes": "yes", "true": true, "int": int64(-12), "hex": int64(16),
		"big": json.Number("18446744073709551615"), "float": 1.5, "date": "2001-01-01", "version": "1.2.3", "percent": "5%",
		"single": "it's # it", "double": "a\nA\"\U0001F600", "1": "one", "plain": "a:b#c d", "block": "a\n\n b\n", "folded": "a b",
		"list": []any{"a", nil, []any{int64(1)}, map[string]any{"b": map[string]any{"c": []any{int64(1), "2"}, "d": map[string]any{}}, "e": []any{}}},
	}
	got, ok := y.Get()
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(diff)
	}
	for path, want := range map[string]document.Kind{
		"null1": document.Null, "null2": document.Null, "true": document.Bool, "int": document.Number, "float": document.Number, "yes": document.String, "block": document.String, "list": document.Array,
		"": document.Object, "absent": document.Invalid, "list/0": document.Invalid, "int/x": document.Invalid,
	} {
		keys := strings.Split(path, "/")
		if path == "" {
			keys = nil
		}
		if _, ok := y.Get(keys...); y.Kind(keys...) != want || ok != (want != document.Invalid) {
			t.Errorf("%s is a %s, %t", path, y.Kind(keys...), ok)
		}
	}
}

// TestReadMember checks that members are read as the library reads them.
func TestReadMember(t *testing.T) {
	for _, member := range []string{
		"a: b\n", "a: b", "a:  b\n", "a: b \n", "a: b # c\n", "a: true\n", "a: false", "a: True\n", "a: yes\n", "a: null\n", "a: ~\n", "a:\n", "a: 1\n",
		"a: 1.5\n", "a: 0x1f\n", "a: 1e3\n", "a: 2001-01-01\n", "a: 10m0s\n", "a: 5%\n", "a: \"b\"\n", "a: /etc/x.conf\n", "a: b:c\n", "a: b-c\n",
		"a: {}\n", "a: [b]\n", "a:\n  b: c\n", "a: b\n  c\n", "true: b\n", "1: b\n", "a.b/c: d\n", "a: .inf\n", "a: _\n", "a: <<\n", "a: =\n",
	} {
		want, err := read(member)
		must(t, err)
		got, err := readMember(member)
		must(t, err)
		if diff := cmp.Diff(valueOf(want.Content[0]), valueOf(got.Content[0])); diff != "" {
			t.Errorf("%q (-library +got):\n%s", member, diff)
		}
		var library bytes.Buffer
		encoder := yaml.NewEncoder(&library)
		encoder.SetIndent(2)
		encoder.CompactSeqIndent()
		must(t, errors.Join(encoder.Encode(got), encoder.Close()))
		encoded, err := encode(want)
		must(t, err)
		if encoded != library.String() {
			t.Errorf("%q is encoded as %q, and by the library as %q", member, encoded, library.String())
		}
		if again, err := encode(got); err != nil || again != encoded {
			t.Errorf("%q is encoded as %q instead of %q, %v", member, again, encoded, err)
		}
	}
}

func TestEdits(t *testing.T) {
	set := func(raw string, path ...string) func(*File) error {
		return func(y *File) error { return y.Set([]byte(raw), path...) }
	}
	merge := func(raw string, path ...string) func(*File) error {
		return func(y *File) error { return y.Merge([]byte(raw), path...) }
	}
	remove := func(path ...string) func(*File) error {
		return func(y *File) error { return y.Remove(path...) }
	}
	tests := map[string]struct {
		text string
		edit func(*File) error
		want string
	}{
		"replaces a scalar and keeps its comment":       {"a: 1 # one\nb:  x\n", set(`2`, "a"), "a: 2 # one\nb:  x\n"},
		"keeps the spelling of equal values":            {"a: 0x10\nb: 'c'\n", set(`{"b":"c","a":16}`), "a: 0x10\nb: 'c'\n"},
		"number and string":                             {"a: 1\n", set(`"1"`, "a"), "a: \"1\"\n"},
		"adds a key before a final comment":             {"a: 1\n# end\n", set(`true`, "b"), "a: 1\nb: true\n# end\n"},
		"no final newline":                              {"a: 1", set(`"x"`, "b"), "a: 1\nb: x"},
		"keeps lines that end in CRLF":                  {"a: 1\r\nb:\r\n  c: 1\r\n", set(`{"c":1,"d":[2]}`, "b"), "a: 1\nb:\n  c: 1\n  d:\n  - 2\n"},
		"creates nested mappings":                       {"a: 1\n", set(`true`, "b", "c", "d"), "a: 1\nb:\n  c:\n    d: true\n"},
		"null on the way":                               {"a: # why\nb: ~\n", set(`1`, "a", "c"), "a: # why\n  c: 1\nb: ~\n"},
		"null word on the way":                          {"a: null # why\nb: ~\n", set(`1`, "a", "c"), "a:\n  # why\n  c: 1\nb: ~\n"},
		"null to scalar":                                {"a: # why\n", set(`1`, "a"), "a: 1 # why\n"},
		"indents a new mapping as its siblings":         {"a:\n    b: 1\n    # c\n", set(`{"x":{"z":1}}`, "a", "d"), "a:\n  b: 1\n  # c\n\n  d:\n    x:\n      z: 1\n"},
		"fills an empty mapping":                        {"a: {}\nb: 1\n", set(`{"c":1}`, "a"), "a:\n  c: 1\nb: 1\n"},
		"into the empty map":                            {"a: {} # c\n", set(`1`, "a", "b"), "a:\n  # c\n  b: 1\n"},
		"adds a key to a flow mapping":                  {"a: {b: 1,  c: [2]} # d\n", set(`"x, y"`, "a", "e f"), "a: {b: 1, c: [2], \"e f\": \"x, y\"} # d\n"},
		"flow in place":                                 {"a: {b: 1, c: 0x2}\n", set(`3`, "a", "b"), "a: {b: 3, c: 0x2}\n"},
		"keeps a flow mapping of equal values":          {"a: {b: {x: 1,  y: 2},  c: 2}\n", merge(`{"b":{"x":1}}`, "a"), "a: {b: {x: 1,  y: 2},  c: 2}\n"},
		"keeps the order of a new mapping":              {"a:\n  # 1\n  b: 1\n  # 2\n  c: 2 # two\n", set(`{"d":3,"c":2}`, "a"), "a:\n  # 1\n  # 2\n  c: 2 # two\n  d: 3\n"},
		"merges keys into nested mappings":              {"a:\n  b: {x: 1}\n  c: 2\n", merge(`{"d":3,"b":{"z":2}}`, "a"), "a:\n  b: {x: 1, z: 2}\n  c: 2\n  d: 3\n"},
		"map all new":                                   {"a:\n  b: 1\nc: 1\n", set(`{"d":3}`, "a"), "a:\n  d: 3\nc: 1\n"},
		"map to scalar":                                 {"a: # x\n  b: 1\nc: 1\n", set(`"s"`, "a"), "a: s # x\nc: 1\n"},
		"scalar to list":                                {"a: 1 # x\nc: 1\n", set(`["s",{"t":1,"u":[]}]`, "a"), "a:\n# x\n- s\n- t: 1\n  u: []\nc: 1\n"},
		"map to list":                                   {"a:\n  b: 1\nc: 1\n", set(`[1]`, "a"), "a:\n- 1\nc: 1\n"},
		"list to map":                                   {"a:\n- 1\nc: 1\n", set(`{"b":1}`, "a"), "a:\n  b: 1\nc: 1\n"},
		"appends to a list and keeps comments":          {"a:\n- 1 # one\n# end\nb: 1\n", set(`[1,2]`, "a"), "a:\n- 1 # one\n- 2\n# end\nb: 1\n"},
		"inserts before the first item":                 {"a:\n  - 1 # one\n  - 2\n", set(`[0,1,2]`, "a"), "a:\n- 0\n- 1 # one\n- 2\n"},
		"removes an item with its comment":              {"a:\n- 1\n# two\n- 2\n- 3 # three\n", set(`[1,3]`, "a"), "a:\n- 1\n# two\n- 3 # three\n"},
		"changes one item and keeps the others":         {"a:\n- b: 1 # one\n  c: 2\n- d\n", set(`[{"b":2,"c":2},"d"]`, "a"), "a:\n- b: 2 # one\n  c: 2\n- d\n"},
		"replaces a list by an empty one":               {"a:\n- 1\nb: 1\n", set(`[]`, "a"), "a: []\nb: 1\n"},
		"list in list":                                  {"a:\n- - 1\n  - 2\n", set(`[[1,3]]`, "a"), "a:\n- - 1\n  - 3\n"},
		"replaces a block scalar and keeps its comment": {"a: | # x\n  b\n\n  c\nd: 1\n", set(`"z"`, "a"), "a: z # x\nd: 1\n"},
		"block scalar to map":                           {"a: |\n  b\n\nd: 1\n", set(`{"z":1}`, "a"), "a:\n  z: 1\nd: 1\n"},
		"member of the last":                            {"a:\n  b: 1", merge(`{"m":1,"a":{"c":2}}`), "a:\n  b: 1\n  c: 2\nm: 1"},
		"words are quoted":                              {"a: x\n", set(`"yes"`, "a"), "a: \"yes\"\n"},
		"sizes are not":                                 {"a: x\n", set(`"100Mi"`, "a"), "a: 100Mi\n"},
		"lines are escaped":                             {"a: x\n", set(`"b\nc: \u0000\u2028\u007f"`, "a"), "a: \"b\\nc: \\0\\L\\x7F\"\n"},
		"key is quoted":                                 {"a: x\n", set(`1`, "no"), "a: x\n\"no\": 1\n"},
		"keeps the digits of a number":                  {"a: x\n", set(`1.50`, "a"), "a: 1.50\n"},
		"removes a key with its comment":                {"# 1\na:\n  b: 1 # x\n# 2\nc: 1\n", remove("a"), "# 1\n# 2\nc: 1\n"},
		"remove the last":                               {"a:\n  b: 1\n  # x\nc: 1\n", remove("a", "b"), "a: {}\nc: 1\n"},
		"leaves an empty mapping":                       {"# 1\na: 1\n", remove("a"), "# 1\n{}\n"},
		"remove in flow":                                {"a: {b: 1, c: 2}\n", remove("a", "b"), "a: {c: 2}\n"},
		"ignores an absent key":                         {"a: {b: 1,  c: 2}\n", remove("a", "d"), "a: {b: 1,  c: 2}\n"},
		"remove below absent":                           {"a: 1\n", remove("b", "d"), "a: 1\n"},
		"remove below a scalar":                         {"a: 1\n", remove("a", "d"), "a: 1\n"},
		"adds a key to an empty root":                   {"{}\n", set(`{"b":1}`, "a"), "a:\n  b: 1\n"},
		"first of an item":                              {"a:\n- b: 1\n  c: 2\n", set(`[{"c":2}]`, "a"), "a:\n- c: 2\n"},
		"first, with a comment":                         {"a:\n- b: 1\n  # two\n  c: 2\n", set(`[{"c":2}]`, "a"), "a:\n- # two\n  c: 2\n"},
		"does not break a long text":                    {"a: x\n", set(`"`+strings.Repeat("long words ", 40)+`"`, "a"), "a: \"" + strings.Repeat("long words ", 40) + "\"\n"},
		"other lines stay":                              {"a:   1\n\n# b\nb:\n  - x:  y # z\nc: d\n", set(`2`, "c"), "a:   1\n\n# b\nb:\n  - x:  y # z\nc: 2\n"},
		"joins a flow list of two lines":                {"# x\na: {b: [1,\n  2]}\n# y\nc:   1\n", set(`2`, "c"), "# x\na: {b: [1, 2]}\n# y\nc: 2\n"},
		"keeps the layout of unchanged values":          {"a: {b: [1,\n  2]} # x\nc:   1\n", set(`1`, "c"), "a: {b: [1,\n  2]} # x\nc:   1\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := parse(t, tt.text)
			must(t, tt.edit(y))
			if diff := cmp.Diff(tt.want, string(y.Text())); diff != "" {
				t.Fatal(diff)
			}
			if (y.Edits() > 0) != (tt.text != tt.want) {
				t.Errorf("%d edits", y.Edits())
			}
			again := parse(t, tt.want)
			must(t, tt.edit(again))
			if again.Edits() != 0 {
				t.Errorf("second run gives %s", again.Text())
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		text, raw string
		path      []string
		want      error
	}{
		"rejects a value that is not JSON":          {"a: 1\n", `x`, []string{"a"}, document.ErrSyntax},
		"rejects a value with a duplicate key":      {"a: 1\n", `{"b":{"c":1,"c":2}}`, []string{"a"}, document.ErrDuplicateKey},
		"through a scalar":                          {"a: 1\n", `1`, []string{"a", "b"}, document.ErrKind},
		"through a list":                            {"a: [1]\n", `1`, []string{"a", "0"}, document.ErrKind},
		"rejects a document that is no mapping":     {"a: 1\n", `[]`, nil, document.ErrKind},
		"too large a float":                         {"a: 1\n", `1e999`, []string{"a"}, ErrForm},
		"rejects a value that is nested too deeply": {"a: 1\n", strings.Repeat("[", 150) + strings.Repeat("]", 150), []string{"a"}, ErrForm},
		"loses a comment":                           {"a: [ # one\n  # two\n  1 ]\n", `1`, []string{"b"}, ErrForm},
	} {
		t.Run(name, func(t *testing.T) {
			y := parse(t, tt.text)
			if err := y.Set([]byte(tt.raw), tt.path...); !errors.Is(err, tt.want) || string(y.Text()) != tt.text || y.Edits() != 0 {
				t.Errorf("error %v, text %q", err, y.Text())
			}
		})
	}
}

// TestKubelet edits a configuration of the kubelet as rules do.
func TestKubelet(t *testing.T) {
	raw, err := os.ReadFile("testdata/kubelet.yaml")
	must(t, err)
	y := parse(t, string(raw))
	must(t, y.Set([]byte(`true`), "enableControllerAttachDetach"))
	if y.Edits() != 0 || !bytes.Equal(y.Text(), raw) {
		t.Error("an edit")
	}
	must(t, y.Set([]byte(`"/etc/resolv-for-kubelet.conf"`), "resolvConf"))
	must(t, y.Set([]byte(`false`), "failSwapOn"))
	must(t, y.Merge([]byte(`{"NodeSwap":true}`), "featureGates"))
	must(t, y.Remove("evictionSoft", "memory.available"))
	want := strings.NewReplacer("/etc/resolv.conf", "/etc/resolv-for-kubelet.conf", "failSwapOn: true #", "failSwapOn: false #",
		"  memory.available: 200Mi\n", "").Replace(string(raw)) + "featureGates:\n  NodeSwap: true\n"
	if diff := cmp.Diff(want, string(y.Text())); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkSet makes typical edits of a configuration in Gardener's format.
func BenchmarkSet(b *testing.B) {
	raw, err := os.ReadFile("testdata/kubelet.yaml")
	must(b, err)
	text := strings.Replace(string(raw), "unknownToEveryVersion: [1, {a: \"b\"}]\n", "", 1) // Encoders do not write it like this.
	b.ReportAllocs()
	for b.Loop() {
		y := parse(b, text)
		must(b, y.Set([]byte(`false`), "enableControllerAttachDetach"))
		must(b, y.Merge([]byte(`{"NodeSwap":true}`), "featureGates"))
	}
}
