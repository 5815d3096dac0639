// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func TestScan(t *testing.T) {
	literal := func(text string) piece { return piece{text: text} }
	expression := func(text string, offset int) piece { return piece{text, true, offset} }
	for _, c := range []struct {
		text    string
		want    []piece
		problem string
	}{
		{text: ""},
		{text: "a", want: []piece{literal("a")}},
		{text: "${x}", want: []piece{expression("x", 2)}},
		{text: "a${x}b${y}", want: []piece{literal("a"), expression("x", 3), literal("b"), expression("y", 8)}},
		{text: "$${x}", want: []piece{literal("${x}")}},
		{text: "$$${x}", want: []piece{literal("$${x}")}},
		{text: "$$$${x}${y}", want: []piece{literal("$$${x}"), expression("y", 9)}},
		{text: "$x $ {} }", want: []piece{literal("$x $ {} }")}},
		{text: "${ {} }}", want: []piece{expression(" {} ", 2), literal("}")}},
		{text: `${'}'}`, want: []piece{expression(`'}'`, 2)}},
		{text: `${'\'}'}`, want: []piece{expression(`'\'}'`, 2)}},
		{text: `${r'\'}`, want: []piece{expression(`r'\'`, 2)}},
		{text: `${bR"\"}`, want: []piece{expression(`bR"\"`, 2)}},
		{text: `${br'\'}`, want: []piece{expression(`br'\'`, 2)}},
		{text: `${b'\'}'}`, want: []piece{expression(`b'\'}'`, 2)}},
		{text: `${xr'\'}'}`, want: []piece{expression(`xr'\'}'`, 2)}},
		{text: `${"""a"}"""}`, want: []piece{expression(`"""a"}"""`, 2)}},
		{text: "${'''\n}'''}", want: []piece{expression("'''\n}'''", 2)}},
		{text: "${a//}\n}", want: []piece{expression("a//}\n", 2)}},
		{text: "${a/b}", want: []piece{expression("a/b", 2)}},
		{text: "${''}", want: []piece{expression("''", 2)}},
		{text: "${a.`b`}", want: []piece{expression("a.`b`", 2)}},
		{text: "a${", problem: "1 the expression has no closing brace"},
		{text: "${{}", problem: "0 the expression has no closing brace"},
		{text: "${a//}", problem: "0 the expression has no closing brace"},
		{text: "${'a\n'}", problem: "2 the string in the expression has no end"},
		{text: `${"""a""}`, problem: "2 the string in the expression has no end"},
		{text: `${'\`, problem: "2 the string in the expression has no end"},
		{text: "a${ \n}", problem: "1 the expression is empty"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, problem := scan(c.text)
			text := ""
			if problem != nil {
				text = strings.Join([]string{string(rune('0' + problem.offset)), problem.message}, " ")
			}
			if text != c.problem {
				t.Errorf("got problem %q, want %q", text, c.problem)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(piece{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzScan checks that pieces, written again, are scanned to the same pieces, and that expressions are taken from the text as they are.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{"a${x}b", "$${a}$", `${"}"}${{}}`, "${r'\\'}", "${a//}\n}", `${"""}"""}`, "${`a`}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pieces, problem := scan(text)
		if problem != nil {
			if problem.offset < 0 || problem.offset > len(text) {
				t.Fatalf("offset %d is outside", problem.offset)
			}
			return
		}
		var again strings.Builder
		for i, p := range pieces {
			if !p.expression {
				if i > 0 && !pieces[i-1].expression {
					t.Fatal("two literals in a row")
				}
				again.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
				continue
			}
			if text[p.offset:p.offset+len(p.text)] != p.text {
				t.Fatal("the offset of the expression is wrong")
			}
			again.WriteString("${" + p.text + "}")
		}
		if again.String() != text {
			t.Fatalf("got %q, want %q", again.String(), text)
		}
	})
}

// FuzzTemplate checks that any text is compiled, or rejected at a position within it, and never causes a panic.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{benchmarked, "a${ shoot.nmae }", "${ [1].map(x, x / 0) }", "${ '\\", "${ shoot.?networking }", "${\n shot }", "${ namespace }"} {
		f.Add(seed)
	}
	env, vars := testEnvironment(f), testActivation(f)
	f.Fuzz(func(t *testing.T, text string) {
		template, err := env.Template(text, source.Position{File: "f", Line: 1, Column: 1})
		var findings source.Findings
		switch {
		case err == nil:
			_, _ = template.JSON(context.Background(), vars)
		case !errors.As(err, &findings):
			t.Fatalf("not findings: %v", err)
		default:
			for _, finding := range findings {
				if finding.Line < 1 || finding.Line > 1+strings.Count(text, "\n") || finding.Column < 1 {
					t.Fatalf("the place of %q is outside the text", finding.Error())
				}
			}
		}
	})
}
