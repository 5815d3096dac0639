// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzArena checks that texts have the same result in the arena of their document, in a reused arena, and alone.
func FuzzArena(f *testing.F) {
	f.Add("[Service]\nExecStart=/k \\\n  # c\n  --a\nX=1\n", "a: 1\nb:\n- c\n", "a")
	f.Add("[Service]\nExecStart=/k --a=2 --b", "a: {b: 1}\n# c\nd: é\n", "e")
	f.Fuzz(func(t *testing.T, unit, config, name string) {
		if !utf8.ValidString(unit) || !utf8.ValidString(name) {
			return
		}
		raw := fmt.Appendf(nil, `{"unit":%s,"file":{"encoding":"b64","data":%q},"left":[%s0]}`, Quote(unit),
			base64.StdEncoding.EncodeToString([]byte(config)), strings.Repeat("0,", 1<<11))
		var results []string
		for range 2 {
			d, err := Parse(raw)
			must(t, err)
			results = append(results, inArena(t, d, name))
			d.Release()
		}
		unit += name
		config += name
		d, err := Parse(raw)
		must(t, err)
		must(t, d.Root().Get("unit").Replace(Quote(unit)))
		if name != "" {
			must(t, d.Root().Find("file", "data").Replace(Quote(base64.StdEncoding.EncodeToString([]byte(config)))))
		}
		if want := string(d.Bytes()) + string(d.Patch()); slices.ContainsFunc(results, func(got string) bool { return got != want }) {
			t.Fatalf("got %.500q, want %.500q", results, want)
		}
	})
}

// inArena makes the edits in a document, and returns it with its patch.
func inArena(t *testing.T, d *Document, name string) string {
	t.Helper()
	unit, _ := d.Root().Get("unit").Text()
	must(t, d.Root().Get("unit").Replace(Quote(unit+name)))
	c, err := ContentOf(d.Root().Get("file"))
	must(t, err)
	must(t, c.SetText(append(slices.Clone(c.Text()), name...)))
	return string(d.Bytes()) + string(d.Patch())
}
