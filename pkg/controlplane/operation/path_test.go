// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TestPathMerge checks that a path creates missing parents, and finds items by text and by number.
func TestPathMerge(t *testing.T) {
	for _, test := range []struct{ name, path, before, value, after string }{
		{"creates missing parents", "a.b[n=x].c", `{}`, `1`, `{"a":{"b":[{"n":"x","c":1}]}}`},
		{"matches an item by a number", "a[n=1].c", `{"a":[]}`, `1`, `{"a":[{"n":1,"c":1}]}`},
		{"number as text", `a[n="1"].c`, `{"a":[]}`, `1`, `{"a":[{"n":"1","c":1}]}`},
		{"matches an item by a text of digits", `a[n=01].c`, `{"a":[]}`, `1`, `{"a":[{"n":"01","c":1}]}`},
		{"found by number", `a[n="1"].c`, `{"a":[{"n":1}]}`, `1`, `{"a":[{"n":1,"c":1}]}`},
		{"a whole item", `a[n=x]`, `{"a":[{"n":"y"},{"n":"x","b":1}]}`, `{"c":2}`, `{"a":[{"n":"y"},{"n":"x","b":1,"c":2}]}`},
		{"null on the way", "a.b", `{"a":null}`, `{}`, `{"a":{"b":{}}}`},
		{"removes a field that is set to null", "a.b", `{"a":{"b":1}}`, `null`, `{"a":{}}`},
		{"creates no parents for null", "a.b.c", `{}`, `null`, `{}`},
		{"keeps a quantity of equal value", "r.requests.cpu", `{"r":{"requests":{"cpu":"1"}}}`, `"1000m"`, `{"r":{"requests":{"cpu":"1"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, p := parsed(t, test.before), mustPath(t, test.path)
			for range 2 {
				if err := p.merge(d.Root(), []byte(test.value)); err != nil {
					t.Fatal(err)
				}
				if got := string(d.Bytes()); got != test.after {
					t.Fatalf("became %s", got)
				}
			}
		})
	}
	for name, path := range map[string]string{"through a scalar": "a.b", "an item that is not an object": "l[n=x]", "a list that is none": "a[n=x].c"} {
		t.Run(name, func(t *testing.T) {
			if err := mustPath(t, path).merge(parsed(t, `{"a":1,"l":[]}`).Root(), []byte(`1`)); err == nil {
				t.Error("no error, want one")
			}
		})
	}
}

func TestPathRemove(t *testing.T) {
	d := parsed(t, `{"a":{"b":1},"l":[{"n":"x"},{"n":"y"},{"n":"x"},3],"m":1}`)
	for _, path := range []string{"a.b", "l[n=x]", "m.n", "absent.x[n=1].y"} {
		mustPath(t, path).remove(d.Root())
	}
	if got := string(d.Bytes()); got != `{"a":{},"l":[{"n":"y"},3],"m":1}` {
		t.Errorf("became %s", got)
	}
}

func FuzzPathMerge(f *testing.F) {
	for _, seed := range []string{"spec.a", `data["a.b"].c`, "l[name=x].y", `l[n="\"]"]`, "a[0]", "a[", "a..b", `a["`, "a[b=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePath(text)
		if err != nil {
			return
		}
		d, err := document.Parse([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.merge(d.Root(), []byte(`{}`)); err != nil {
			t.Fatalf("%q cannot be made: %v", p, err)
		}
		if p.find(d.Root()) == nil {
			t.Fatalf("%q is not found in %s", p, d.Bytes())
		}
		edits := d.Edits()
		if err := p.merge(d.Root(), []byte(`{}`)); err != nil || d.Edits() != edits {
			t.Fatalf("%q is written twice: %v, %s", p, err, d.Bytes())
		}
	})
}

func mustPath(t *testing.T, text string) fieldPath {
	t.Helper()
	p, err := parsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parsed(t *testing.T, text string) *document.Document {
	t.Helper()
	d, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
