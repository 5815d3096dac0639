// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name, in string
		want     error
	}{
		{"rejects an empty document", ``, ErrSyntax},
		{"rejects a second value", `{} {}`, ErrSyntax},
		{"rejects a trailing comma", `{"a":1,}`, ErrSyntax},
		{"rejects a leading zero", `01`, ErrSyntax},
		{"rejects a control character in a string", "\"a\x1fbcdefghijk\"", ErrSyntax},
		{"rejects an unknown escape", `"abcdefghijkl\x"`, ErrSyntax},
		{"rejects an escape that ends early", `"\u12`, ErrSyntax},
		{"rejects a string without an end", `"abcdefghijklmnop`, ErrSyntax},
		{"as deep as allowed", deep(MaxDepth), nil},
		{"rejects one level too many", deep(MaxDepth + 1), ErrTooDeep},
		{"far too deep", strings.Repeat(`{"a":`, 5_000_000), ErrTooDeep},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.in)); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if _, err := Parse([]byte(`{"secret":x}`)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the payload: %v", err)
	}
}

func TestAbsent(t *testing.T) {
	n := parse(t, `{}`).Root().Find("a", "b")
	if n != nil || n.Kind() != Invalid || n.Len() != 0 || n.Raw() != nil || n.Value() != nil ||
		n.Items() != nil || n.Item(0) != nil || n.Index() != -1 || n.Is("") || n.Document().Root() != nil {
		t.Error("an absent node has a value")
	}
	for range n.Members() {
		t.Error("an absent node has members")
	}
	if _, ok := n.Text(); ok {
		t.Error("an absent node has a text")
	}
	_, err := n.Set("a", []byte(`1`))
	for _, err := range []error{err, n.Replace([]byte(`1`))} {
		if !errors.Is(err, ErrKind) {
			t.Errorf("got %v, want ErrKind", err)
		}
	}
	n.Remove("a")
	n.RemoveItem(0)
}

func TestReading(t *testing.T) {
	d := parse(t, `{"s":"a\u00e9\ud83d\ude00\n","n":null,"l":[{"name":"x"},{"name":"y","v":1}],"o":{"~/":true}}`)
	root := d.Root()
	if s, ok := root.Get("s").Text(); !ok || s != "aé😀\n" {
		t.Errorf("text is %q", s)
	}
	if got := root.Get("l").ItemWith("name", "y"); got.Index() != 1 || string(got.appendPointer(nil)) != "/l/1" {
		t.Errorf("item is at %q", string(got.appendPointer(nil)))
	}
	if got := string(root.Find("o", "~/").appendPointer(nil)); got != "/o/~0~1" {
		t.Errorf("pointer is %q", got)
	}
	var keys []string
	for key := range root.Members() {
		keys = append(keys, key)
	}
	if diff := cmp.Diff([]string{"s", "n", "l", "o"}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestValue(t *testing.T) {
	in := `{"i":-5,"big":9223372036854775808,"f":1.5,"long":0.1234567890123456,"e":1e3,"zero":-0.0,"tiny":1e-400,` +
		`"b":true,"x":null,"l":[1,"a"]}`
	want := map[string]any{
		"i": int64(-5), "big": json.Number("9223372036854775808"), "f": 1.5, "long": json.Number("0.1234567890123456"),
		"e": 1000.0, "zero": 0.0, "tiny": json.Number("1e-400"), "b": true, "x": nil, "l": []any{int64(1), "a"},
	}
	if diff := cmp.Diff(want, parse(t, in).Root().Value()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":             `""`,
		"a\"\\\n\t\r":  `"a\"\\\n\t\r"`,
		"\x00\x1f":     `"\u0000\u001f"`,
		"<é😀>\u2028":   "\"<é😀>\u2028\"",
		"bad\xff\xc3x": "\"bad��x\"",
	} {
		if got := string(Quote(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestDuplicateKeys(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String()
	}
	for _, test := range []struct{ name, in string }{
		{"finds a duplicate key among few members", `{"o":{"a":1,"b":2,"a":3}}`},
		{"finds a duplicate key that is escaped", `{"o":{"a":1,"\u0061":3}}`},
		{"finds a duplicate key among many members", `{"o":{` + members(100) + `"a":1,"a":3}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.in)
			o := d.Root().Get("o")
			if d.Err() != nil {
				t.Errorf("want no error before the object is read, got %v", d.Err())
			}
			if got := o.Get("a").Value(); got != int64(3) {
				t.Errorf("got %v, not the last", got)
			}
			if !errors.Is(d.Err(), ErrDuplicateKey) || !strings.Contains(d.Err().Error(), `"/o"`) {
				t.Errorf("got %v", d.Err())
			}
			if _, err := o.Set("a", []byte(`4`)); !errors.Is(err, ErrDuplicateKey) {
				t.Errorf("setting: %v", err)
			}
			if o.Remove("a"); d.Changed() {
				t.Error("an ambiguous member was removed")
			}
		})
	}
}

// TestManyMembers would not end in time if looking a member up took long in a big object.
func TestManyMembers(t *testing.T) {
	const count = 100_000
	var b strings.Builder
	b.WriteString(`{"last":0`)
	for i := range count {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	b.WriteString("}")
	d := parse(t, b.String())
	for i := range count {
		key := fmt.Sprintf("k%d", i)
		if got := d.Root().Get(key).Raw(); string(got) != key[1:] {
			t.Fatalf("%s is %s", key, got)
		}
		set(t, d.Root(), "n"+key, `1`)
	}
	if got := d.Root().Len(); got != 2*count+1 {
		t.Errorf("%d members", got)
	}
	set(t, d.Root(), "last", `1`)
	if got := len(operations(t, d)); got != count+1 {
		t.Errorf("%d operations", got)
	}
}

// operations decodes the patch of a document.
func operations(t *testing.T, d *Document) (all []struct{ Path string }) {
	t.Helper()
	must(t, json.Unmarshal(d.Patch(), &all))
	return all
}

// TestDeepValues would not end in time if a level were compared or written more than a few times.
func TestDeepValues(t *testing.T) {
	nest := func(depth int, leaf string) string {
		return strings.Repeat(`{"b":0,"a":`, depth) + leaf + strings.Repeat("}", depth)
	}
	const depth = 300
	d := parse(t, `{"a":`+nest(depth, "1")+`}`)
	set(t, d.Root(), "a", nest(depth, "2"))
	if got := operations(t, d); len(got) != 1 || got[0].Path != "/a" {
		t.Errorf("%d operations", len(got))
	}
	n := d.Root()
	for i := range 60 {
		set(t, n, "a", nest(depth-i, fmt.Sprint(10+i)))
		n = n.Get("a")
		set(t, n, "c", fmt.Sprint(i))
	}
	if !d.Changed() || !json.Valid(d.Bytes()) || len(operations(t, d)) != 1 {
		t.Errorf("%d operations", len(operations(t, d)))
	}
	reordered := parse(t, `{"a":`+nest(depth, "1")+`}`)
	set(t, reordered.Root(), "a", strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat(`,"b":0}`, depth))
	if reordered.Changed() {
		t.Errorf("patch is %s", reordered.Patch())
	}
}

func TestEditErrors(t *testing.T) {
	d := parse(t, `{"a":{"x":1},"l":[1],"s":"x"}`)
	root := d.Root()
	a, item := root.Get("a"), root.Get("l").Item(0)
	root.Remove("a")
	root.Get("l").RemoveItem(0)
	errorOf := func(_ *Node, err error) error { return err }
	for name, test := range map[string]struct{ got, want error }{
		"rejects an edit of a removed member": {errorOf(a.Set("x", []byte(`2`))), ErrGone},
		"rejects an edit of a removed item":   {item.Replace([]byte(`2`)), ErrGone},
		"set in a string":                     {errorOf(root.Get("s").Set("x", []byte(`2`))), ErrKind},
		"insert in an object":                 {errorOf(root.Insert(0, []byte(`2`))), ErrKind},
		"ensure another kind":                 {errorOf(root.Ensure("s", Object)), ErrKind},
		"ensure a scalar":                     {errorOf(root.Ensure("new", String)), ErrKind},
		"insert after the end":                {errorOf(root.Get("l").Insert(1, []byte(`2`))), ErrIndex},
		"rejects a value that is not JSON":    {errorOf(root.Set("new", []byte(`{`))), ErrSyntax},
		"key is not UTF-8":                    {errorOf(root.Set("\xff", []byte(`2`))), ErrSyntax},
		"rejects two values":                  {root.Get("s").Replace([]byte(`1 2`)), ErrSyntax},
		"rejects an edit of the original":     {errorOf(d.Original().Set("x", []byte(`2`))), ErrReadOnly},
		"place in original":                   {d.Original().Get("s").Replace([]byte(`2`)), ErrReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(test.got, test.want) {
				t.Errorf("got %v, want %v", test.got, test.want)
			}
		})
	}
	d.Original().Remove("s")
	if want := `{"l":[],"s":"x"}`; string(d.Bytes()) != want {
		t.Errorf("got %s, want %s", d.Bytes(), want)
	}
	if got := d.Original().Find("a", "x").Value(); got != int64(1) {
		t.Errorf("the original was edited: %v", got)
	}
}

func TestItemsWhileEditing(t *testing.T) {
	d := parse(t, `[1,2,3,4]`)
	seen := 0
	for _, item := range d.Root().Items() {
		seen++
		if seen%2 == 1 {
			d.Root().RemoveItem(item.Index())
		}
	}
	if seen != 4 || string(d.Bytes()) != `[2,4]` {
		t.Errorf("saw %d items, left %s", seen, d.Bytes())
	}
}

func TestSubDocument(t *testing.T) {
	review := parse(t, `{"request": {"object": {"a":1} ,"oldObject":null}}`)
	object := review.Root().Find("request", "object").Document()
	set(t, object.Root(), "a", `2`)
	if want := `[{"op":"replace","path":"/a","value":2}]`; string(object.Patch()) != want {
		t.Errorf("patch %s, want %s", object.Patch(), want)
	}
	if string(object.Bytes()) != `{"a":2}` || string(object.Original().Raw()) != `{"a":1}` || review.Changed() {
		t.Errorf("bytes %s, original %s", object.Bytes(), object.Original().Raw())
	}
	// An edited or inserted value does not depend on its source either.
	set(t, review.Root().Get("request"), "object", `{"b":[1]}`)
	other := review.Root().Find("request", "object").Document()
	edited := review.Root().Get("request").Document()
	if string(other.Bytes()) != `{"b":[1]}` || string(edited.Bytes()) != `{"object": {"b":[1]} ,"oldObject":null}` {
		t.Errorf("got %s and %s", other.Bytes(), edited.Bytes())
	}
	if _, err := other.Root().Get("b").Append([]byte(`2`)); err != nil || string(other.Patch()) != `[{"op":"add","path":"/b/1","value":2}]` {
		t.Errorf("patch %s, error %v", other.Patch(), err)
	}
}

func TestRelease(t *testing.T) {
	d := parse(t, `{"a":"x"}`)
	set(t, d.Root(), "b", `1`)
	patch, whole := string(d.Patch()), d.Bytes()
	s, _ := d.Root().Get("a").Text()
	d.Release()
	d.Release()
	next := parse(t, `{"c":"y"}`)
	set(t, next.Root(), "d", `{"e":2}`)
	if got := next.Root().Get("c"); !got.Is("y") || s != "x" || patch != `[{"op":"add","path":"/b","value":1}]` {
		t.Errorf("got %s, %s, %s", got.Raw(), s, patch)
	}
	if string(whole) != `{"a":"x","b":1}` || string(next.Bytes()) != `{"c":"y","d":{"e":2}}` {
		t.Errorf("got %s and %s", whole, next.Bytes())
	}
	if got := string(next.Patch()); got != `[{"op":"add","path":"/d","value":{"e":2}}]` {
		t.Errorf("got %s in reused memory", got)
	}
}
