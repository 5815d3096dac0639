// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"errors"
	"testing"
)

// TestLiteral checks that a string literal from another document makes the same patch as its text.
func TestLiteral(t *testing.T) {
	for _, written := range []string{`""`, `"plain"`, `"a\nb \"c\" \\ \u00e9"`, `"é"`, `"\ud83d\ude00"`} {
		from, err := Parse([]byte(`{"a":` + written + `}`))
		if err != nil {
			t.Fatal(err)
		}
		taken, ok := from.Root().Get("a").Literal()
		if !ok || string(taken.Raw()) != written {
			t.Fatalf("Literal of %s = %s, %t, want the written text", written, taken.Raw(), ok)
		}
		kept := taken.Clone()
		from.Release()
		const object = `{"x":[{"b":"before"}]}`
		into, as := parse(t, object), parse(t, object)
		if err := into.Root().Get("x").Item(0).Get("b").ReplaceLiteral(kept); err != nil {
			t.Fatal(err)
		}
		if err := as.Root().Get("x").Item(0).Get("b").Replace([]byte(written)); err != nil {
			t.Fatal(err)
		}
		if got, want := into.Patch(), as.Patch(); !bytes.Equal(got, want) {
			t.Errorf("the patch is %s, and with the text %s", got, want)
		}
		if got, want := into.Bytes(), as.Bytes(); !bytes.Equal(got, want) || into.Edits() != as.Edits() {
			t.Errorf("%d edits make %s, and with the text %d make %s", into.Edits(), got, as.Edits(), want)
		}
	}
}

// TestSettingAnEqualStringIsNoEdit checks that setting an equal string is no edit, with any escapes.
func TestSettingAnEqualStringIsNoEdit(t *testing.T) {
	d := parse(t, `{"a":"x\u0041","b":"xA"}`)
	same, _ := d.Root().Get("b").Literal()
	if err := d.Root().Get("a").ReplaceLiteral(same); err != nil || d.Changed() || d.Edits() != 0 {
		t.Errorf("%d edits, error %v: %s", d.Edits(), err, d.Patch())
	}
}

func TestLiteralOfOtherKinds(t *testing.T) {
	d := parse(t, `{"number":1,"text":"x"}`)
	for _, n := range []*Node{nil, d.Root(), d.Root().Get("number")} {
		if l, ok := n.Literal(); ok || l.Raw() != nil {
			t.Errorf("a node of the kind %s has the literal %s, want none", n.Kind(), l.Raw())
		}
	}
	text, _ := d.Root().Get("text").Literal()
	if err := (*Node)(nil).ReplaceLiteral(text); !errors.Is(err, ErrKind) {
		t.Errorf("want ErrKind for a nil node, got %v", err)
	}
	if err := d.Root().Get("text").ReplaceLiteral(Literal{}); !errors.Is(err, ErrKind) {
		t.Errorf("want ErrKind for an empty literal, got %v", err)
	}
	if err := d.Original().Get("text").ReplaceLiteral(text); !errors.Is(err, ErrReadOnly) {
		t.Errorf("the original is edited: %v", err)
	}
}
