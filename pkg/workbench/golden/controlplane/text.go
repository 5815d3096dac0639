// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// margin is the column in which the names of rules stand. It depends on nothing, so that a change moves no other line.
const margin = 60

// sections writes what changed, with the name of the rule behind the first of its lines if it is asked for. It names no line of the
// profile, as those move when anything is written above them.
func sections(all []render.Section, named bool) string {
	var out strings.Builder
	for _, section := range all {
		where := section.Path
		if where == "" {
			where = "the object"
		}
		out.WriteString("  " + where + "\n")
		var last *render.Author
		for _, row := range section.Rows {
			if row.Gap {
				out.WriteString("    ⋮\n")
				last = nil
			}
			line := fmt.Sprintf("  %c %s%s", row.Op, strings.Repeat("  ", row.Indent), row.Line.Text)
			if row.Folded {
				line += " …"
			}
			if named && row.By != nil && (last == nil || *last != *row.By) {
				line += strings.Repeat(" ", max(2, margin-utf8.RuneCountInString(line))) + "# " + row.By.Rule
			}
			last = row.By
			out.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return out.String()
}

// lineDiff are the lines in which two states of an object differ, below their places.
func lineDiff(before, after []byte) string {
	lines, err := render.Text(before)
	if err != nil {
		return ""
	}
	now, err := render.Text(after)
	if err != nil {
		return ""
	}
	blame := render.NewBlame(lines)
	blame.Advance(render.Author{}, now)
	var out strings.Builder
	for line := range strings.Lines(sections(render.Sections(blame.Edits(), 1), false)) {
		// The sign stands first in failures.
		if sign := line[2]; sign == '+' || sign == '-' {
			line = string(sign) + " " + line[3:]
		}
		out.WriteString(line)
	}
	return out.String()
}
