// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"testing"
)

// TestYAMLLine: an edit of one line leaves the index that the whole text has, whether or not the rest had to be read again.
func TestYAMLLine(t *testing.T) {
	const text = "a: 1\nb:\n  c: 'x' # why\n  d: \"y\"\n\n# below\ne:\n- f: g\n  h: i j\n- k\nl: {m: n}\no: |\n  p\nq: r"
	cases := []struct {
		path, value string
		alone       bool // the line alone is read
	}{
		{"a", `"longer than before"`, true}, {"a", `"a: b"`, true}, {"a", `"# no comment"`, false}, {"a", `"two\nlines"`, true},
		{"a", `null`, true}, {"a", `{}`, false}, {"a", `[1]`, false}, {"a", `""`, true}, {"a", `"é"`, true}, {"a", `"- x"`, true},
		{"b.c", `true`, true}, {"b.d", `"x"`, true}, {"q", `"last"`, true}, {"l.m", `"o"`, false}, {"o", `"x"`, false}, {"new", `1`, false},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.path, "=", c.value), func(t *testing.T) {
			y := yamlOf(t, text)
			want := c.value
			path := []string{c.path}
			if len(c.path) == 3 {
				path = []string{c.path[:1], c.path[2:]}
			}
			must(t, y.Set([]byte(want), path...))
			if y.Edits() != 1 {
				t.Fatalf("%d edits", y.Edits())
			}
			sameIndex(t, y)
			before := yamlOf(t, text)
			e := &yamlEdit{YAML: before}
			at, rest := before.walk(path)
			if len(rest) > 0 {
				return
			}
			e.assign(at, parse(t, want).Root(), false)
			alone := false
			if len(e.splices) == 1 {
				_, alone = before.rescanLine(spliced(text, e.splices), e.splices[0])
			}
			if alone != c.alone {
				t.Errorf("read alone: %t", alone)
			}
		})
	}
}
