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

// FuzzRoom: texts that are read in the room of their document, and in the room that another document has left, become what
// they become alone.
func FuzzRoom(f *testing.F) {
	f.Add("[Service]\nExecStart=/k \\\n  # c\n  --a\nX=1\n", "a: 1\nb:\n- c\n", "a")
	f.Add("[Service]\nExecStart=/k --a=2 --b", "a: {b: 1}\n# c\nd: é\n", "e")
	f.Fuzz(func(t *testing.T, unit, config, name string) {
		if !utf8.ValidString(unit) {
			return
		}
		raw := fmt.Appendf(nil, `{"unit":%s,"file":{"encoding":"b64","data":%q},"left":[%s0]}`, Quote(unit),
			base64.StdEncoding.EncodeToString([]byte(config)), strings.Repeat("0,", 1<<11))
		u, unitErr := UnitOf(unit)
		var results []string
		for range 2 {
			d, err := Parse(raw)
			must(t, err)
			results = append(results, inRoom(t, d, unitErr, name))
			d.Release()
		}
		if unitErr == nil {
			editUnit(u, name)
			unit = u.Text()
		}
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

// editUnit edits a flag and an option; a unit that has none stays.
func editUnit(u *Unit, name string) {
	if c, err := u.Command("Service", "ExecStart"); err == nil {
		_ = c.Set(name, "1", "x y")
		_ = u.Add("Service", "Z", "2")
		_ = c.Remove("b")
	}
}

// inRoom makes the edits in a document, and returns it with its patch.
func inRoom(t *testing.T, d *Document, unitErr error, name string) string {
	t.Helper()
	u, err := UnitAt(d.Root().Get("unit"))
	if (err == nil) != (unitErr == nil) {
		t.Fatalf("unit: %v, alone %v", err, unitErr)
	}
	c, err := ContentOf(d.Root().Get("file"))
	must(t, err)
	if unitErr == nil {
		editUnit(u, name)
		must(t, d.Root().Get("unit").ReplaceText(u.Text()))
	}
	must(t, c.SetText(append(slices.Clone(c.Text()), name...)))
	return string(d.Bytes()) + string(d.Patch())
}
