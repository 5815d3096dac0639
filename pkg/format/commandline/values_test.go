// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMapValue(t *testing.T) {
	set := func(key, value string) func(MapValue) (MapValue, error) {
		return func(m MapValue) (MapValue, error) { return m.Set(key, value) }
	}
	remove := func(key string) func(MapValue) (MapValue, error) {
		return func(m MapValue) (MapValue, error) { return m.Remove(key) }
	}
	tests := []struct {
		name string
		in   MapValue
		edit func(MapValue) (MapValue, error)
		want MapValue
		err  error
	}{
		{"adds to an empty value", "", set("A", "true"), "A=true", nil},
		{"appends a new key", "A=true", set("B", "false"), "A=true,B=false", nil},
		{"appended after a comma", "A=true,", set("B", "false"), "A=true,B=false", nil},
		{"replaces a value in place", "A=true,B=true,C=true", set("B", "false"), "A=true,B=false,C=true", nil},
		{"keeps the spelling of an equal value", " A = true ,,B=true", set("A", "true"), " A = true ,,B=true", nil},
		{"other entries stay unchanged", " A = true ,,B=true", set("B", "false"), " A = true ,,B=false", nil},
		{"replaces duplicates by one entry", "A=false,B=1,A=true", set("A", "x"), "A=x,B=1", nil},
		{"duplicates with an equal last value", "A=false,B=1,A=true", set("A", "true"), "A=false,B=1,A=true", nil},
		{"duplicates with an equal first value", "A=true,B=1,A=false", set("A", "true"), "A=true,B=1", nil},
		{"duplicates of other entries stay", "A=1,A=2,B=1", set("B", "2"), "A=1,A=2,B=2", nil},
		{"values may hold =", "a=b=c", set("a", "d=e"), "a=d=e", nil},
		{"sets an empty value", "a=b", set("a", ""), "a=", nil},
		{"removes all entries of a key", "A=1,B=2,A=3", remove("A"), "B=2", nil},
		{"removes the last entry", "A=1", remove("A"), "", nil},
		{"keeps a value without the key", "A=1,,", remove("B"), "A=1,,", nil},
		{"rejects an entry without an equals sign", "A=1,B", set("A", "2"), "A=1,B", ErrMalformed},
		{"malformed entry on removal", "=1", remove("A"), "=1", ErrMalformed},
		{"key that cannot stand", "A=1", set("B=C", "2"), "A=1", ErrMalformed},
		{"value that cannot stand", "A=1", set("B", "1,2"), "A=1", ErrMalformed},
		{"rejects an empty key", "A=1", set("", "1"), "A=1", ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.edit(test.in)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.err)
			}
			if again, err := test.edit(got); again != got || !errors.Is(err, test.err) {
				t.Errorf("again %q, %v", again, err)
			}
		})
	}
	if value, ok := MapValue("A=1, A = 2").Get("A"); !ok || value != "2" {
		t.Errorf("got %q, %t", value, ok)
	}
}

func TestListValue(t *testing.T) {
	add := func(items ...string) func(ListValue) ListValue {
		return func(l ListValue) ListValue { return l.Add(items...) }
	}
	remove := func(items ...string) func(ListValue) ListValue {
		return func(l ListValue) ListValue { return l.Remove(items...) }
	}
	tests := []struct {
		name string
		in   ListValue
		edit func(ListValue) ListValue
		want ListValue
	}{
		{"adds to an empty list", "", add("A"), "A"},
		{"appends new items only", "A,B", add("C", "A", "D"), "A,B,C,D"},
		{"splits an item with commas", "A", add("B,A,C"), "A,B,C"},
		{"keeps a list that has all items", " A ,,B", add("B", "A"), " A ,,B"},
		{"removes all occurrences of an item", "A, B ,C,B", remove("B", "D"), "A,C"},
		{"keeps a list without the item", "A,,", remove("B", ""), "A,,"},
		{"removes the only item", "A", remove("A"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.edit(test.in)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := test.edit(got); again != got {
				t.Errorf("again %q", again)
			}
		})
	}
}
