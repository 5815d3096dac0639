// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
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

// TestDifferences checks which values are equal, and the messages about different ones.
func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		mismatches      []golden.Mismatch
	}{
		{"members that are not named", `{a: 1}`, `{a: 1, b: 2}`, nil},
		{"a member below", `{a: {b: 1, c: x}}`, `{a: {b: 2, c: x}}`, []golden.Mismatch{{Path: "$.a.b", Want: "1", Got: "2"}}},
		{"nothing that is there", `{a: null}`, `{a: 1}`, []golden.Mismatch{{Path: "$.a", Want: golden.Absent, Got: "1"}}},
		{"nothing that is not there", `{a: null, b: null}`, `{b: null}`, nil},
		{"something that is not there", `{a: ""}`, `{}`, []golden.Mismatch{{Path: "$.a", Want: `""`, Got: golden.Absent}}},
		{"a list is all of it", `[1]`, `[1, 2]`, []golden.Mismatch{{Path: "$", Want: "[1]", Got: "[1,2]"}}},
		{"a list of another order", `[{a: 1, b: 2}]`, `[{b: 2, a: 1}]`, nil},
		{"a number and a text", `1`, `"1"`, []golden.Mismatch{{Path: "$", Want: "1", Got: `"1"`}}},
		{"no mapping", `{a: 1}`, `[1]`, []golden.Mismatch{{Path: "$", Want: `{"a":1}`, Got: "[1]"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := golden.Differences("$", golden.Plain(node(t, c.want)), golden.Plain(node(t, c.got)))
			if diff := cmp.Diff(c.mismatches, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJSON checks that a value is written unchanged: its order, its numbers, and texts that look like numbers.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{b: 1, a: [x, {}, []], "c\"": null}`: `{"b":1,"a":["x",{},[]],"c\"":null}`,
		`9007199254740993`:                    `9007199254740993`,
		`18446744073709551615`:                `18446744073709551615`,
		`1.5`:                                 `1.5`,
		`"1"`:                                 `"1"`,
		`2026-11-22`:                          `"2026-11-22"`,
		`true`:                                `true`,
		``:                                    `null`,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := golden.JSON(node(t, text))
			if err != nil || string(got) != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		})
	}
}
