// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// lineOf makes a container of two texts with one element a line.
func lineOf(t *testing.T, command, args string) (*document.Document, *CommandLine) {
	t.Helper()
	raw, err := json.Marshal(map[string][]string{"command": strings.Split(command, "\n"), "args": strings.Split(args, "\n")})
	must(t, err)
	d := parse(t, string(raw))
	c, err := CommandLineOf(d.Root())
	if err != nil {
		return nil, nil
	}
	return d, c
}

// others are the tokens that belong to no flag, byte for byte.
func others(c *CommandLine, name string) []string {
	skip := map[int]bool{}
	for _, f := range c.Flags {
		if f.Name == Normalize(name) {
			skip[f.At] = true
			skip[f.At+1] = skip[f.At+1] || f.Form == Spaced
		}
	}
	out := []string{}
	for i, token := range c.Tokens {
		if !skip[i] {
			out = append(out, string(c.container.Get(lists[token.list]).Item(int(token.Index)).Raw()))
		}
	}
	return out
}

// FuzzCommandLine checks that Set changes only the given flag, that a second Set is no edit, and that Remove leaves
// exactly the other elements.
func FuzzCommandLine(f *testing.F) {
	f.Add("kube-scheduler\n--a=1\n\n--b", "--a\n2\n--c", "a", "3\n4")
	f.Add("x\n--a=1\n--a=2\n--a=3", "--", "a", "1\n3")
	f.Add("tini\n--\nx", "--a\n-1\nstray", "a", "-5")
	f.Add("x", "-a\n\n--b_c=é", "b-c", "")
	f.Fuzz(func(t *testing.T, command, args, name, values string) {
		d, c := lineOf(t, command, args)
		if c == nil {
			return
		}
		wanted := strings.Split(values, "\n")
		before, rest := d.Bytes(), others(c, name)
		if err := c.Set(name, wanted...); err != nil {
			if !errors.Is(err, ErrFlag) && !errors.Is(err, ErrAmbiguous) || d.Changed() || &before[0] != &d.Bytes()[0] {
				t.Fatalf("error %v left %s", err, d.Bytes())
			}
			return
		}
		checkTokens(t, c)
		if diff := cmp.Diff(wanted, c.Values(name)); diff != "" {
			t.Fatalf("values (-set +got):\n%s", diff)
		}
		if diff := cmp.Diff(rest, others(c, name)); diff != "" {
			t.Fatalf("others changed:\n%s", diff)
		}
		after := parse(t, string(d.Bytes()))
		again, err := CommandLineOf(after.Root())
		must(t, err)
		must(t, again.Set(name, wanted...))
		if after.Changed() {
			t.Fatalf("second run gives %s", after.Patch())
		}
		if err := again.Remove(name); err == nil && !slices.Equal(rest, others(again, name)) {
			t.Fatalf("removal left %s", after.Bytes())
		} else if err == nil && again.Has(name) {
			t.Fatal("the flag is still there after its removal")
		}
	})
}

// FuzzKeyed checks that a set entry is effective, that other entries stay, and that a second edit returns its input.
func FuzzKeyed(f *testing.F) {
	f.Add("A=true,B=false,A=x", "A", "true")
	f.Add(" A = 1 ,, B=2,", "C", "")
	f.Add(",", "A", "1")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		checkList(t, ListValue(text), key)
		m := MapValue(text)
		got, err := m.Set(key, value)
		if err != nil {
			if got != m {
				t.Fatalf("error %v changed %q to %q", err, text, got)
			}
			return
		}
		if now, ok := got.Get(key); !ok || now != value {
			t.Fatalf("%q holds %q", got, now)
		}
		if again, err := got.Set(key, value); err != nil || again != got {
			t.Fatalf("second edit of %q gives %q, %v", got, again, err)
		}
		removed, err := got.Remove(key)
		if _, ok := removed.Get(key); ok || err != nil {
			t.Fatalf("%q holds %q, %v", removed, key, err)
		}
		for k := range m.Entries() {
			was, _ := m.Get(k)
			if now, ok := removed.Get(k); k != key && (!ok || now != was) {
				t.Fatalf("%q lost %q", removed, k)
			}
		}
	})
}

func checkList(t *testing.T, l ListValue, item string) {
	t.Helper()
	added := l.Add(item)
	for _, part := range ListValue(item).Items() {
		if !added.Has(part) || added.Remove(item).Has(part) {
			t.Fatalf("adding or removing an item of %q gives a wrong result for %q", added, part)
		}
	}
	were := l.Items()
	if added.Add(item) != added || !slices.Equal(added.Items()[:len(were)], were) {
		t.Fatalf("%q became %q", l, added)
	}
}
