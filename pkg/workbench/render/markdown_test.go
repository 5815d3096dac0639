// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// hostile are texts that mean something in Markdown or HTML.
const hostile = "``` </details> <script>alert(1)</script> @team #1 [x](http://x) | **b** `q` ~~~"

// TestMarkdownHolds checks that texts of objects, rules and reasons appear only in code: the rest of the comment
// contains none of them.
func TestMarkdownHolds(t *testing.T) {
	change, err := render.NewChange([]byte(fmt.Sprintf(`{"kind":"K","metadata":{"name":%q},"spec":{"text":"a"}}`, hostile)))
	if err != nil {
		t.Fatal(err)
	}
	rule := mutation.Applied{
		Profile: hostile, Rule: hostile, Outcome: mutation.Skipped, Reason: hostile + "\n# reason", Position: source.Position{File: hostile, Line: 1},
	}
	next := fmt.Sprintf(`{"kind":"K","metadata":{"name":%q},"spec":{"text":%q,%q:1}}`, hostile, hostile+"\n```\n# line\r```\r# return\n"+hostile, hostile)
	if err := change.Become(render.AuthorOf(rule), []byte(next)); err != nil {
		t.Fatal(err)
	}
	change.Applied, change.Denied = []mutation.Applied{rule}, errors.New(hostile+"\n```\n# denied")
	var out strings.Builder
	style := render.Style{Title: hostile, About: []render.Fact{{Name: hostile, Value: hostile}}}
	if err := style.Markdown(&out, change); err != nil {
		t.Fatal(err)
	}
	rest := withoutCode(out.String())
	for _, telltale := range []string{"script>alert", "</details> <", "@team", "#1", "](http", "# line", "# return", "# denied", "# reason"} {
		if strings.Contains(rest, telltale) {
			t.Errorf("%q stands outside of code:\n%s", telltale, rest)
		}
	}
	if opened, closed := strings.Count(rest, "<details>"), strings.Count(rest, "</details>"); opened != closed {
		t.Errorf("%d folds are opened and %d closed:\n%s", opened, closed, rest)
	}
}

// withoutCode takes blocks and spans of code out of a comment as CommonMark finds them.
func withoutCode(text string) string {
	var (
		out   strings.Builder
		fence string
		open  = regexp.MustCompile("^(?:> )?(`{3,})[a-z]*$")
	)
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		if fence != "" {
			if bare := strings.TrimPrefix(line, "> "); strings.Trim(bare, "`") == "" && len(bare) >= len(fence) {
				fence = ""
			}
			continue
		}
		if match := open.FindStringSubmatch(line); match != nil {
			fence = match[1]
			continue
		}
		out.WriteString(withoutSpans(line) + "\n")
	}
	return out.String()
}

func withoutSpans(line string) string {
	var out strings.Builder
	for line != "" {
		if line[0] == '\\' && len(line) > 1 {
			out.WriteString(line[:2])
			line = line[2:]
			continue
		}
		run := len(line) - len(strings.TrimLeft(line, "`"))
		if run == 0 {
			out.WriteByte(line[0])
			line = line[1:]
			continue
		}
		end := closing(line[run:], run)
		if end < 0 {
			out.WriteString(line[:run])
			line = line[run:]
			continue
		}
		line = line[run+end+run:]
	}
	return out.String()
}

// closing finds a run of exactly as many backticks.
func closing(text string, run int) int {
	for at := 0; at < len(text); {
		length := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if length == run {
			return at
		}
		at += max(1, length)
	}
	return -1
}

func TestMarkdownLimit(t *testing.T) {
	var changes []*render.Change
	for i := range 3 {
		change, err := render.NewChange([]byte(fmt.Sprintf(`{"kind":"K","metadata":{"name":"n%d"},"spec":{}}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		next := fmt.Sprintf(`{"kind":"K","metadata":{"name":"n%d"},"spec":{"a":%q}}`, i, strings.Repeat(fmt.Sprintf("line %d\n", i), 4000))
		if err := change.Become(render.Author{Rule: "r"}, []byte(next)); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change)
	}
	var out strings.Builder
	if err := (render.Style{}).Markdown(&out, changes...); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 65536 {
		t.Errorf("the comment has %d bytes", out.Len())
	}
	if want := "too long with the differences of `K n1`, `K n2`: "; !strings.Contains(out.String(), want) {
		t.Errorf("the comment does not say %q", want)
	}
}
