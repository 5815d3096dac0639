// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t testing.TB, raw string) *Document {
	t.Helper()
	d, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must fails the test on an error of an edit.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, n *Node, key, raw string) *Node {
	t.Helper()
	out, err := n.Set(key, []byte(raw))
	must(t, err)
	return out
}

func TestPatch(t *testing.T) {
	insert := func(t *testing.T, n *Node, i int, raw string) {
		t.Helper()
		_, err := n.Insert(i, []byte(raw))
		must(t, err)
	}
	tests := []struct {
		name, in    string
		edit        func(t *testing.T, root *Node)
		patch, want string
	}{
		{
			name: "member replaced in place", in: `{"a": 1, "b": 2}`,
			edit:  func(t *testing.T, root *Node) { set(t, root, "a", `3`) },
			patch: `[{"op":"replace","path":"/a","value":3}]`, want: `{"a": 3, "b": 2}`,
		},
		{
			name: "member added in the style of its siblings", in: "{\n  \"a\": 1\n}",
			edit:  func(t *testing.T, root *Node) { set(t, root, "b", `2`) },
			patch: `[{"op":"add","path":"/b","value":2}]`, want: "{\n  \"a\": 1,\n  \"b\": 2\n}",
		},
		{
			name: "removes a member, and ignores an absent one", in: "{ \"a\": 1,\n  \"b\": 2 }",
			edit:  func(t *testing.T, root *Node) { root.Remove("b"); root.Remove("c") },
			patch: `[{"op":"remove","path":"/b"}]`, want: "{ \"a\": 1 }",
		},
		{
			name: "there and back is no change", in: `{"a":{"b": 1.0 },"c":[1]}`,
			edit: func(t *testing.T, root *Node) {
				set(t, root, "a", `2`)
				set(t, root, "a", `{"b":1.0}`)
				set(t, root.Get("a"), "b", `2`)
				set(t, root.Get("a"), "b", `1.0`)
				insert(t, root.Get("c"), 0, `7`)
				root.Get("c").RemoveItem(0)
				root.Remove("a")
				set(t, root, "a", `{"b":1.0}`)
				set(t, root, "new", `1`)
				root.Remove("new")
			},
			want: `{"a":{"b": 1.0 },"c":[1]}`,
		},
		{
			name: "equal values are no edit", in: `{"a":"é/","b":{"x":1,"y":[ ]}}`,
			edit: func(t *testing.T, root *Node) {
				set(t, root, "a", `"\u00e9\/"`)
				set(t, root, "b", `{"y":[],"x":1}`)
			},
			want: `{"a":"é/","b":{"x":1,"y":[ ]}}`,
		},
		{
			name: "numbers are compared as written", in: `{"a":9007199254740992,"b":1}`,
			edit: func(t *testing.T, root *Node) {
				set(t, root, "a", `9007199254740993`)
				set(t, root, "b", `1.0`)
			},
			patch: `[{"op":"replace","path":"/a","value":9007199254740993},{"op":"replace","path":"/b","value":1.0}]`,
			want:  `{"a":9007199254740993,"b":1.0}`,
		},
		{
			name: "an absent parent is one add", in: `{"metadata":{"annotations":null}}`,
			edit: func(t *testing.T, root *Node) {
				for _, key := range []string{"labels", "annotations"} {
					m, err := root.Get("metadata").Ensure(key, Object)
					must(t, err)
					set(t, m, "a", `"1"`)
					set(t, m, "b", `"2"`)
				}
			},
			patch: `[{"op":"replace","path":"/metadata/annotations","value":{"a":"1","b":"2"}},` +
				`{"op":"add","path":"/metadata/labels","value":{"a":"1","b":"2"}}]`,
			want: `{"metadata":{"annotations":{"a":"1","b":"2"},"labels":{"a":"1","b":"2"}}}`,
		},
		{
			name: "keys are escaped in pointers", in: `{"a~b/c":{"\"\n":1}}`,
			edit:  func(t *testing.T, root *Node) { set(t, root.Get("a~b/c"), "\"\n", `2`) },
			patch: `[{"op":"replace","path":"/a~0b~1c/\"\n","value":2}]`, want: `{"a~b/c":{"\"\n":2}}`,
		},
		{
			name: "removals highest first, insertions lowest first, then what is inside", in: `[0,1,2,{"x":3},4]`,
			edit: func(t *testing.T, root *Node) {
				set(t, root.Item(3), "x", `33`)
				root.RemoveItem(0)
				root.RemoveItem(1)
				insert(t, root, 3, `5`)
				insert(t, root, 4, `6`)
			},
			patch: `[{"op":"remove","path":"/2"},{"op":"remove","path":"/0"},{"op":"add","path":"/3","value":5},` +
				`{"op":"add","path":"/4","value":6},{"op":"replace","path":"/1/x","value":33}]`,
			want: `[1,{"x":33},4,5,6]`,
		},
		{
			name: "one item less is one operation", in: `["a","b","c","d"]`,
			edit:  func(t *testing.T, root *Node) { root.RemoveItem(1) },
			patch: `[{"op":"remove","path":"/1"}]`, want: `["a","c","d"]`,
		},
		{
			name: "an item in the place of another is a replacement", in: `["a","b","c"]`,
			edit: func(t *testing.T, root *Node) {
				root.RemoveItem(1)
				insert(t, root, 1, `"x"`)
			},
			patch: `[{"op":"replace","path":"/1","value":"x"}]`, want: `["a","x","c"]`,
		},
		{
			name: "a list replaced as a whole", in: `{"l":[1,2,3,4,5]}`,
			edit:  func(t *testing.T, root *Node) { set(t, root, "l", `[1,3,9,5,6]`) },
			patch: `[{"op":"replace","path":"/l","value":[1,3,9,5,6]}]`,
			want:  `{"l":[1,3,9,5,6]}`,
		},
		{
			name: "an object replaced as a whole", in: `{"o":{"a":1,"b":{"c":2},"d":3}}`,
			edit:  func(t *testing.T, root *Node) { set(t, root, "o", `{"b":{"c":4},"a":1,"e":5}`) },
			patch: `[{"op":"replace","path":"/o","value":{"b":{"c":4},"a":1,"e":5}}]`,
			want:  `{"o":{"b":{"c":4},"a":1,"e":5}}`,
		},
		{
			name: "the root can be replaced", in: ` {"a":1} `,
			edit:  func(t *testing.T, root *Node) { must(t, root.Replace([]byte(`[]`))) },
			patch: `[{"op":"replace","path":"","value":[]}]`, want: ` [] `,
		},
		{
			name: "a removed member is added with another value", in: `{"a":{"x":1},"b":2}`,
			edit: func(t *testing.T, root *Node) {
				root.Remove("a")
				set(t, root, "a", `{"x":2}`)
			},
			patch: `[{"op":"replace","path":"/a","value":{"x":2}}]`, want: `{"a":{"x":2},"b":2}`,
		},
		{
			name: "the last items go", in: `{"l": [ 1 , 2 ], "o": { "a": 1 }}`,
			edit: func(t *testing.T, root *Node) {
				root.Get("l").RemoveItem(1)
				root.Get("l").RemoveItem(0)
				root.Get("o").Remove("a")
			},
			patch: `[{"op":"remove","path":"/l/1"},{"op":"remove","path":"/l/0"},{"op":"remove","path":"/o/a"}]`,
			want:  `{"l": [], "o": {}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.in)
			test.edit(t, d.Root())
			if diff := cmp.Diff(test.patch, string(d.Patch())); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, string(d.Bytes())); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			if got := d.Changed(); got != (test.patch != "") {
				t.Errorf("Changed is %t", got)
			}
			if diff := cmp.Diff(test.in, string(d.Original().Raw())); diff != "" && d.base == 0 && test.in[0] != ' ' {
				t.Errorf("original (-want +got):\n%s", diff)
			}
		})
	}
}
