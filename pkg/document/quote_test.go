// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"testing"
)

// FuzzSameUnquoted compares comparison without decoding with comparison of decoded texts, and the decoding with
// encoding/json.
func FuzzSameUnquoted(f *testing.F) {
	for _, pair := range [][2]string{
		{``, ``},
		{`a`, `ab`},
		{`a\nb`, `a\nc`},
		{`a\nb`, `a\u000ab`},
		{`\u00e9`, `\u00E9`},
		{`\u00e9`, "é"},
		{`\u0041x`, `\u0042x`},
		{`\/`, `/`},
		{`\ud83d\ude00`, "😀"},
		{`\ud83d\ude00`, `\ud83dx`},
		{`\ud83d\ude00`, `\ud83d\u0041`},
		{`\ud83dx`, `\ud83dy`},
		{"\xff", "\xfe"},
		{"\xc3", "\xc3\xa9"},
		{"\xc3x", "\xc3y"},
		{"\xe2\x82", "\xe2"},
		{`\u003ca\u003e`, `<a>`},
		{`\\u0041`, `\\u0042`},
		{`a\`, `a`},
		{`0123456789\nabc`, `0123456789\tabc`},
		{`0123456\\nabc`, `0123456\\tabc`},
		{`012345\u000aabc`, `012345\u000babc`},
		{`012345\\u000aabc`, `012345\\u000babc`},
		{`0123456789\u000aabc`, `0123456789\nabc`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var want [2]string
		for i, body := range []string{a, b} {
			raw := []byte(`"` + body + `"`)
			if json.Unmarshal(raw, &want[i]) != nil {
				return
			}
			if got := unquote(raw[1 : len(raw)-1]); got != want[i] {
				t.Errorf("%q is decoded to %q, not to %q", body, got, want[i])
			}
		}
		if got := sameUnquoted([]byte(a), []byte(b)); got != (want[0] == want[1]) {
			t.Errorf("%q and %q are the same: %t", a, b, got)
		}
	})
}
