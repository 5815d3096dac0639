// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const page = "# Page\n\n```sh\nmake start\n```\n\n1. One:\n\n   ```yaml a/b.yaml\n   a: 1\n     b\n   " +
	"```\n````\n```\n````\n"

func TestBlocks(t *testing.T) {
	got, err := Blocks(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Language: "sh", Text: "make start\n", Line: 3},
		{Language: "yaml", File: "a/b.yaml", Text: "a: 1\n  b\n", Line: 9},
		{Text: "```\n", Line: 13},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Block{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	replaced := Replace(page, got, map[int]string{9: "c: 2\n\nd: 3\n"})
	if diff := cmp.Diff(strings.Replace(page, "   a: 1\n     b\n", "   c: 2\n\n   d: 3\n", 1), replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if _, err := Blocks("```sh\nmake"); err == nil {
		t.Error("no error for a block without an end, want one")
	}
}

func TestSteps(t *testing.T) {
	got, err := Steps("$ graft lint \\\n  a.yaml\na.yaml:1:1: no\n\nlast\n$ echo $?\n1\n$ cat <<EOF\n> x\n> EOF\nx\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Command: "graft lint \\\n  a.yaml\n", Shown: "$ graft lint \\\n  a.yaml\n",
			Want: "a.yaml:1:1: no\n\nlast\n", Status: true},
		{Command: "echo $?\n", Shown: "$ echo $?\n", Want: "1\n"},
		{Command: "cat <<EOF\nx\nEOF\n", Shown: "$ cat <<EOF\n> x\n> EOF\n", Want: "x\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Steps("graft lint\n"); err == nil {
		t.Error("no error for a block that begins with output, want one")
	}
}

func TestMatches(t *testing.T) {
	tests := map[string]struct {
		want, got string
		matches   bool
	}{
		"equal output matches":              {"a\nb\n", "a\nb\n", true},
		"no output matches no output":       {"", "", true},
		"output where none is expected":     {"", "a\n", false},
		"no output where some is expected":  {"a\n", "", false},
		"spaces at the end":                 {"a\n", "a  \n\n", true},
		"a different line":                  {"a\nb\n", "a\nc\n", false},
		"an additional line":                {"a\n", "a\nb\n", false},
		"lines left out":                    {"a\n…\nd\n", "a\nb\nc\nd\n", true},
		"no line left out":                  {"a\n…\nd\n", "a\nd\n", true},
		"lines left out at the end":         {"a\n…\n", "a\nb\nc\n", true},
		"a different last line":             {"a\n…\nd\n", "a\nb\nc\n", false},
		"part of a line left out":           {"ok …s\n", "ok 12 s\n", true},
		"a different part of a line":        {"ok … s\n", "no 12 s\n", false},
		"characters of regular expressions": {"a(b … c)\n", "a(b . c)\n", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Matches(test.want, test.got); got != test.matches {
				t.Errorf("got %t", got)
			}
			if updated := Update(test.want, test.got); !Matches(updated, test.got) {
				t.Errorf("the updated text does not match: %q", updated)
			}
		})
	}
}
