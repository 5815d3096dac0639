// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestOriginalText checks that the original text is returned after edits, and an empty text for missing values and other
// types.
func TestOriginalText(t *testing.T) {
	d, err := Parse([]byte(`{"a":{"b":"x","c\u0041":"y\n","d":1,"n":{"b":"no"}},"l":["x"]}`))
	must(t, err)
	_, err = d.Root().Get("a").Set("b", []byte(`"z"`))
	must(t, err)
	for path, want := range map[string]string{"a b": "x", "a cA": "y\n", "a d": "", "a": "", "a x": "", "l 0": "", "x y": "", "a b c": ""} {
		if got := d.OriginalText(strings.Fields(path)...); got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	if got := d.Root().Get("a").Get("n").Document().OriginalText("b"); got != "no" {
		t.Errorf("of a part: %q", got)
	}
	if got := (*Document)(nil).OriginalText("a"); got != "" {
		t.Errorf("OriginalText of a nil document = %q, want nothing", got)
	}
}

// TestDuplicateKeysAmongMany checks that a duplicate key is found anywhere, also with different escapes, and that
// similar keys are not confused.
func TestDuplicateKeysAmongMany(t *testing.T) {
	for _, many := range []int{0, 1, 5, 20, 60, 200} {
		var members []string
		for i := range many {
			members = append(members, fmt.Sprintf(`"%03dab":1`, i))
		}
		for name, test := range map[string]struct {
			more []string
			want bool
		}{
			"finds nothing in an object without keys": {nil, false},
			"finds nothing among similar keys":        {[]string{`"x00ab":1`, `"y00ab":1`, `"ab":1`, `"b":1`, `"":1`}, false},
			"finds a repeated key":                    {[]string{`"key":1`, `"key":2`}, true}, "finds a key repeated with an escape": {[]string{`"key":1`, `"k\u0065y":2`}, true},
			"finds a repeated key whose first one is escaped": {[]string{`"k\u0065y":1`, `"key":2`}, true},
			"finds a repeated empty key":                      {[]string{`"":1`, `"":2`}, true},
		} {
			d, err := Parse([]byte("{" + strings.Join(append(test.more, members...), ",") + "}"))
			must(t, err)
			d.Root().Get("x")
			if got := errors.Is(d.Err(), ErrDuplicateKey); got != test.want {
				t.Errorf("%s, with %d others: %t", name, many, got)
			}
		}
	}
}

// TestArenaBytesDoNotOverlap checks that the bytes of one arena do not overlap, and that the next arena holds them in
// one piece.
func TestArenaBytesDoNotOverlap(t *testing.T) {
	var s scratch
	for round := range 3 {
		var taken [][]byte
		for i := range 20 {
			b := s.take(100 + i)
			taken = append(taken, append(b, strings.Repeat(string(rune('a'+i)), cap(b))...))
		}
		for i, b := range taken {
			if string(b) != strings.Repeat(string(rune('a'+i)), 100+i) {
				t.Fatalf("round %d: piece %d was written over", round, i)
			}
		}
		pieces := s.total
		s.reset()
		if len(s.buffer) < pieces || s.taken != 0 || strings.Trim(string(s.buffer), "\x00") != "" {
			t.Errorf("round %d: %d bytes are left of %d, or not cleared", round, len(s.buffer), pieces)
		}
	}
	s.take(maxScratch + 1)
	s.reset()
	if len(s.buffer) > maxScratch+1 {
		t.Errorf("the scratch buffer has %d bytes, want at most maxScratch", len(s.buffer))
	}
}
