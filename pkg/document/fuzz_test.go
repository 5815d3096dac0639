// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
)

var seeds = []string{
	`{}`, `[]`, `null`, `0`, `-0`, `1e400`, `""`, `true`, ` { } `, `[[],[{}]]`,
	`{"a":1,"b":[1,2,3],"c":{"d":null,"e~/f":"x"}}`,
	"{\n  \"a\" : 1 ,\n  \"b\" : [ 1 , 2 ]\n}\n",
	`{"a":{"a":1},"a":2}`, `{"a":1,"\u0061":2}`, `["\ud800","\ud83d\ude00","é","\u00e9"]`,
	"\"\xff\"", `[1.0,1,1.50,12345678901234567890,0.1e-7]`,
	`{"spec":{"containers":[{"name":"a","args":["--x=1","","--y"]},{"name":"b"}]}}`,
	`[0123]`, `{"a" 1}`, `[1,]`, `{"a":1,}`, "\"\x01\"", `"\u12g4"`, `nul`, `tru`, `-`, `1.`, `1e`, `"abcdefg`, `"abcdefgh\`,
}

// compareDeferred checks that ParseDeferring accepts the same texts as Parse, and reads the same values.
func compareDeferred(t *testing.T, old []byte) {
	t.Helper()
	review := []byte(`{"request":{"oldObject":` + string(old) + `,"uid":"x"}}`)
	d, err := Parse(review)
	deferring, deferringErr := ParseDeferring(review, "oldObject")
	if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(deferringErr)); diff != "" {
		t.Fatalf("error differs (-Parse +ParseDeferring):\n%s", diff)
	}
	if err != nil {
		return
	}
	defer deferring.Release()
	find := func(d *Document) *Node { return d.Original().Find("request", "oldObject") }
	for name, got := range map[string]*Node{"document": find(deferring).Document().Original(), "node": find(deferring)} {
		if !bytes.Equal(got.Raw(), find(d).Raw()) {
			t.Errorf("%s: the text is %s, want %s", name, got.Raw(), find(d).Raw())
		}
		if diff := cmp.Diff(numbers(find(d)), numbers(got)); diff != "" {
			t.Errorf("%s: value differs (-Parse +ParseDeferring):\n%s", name, diff)
		}
	}
	if uid := deferring.Original().Find("request", "uid"); !uid.Is("x") {
		t.Errorf("the member behind the deferred one is %s", uid.Raw())
	}
}

// FuzzParse checks that Parse accepts the same texts as json.Valid, that nothing changes without edits, and that values
// are decoded alike.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		compareDeferred(t, raw)
		d, err := Parse(raw)
		if errors.Is(err, ErrTooDeep) {
			return
		}
		if valid := json.Valid(raw); valid != (err == nil) {
			t.Fatalf("json.Valid: %t, Parse: %v", valid, err)
		}
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("unexpected error: %v", err)
			}
			return
		}
		value := d.Root().Value()
		if !bytes.Equal(d.Bytes(), raw) || d.Patch() != nil || d.Changed() {
			t.Fatal("changed without an edit")
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, numbers(d.Root())); diff != "" {
			t.Fatalf("value differs (-want +got):\n%s", diff)
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again); err != nil {
			t.Fatal(err)
		}
		d.Release()
	})
}

// numbers decodes like Value, with every number as a json.Number.
func numbers(n *Node) any {
	switch n.Kind() {
	case Object:
		out := map[string]any{}
		for key, member := range n.Members() {
			out[key] = numbers(member)
		}
		return out
	case Array:
		out := []any{}
		for _, item := range n.Items() {
			out = append(out, numbers(item))
		}
		return out
	case Number:
		return json.Number(n.Raw())
	default:
		return n.Value()
	}
}

// FuzzEdit: the patch of a random script turns the original into Bytes; places that were not edited keep their bytes.
func FuzzEdit(f *testing.F) {
	for i, seed := range seeds {
		f.Add([]byte(seed), uint64(i), uint8(5))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, count uint8) {
		d, err := Parse(raw)
		if err != nil {
			return
		}
		s := script{Rand: rand.New(rand.NewPCG(seed, 1))}
		for range count % 24 {
			s.edit(t, d.Root())
		}
		walk(d.Root())
		walk(d.Original())
		if d.Err() != nil {
			return
		}
		result, patch := d.Bytes(), d.Patch()
		checkResult(t, raw, result, patch, d)
		checkUntouched(t, d.Root())
	})
}

func walk(n *Node) {
	n.Value()
}

func checkResult(t *testing.T, raw, result, patch []byte, d *Document) {
	t.Helper()
	if !json.Valid(result) {
		t.Fatalf("result is not valid: %s", result)
	}
	now, err := Parse(result)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers(now.Root()), numbers(d.Root())); diff != "" {
		t.Fatalf("tree and bytes differ:\n%s", diff)
	}
	if d.Changed() != (patch != nil) {
		t.Fatalf("changed is %t, patch is %s", d.Changed(), patch)
	}
	if patch == nil {
		if !bytes.Equal(raw, result) {
			t.Fatalf("no patch, but bytes differ: %s", result)
		}
		return
	}
	want, ok := oracle(t, raw, patch)
	if !ok {
		return
	}
	got, err := Parse(want)
	if err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	if diff := cmp.Diff(numbers(got.Root()), numbers(now.Root())); diff != "" {
		t.Fatalf("patch %s\nof %s\ngives another document (-patched +bytes):\n%s", patch, raw, diff)
	}
}

// oracle applies a patch with another implementation, which works on objects and arrays only.
func oracle(t *testing.T, raw, patch []byte) ([]byte, bool) {
	t.Helper()
	trimmed := bytes.TrimSpace(raw)
	if trimmed[0] != '{' && trimmed[0] != '[' {
		return nil, false
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("patch is not readable: %v\n%s", err, patch)
	}
	for _, o := range decoded {
		// The oracle does not know that an empty token is a key, nor that the root can be replaced.
		if path, _ := o.Path(); path == "" || strings.HasSuffix(path, "/") || strings.Contains(path, "//") {
			return nil, false
		}
	}
	options := jsonpatch.NewApplyOptions()
	options.EscapeHTML, options.SupportNegativeIndices = false, false
	out, err := decoded.ApplyWithOptions(trimmed, options)
	if err != nil {
		t.Fatalf("applying: %v\npatch %s\nto %s", err, patch, raw)
	}
	return out, true
}

// checkUntouched compares every place without an edit with the place where it came from.
func checkUntouched(t *testing.T, n *Node) {
	t.Helper()
	if !n.differs() {
		if text, at := n.origin(); text == n.doc.text && !bytes.Equal(text.bytesAt(at), n.appendTo(nil)) {
			t.Fatalf("bytes at %s changed without an edit", string(n.appendPointer(nil)))
		}
		return
	}
	for _, k := range n.kids {
		if !k.gone {
			checkUntouched(t, k)
		}
	}
}

// script makes random edits.
type script struct{ *rand.Rand }

var (
	someKeys   = []string{"a", "b", "c", "e~/f", "", "new", "é", "spec", "args"}
	someValues = []string{`1`, `"x"`, `null`, `{}`, `[]`, `{"a":1}`, `[1,2,3]`, ` [ 1 , {"b":2} ] `, `"\u0061"`, `true`, `1.0`, `[[1],2]`}
)

func (s script) value() []byte { return []byte(someValues[s.IntN(len(someValues))]) }

// place walks down at random.
func (s script) place(n *Node) *Node {
	for n.Len() > 0 && s.IntN(3) > 0 {
		if n.Kind() == Array {
			n = n.Items()[s.IntN(n.Len())]
			continue
		}
		skip := s.IntN(n.Len())
		for _, k := range n.Members() {
			if skip == 0 {
				n = k
				break
			}
			skip--
		}
	}
	return n
}

func (s script) edit(t *testing.T, root *Node) {
	n := s.place(root)
	check := func(err error) {
		if err != nil && !errors.Is(err, ErrDuplicateKey) {
			t.Fatalf("editing: %v", err)
		}
	}
	key := someKeys[s.IntN(len(someKeys))]
	switch s.IntN(12) {
	case 0, 1, 2:
		check(n.Replace(s.value()))
		return
	case 3:
		check(n.Replace(Quote(someKeys[s.IntN(len(someKeys))])))
		return
	}
	switch n.Kind() {
	case Object:
		s.editObject(n, key, check)
	case Array:
		s.editArray(n, check)
	}
}

func (s script) editObject(n *Node, key string, check func(error)) {
	for k := range n.Members() {
		if s.IntN(3) == 0 {
			key = k
			break
		}
	}
	switch s.IntN(4) {
	case 0:
		_, err := n.Set(key, s.value())
		check(err)
	case 1:
		n.Remove(key)
	case 2:
		if m := n.Get(key); m != nil {
			was := bytes.Clone(m.Raw())
			n.Remove(key)
			_, err := n.Set(key, was)
			check(err)
		}
	case 3:
		if _, err := n.Ensure(key, Array+Kind(s.IntN(2))); !errors.Is(err, ErrKind) {
			check(err)
		}
	}
}

func (s script) editArray(n *Node, check func(error)) {
	i := s.IntN(n.Len() + 1)
	switch s.IntN(4) {
	case 0:
		_, err := n.Insert(i, s.value())
		check(err)
	case 1:
		n.RemoveItem(i)
	case 2:
		_, err := n.Append(s.value())
		check(err)
	case 3:
		if item := n.Item(i); item != nil {
			was := bytes.Clone(item.Raw())
			n.RemoveItem(i)
			_, err := n.Insert(i, was)
			check(err)
		}
	}
}

// FuzzAgain checks that edits are idempotent.
func FuzzAgain(f *testing.F) {
	for i, seed := range seeds {
		f.Add([]byte(seed), uint64(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		run := func(raw []byte) *Document {
			d, err := Parse(raw)
			if err != nil || d.Root().Kind() != Object {
				return nil
			}
			s := script{Rand: rand.New(rand.NewPCG(seed, 2))}
			for _, key := range someKeys {
				switch s.IntN(4) {
				case 0:
					d.Root().Set(key, s.value())
				case 1:
					d.Root().Remove(key)
				case 2:
					if m, err := d.Root().Ensure(key, Object); err == nil {
						m.Set("in", s.value())
					}
				}
			}
			return d
		}
		d := run(raw)
		if d == nil || d.Err() != nil {
			return
		}
		result := d.Bytes()
		if patch := run(result).Patch(); patch != nil {
			t.Fatalf("second run gives %s", patch)
		}
	})
}

// FuzzSplice: replacing leaves changes exactly the bytes of these leaves.
func FuzzSplice(f *testing.F) {
	for i, seed := range seeds {
		f.Add([]byte(seed), uint64(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		d, err := Parse(raw)
		if err != nil {
			return
		}
		s := script{Rand: rand.New(rand.NewPCG(seed, 3))}
		var want strings.Builder
		from := uint32(0)
		var leaves func(n *Node)
		leaves = func(n *Node) {
			for _, k := range n.Items() {
				leaves(k)
			}
			for _, k := range n.Members() {
				leaves(k)
			}
			e := n.text.entries[n.at]
			if n.Len() > 0 || s.IntN(2) == 0 {
				return
			}
			// A number no other place holds, so that it is always an edit.
			want.Write(raw[from:e.start])
			want.WriteString("-7.25e-3")
			from = e.end
			if err := n.Replace([]byte("-7.25e-3")); err != nil {
				t.Fatal(err)
			}
		}
		leaves(d.Root())
		want.Write(raw[from:])
		if got := string(d.Bytes()); got != want.String() && d.Err() == nil {
			t.Fatalf("got %q, want %q", got, want.String())
		}
	})
}
