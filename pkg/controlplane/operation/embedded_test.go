// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TestEmbedded checks that edits of lists keep comments and the notation of numbers.
func TestEmbedded(t *testing.T) {
	for _, test := range []struct {
		name, format, before, after string
		edit                        func(e *embedded) error
	}{
		{"appends items and keeps comments", "yaml", "a: # x\n- 1.0 # one\n- b\n", "a: # x\n- 1.0 # one\n- b\n- c\n", func(e *embedded) error {
			return errors.Join(e.add(fieldPath{{Key: "a"}}, []byte(`"b"`)), e.add(fieldPath{{Key: "a"}}, []byte(`"c"`)))
		}},
		{"append an existing item", "yaml", "a: [1, b]\n", "a: [1, b]\n", func(e *embedded) error { return e.add(fieldPath{{Key: "a"}}, []byte(`"b"`)) }},
		{"creates a list when it appends", "yaml", "b: 1\n", "b: 1\na:\n  l:\n  - x\n", func(e *embedded) error {
			return e.add(fieldPath{{Key: "a"}, {Key: "l"}}, []byte(`"x"`))
		}},
		{"append in an item", "yaml", "a:\n- n: x # kept\n", "a:\n- n: x # kept\n  l:\n  - 1\n", func(e *embedded) error {
			return e.add(fieldPath{{Key: "a"}, {Key: "x", By: "n"}, {Key: "l"}}, []byte(`1`))
		}},
		{"remove an item", "yaml", "a:\n- n: x # gone\n- n: y # kept\n  z: 1.0\n", "a:\n- n: y # kept\n  z: 1.0\n", func(e *embedded) error {
			return e.set(fieldPath{{Key: "a"}, {Key: "x", By: "n"}}, Resolved{Absent: true})
		}},
		{"remove from no list", "yaml", "a: x\n", "a: x\n", func(e *embedded) error {
			return e.set(fieldPath{{Key: "a"}, {Key: "x", By: "n"}}, Resolved{Absent: true})
		}},
		{"removes a key that is set to null", "yaml", "a: x\nb: 1\n", "b: 1\n", func(e *embedded) error { return e.set(fieldPath{{Key: "a"}}, Resolved{JSON: []byte("null")}) }},
		{"appends to a list in JSON", "json", `{"l": [1.0, "b"]}`, `{"l": [1.0, "b", 1]}`, func(e *embedded) error { return e.add(fieldPath{{Key: "l"}}, []byte(`1`)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.before
			for range 2 {
				e, err := readEmbedded([]byte(got), test.format, func(text []byte) error { got = string(text); return nil })
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(test.edit(e), e.Flush()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.after, got); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
	for name, edit := range map[string]func(e *embedded) error{
		"append to a text": func(e *embedded) error { return e.add(fieldPath{{Key: "t"}}, []byte(`1`)) },
		"through a text": func(e *embedded) error {
			return e.set(fieldPath{{Key: "t"}, {Key: "x"}}, Resolved{JSON: []byte(`1`)})
		},
		"an item of a text": func(e *embedded) error {
			return e.set(fieldPath{{Key: "t"}, {Key: "x", By: "n"}}, Resolved{JSON: []byte(`{}`)})
		},
	} {
		for format, text := range map[string]string{"yaml": "t: x\nl: [1]\n", "json": `{"t":"x","l":[1]}`} {
			t.Run(name+" in "+format, func(t *testing.T) {
				e, err := readEmbedded([]byte(text), format, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := edit(e); !errors.Is(err, document.ErrKind) && !errors.Is(err, ErrValue) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
	for format, text := range map[string]string{"yaml": "- a\n", "json": `[1]`} {
		if _, err := readEmbedded([]byte(text), format, nil); err == nil {
			t.Errorf("a list is read as a document in %s", format)
		}
	}
}

// FuzzEmbedded checks that an item that is appended to any text is present, and is not appended again.
func FuzzEmbedded(f *testing.F) {
	for _, seed := range []string{"a:\n  l:\n  - 1.0 # x\n", "a: {l: [x]}\n", "a:\n  l:\n  - n: x\n    y: [1, {z: 2}]\n", "", "a: null\n", "a:\n  l: []\n", `{"a":{"l":[1e3]}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{"yaml", "json"} {
			var after []byte
			e, err := readEmbedded([]byte(text), format, func(text []byte) error { after = text; return nil })
			if err != nil {
				continue
			}
			path := fieldPath{{Key: "a"}, {Key: "l"}}
			if errors.Join(e.add(path, []byte(`{"n":"new"}`)), e.Flush()) != nil || after == nil {
				continue
			}
			again, err := readEmbedded(after, format, func(text []byte) error { t.Fatalf("%q became %q and then %q", text, after, text); return nil })
			if err != nil {
				t.Fatalf("%q became %q: %v", text, after, err)
			}
			if err := errors.Join(again.add(path, []byte(`{"n":"new"}`)), again.Flush()); err != nil {
				t.Fatalf("%q became %q: %v", text, after, err)
			}
		}
	})
}
