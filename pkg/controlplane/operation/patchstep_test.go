// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"
	"testing"
)

func FuzzParsePointer(f *testing.F) {
	for _, seed := range []string{"/spec/a~1b", "/a/0", "/a/-", "//", "/~0~1", "/~2", "", "a", "/a/00"} {
		f.Add(seed)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePointer(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, s := range p {
			again.WriteString("/" + escape.Replace(s.Key))
		}
		if again.String() != text {
			t.Fatalf("%q is read as %q", text, again.String())
		}
		if p.String() == "" {
			t.Fatalf("%q has no name", text)
		}
	})
}
