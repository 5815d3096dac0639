// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import "testing"

func TestScreen(t *testing.T) {
	tests := map[string]struct{ written, want string }{
		"lines end with a line feed":            {"a\r\nb\r\n", "a\nb\n"},
		"long lines are wrapped":                {"0123456789abc", "0123456789\nabc\n"},
		"a carriage return overwrites the line": {"abc\rx", "xbc\n"},
		"progress lines are replaced":           {"\r\x1b[K 1 of 2\r\x1b[K 2 of 2\r\x1b[Kdone\r\n", "done\n"},
		"colours are shown as codes":            {"\x1b[1;31mred\x1b[0m b \x1b[2mdim\x1b[m\r\n", "⟨1;31⟩red⟨⟩ b ⟨2⟩dim⟨⟩\n"},
		"up and erase below":                    {"a\r\nb\r\nc\x1b[2A\r\x1b[Jx", "x\n"},
		"tabs and backspaces":                   {"\tx\by", "        y\n"},
		"runes in pieces":                       {"é…", "é…\n"},
		"the cursor moves":                      {"abcdef\x1b[3Dx\x1b[1Gy\x1b[1Cz", "ybzxef\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			screen := NewScreen(10)
			for i := range len(test.written) { // in single bytes, as they may come
				_, _ = screen.Write([]byte(test.written[i : i+1]))
			}
			if got := screen.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
