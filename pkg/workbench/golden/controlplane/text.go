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

// margin is the column of rule names. It is constant, so that a change does not move other lines.
const margin = 60

// sections writes the changes, with the name of the rule after the first of its lines if named is true. It omits line
// numbers of the profile, because they change with every line inserted above.
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

// lineDiff returns the differing lines of two states of an object, below their paths.
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
		// Failures have the sign first.
		if sign := line[2]; sign == '+' || sign == '-' {
			line = string(sign) + " " + line[3:]
		}
		out.WriteString(line)
	}
	return out.String()
}
