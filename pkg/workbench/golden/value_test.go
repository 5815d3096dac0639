// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// node is a value that is written in YAML.
func node(t testing.TB, text string) source.Node {
	t.Helper()
	nodes, findings := source.Parse(source.File{Name: "a.yaml", Data: []byte(text)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	if len(nodes) == 0 {
		return source.Node{}
	}
	return nodes[0]
}

// TestCompare checks which values are equal, and the messages about different ones with their positions.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		mismatches      []string
	}{
		{"members that are not named", `{a: 1}`, `{a: 1, b: 2}`, nil},
		{"a member below", `{a: {b: 1, c: x}}`, `{a: {b: 2, c: x}}`, []string{"a.yaml:1:9 $.a.b: 1, 2"}},
		{"nothing that is there", `{a: null}`, `{a: 1}`, []string{"a.yaml:1:5 $.a: (absent), 1"}},
		{"nothing that is not there", `{a: null, b: null}`, `{b: null}`, nil},
		{"something that is not there", `{a: ""}`, `{}`, []string{`a.yaml:1:5 $.a: "", (absent)`}},
		{"a list is all of it", `[1]`, `[1, 2]`, []string{"a.yaml:1:1 $: [1], [1,2]"}},
		{"a list of another order", `[{a: 1, b: 2}]`, `[{b: 2, a: 1}]`, nil},
		{"a number and a text", `1`, `"1"`, []string{`a.yaml:1:1 $: 1, "1"`}},
		{"no mapping", `{a: 1}`, `[1]`, []string{`a.yaml:1:1 $: {"a":1}, [1]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range golden.Compare(node(t, c.want), golden.Plain(node(t, c.got)), "$") {
				got = append(got, m.At.Position().String()+" "+strings.Join(m.Keys, ".")+": "+m.Want+", "+m.Got)
			}
			if diff := cmp.Diff(c.mismatches, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJSON checks that a value is written unchanged: its numbers, and texts that look like numbers.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{b: [x, {}, []], "c\"": null}`: `{"b":["x",{},[]],"c\"":null}`,
		`9007199254740993`:              `9007199254740993`,
		`18446744073709551615`:          `18446744073709551615`,
		`1.5`:                           `1.5`,
		`"1"`:                           `"1"`,
		`2026-11-22`:                    `"2026-11-22"`,
		`true`:                          `true`,
		``:                              `null`,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := golden.JSON(node(t, text))
			if err != nil || string(got) != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		})
	}
}
