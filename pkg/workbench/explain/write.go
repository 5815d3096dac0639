// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

const (
	// longest is how many characters of a value are shown, and mostLines how many lines of a step.
	longest   = 160
	mostLines = 12
	// shortValue is the maximum length of a structure that is written next to its lines.
	shortValue = 40
	// failed is the outcome of a rule that could not be computed or applied.
	failed = "failed"
)

// writeObject writes the effects of rules on an object as text.
func (s Style) writeObject(w io.Writer, o *Object) error {
	s = s.withDefaults()
	var out strings.Builder
	head := o.Object.String()
	if o.About != "" {
		head = o.About + " of " + head
	}
	out.WriteString(s.hang(s.paint(colour.Title, head), 2, ""))
	switch {
	case o.Note != "":
		out.WriteString(s.hang("  ", 2, o.Note))
	default:
		out.WriteString(s.hang("  ", 2, o.summary()))
	}
	if o.Denied != "" {
		out.WriteString(s.hang("  "+s.paint(colour.Alarm, "denied")+"  ", 10, s.short(o, o.Denied)))
	}
	for _, missing := range o.Missing {
		out.WriteString(s.hang("  "+s.paint(colour.Alarm, "missing")+"  ", 11, "lookup "+missing.Name+" of profile "+missing.Profile+": "+missing.Reason))
	}
	if o.About != "" && len(o.Rules) > 0 {
		s.state(&out, "before any rule", o.Before)
	}
	for i := range o.Rules {
		out.WriteByte('\n')
		s.rule(&out, o, i)
	}
	if o.About != "" {
		s.state(&out, "in the end", o.After)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summary counts the rules by their outcomes.
func (o *Object) summary() string {
	if o.About != "" {
		return o.aboutSummary()
	}
	text := count(len(o.Rules), "rule is", "rules are") + " for it"
	var parts []string
	for _, of := range []struct{ outcome, what string }{
		{string(mutation.Changed), "changed it"}, {string(mutation.Unchanged), "already so"}, {string(mutation.Skipped), "skipped"},
		{string(mutation.Overridden), "overridden"}, {string(mutation.Observed), "observed"}, {failed, "failed"}, {string(mutation.Denied), "denied it"},
		{"", "would apply"},
	} {
		if n := o.count(of.outcome); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.what))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if o.Elsewhere > 0 {
		text += "; " + count(o.Elsewhere, "rule is", "rules are") + " for other objects"
	}
	return text
}

func (o *Object) aboutSummary() string {
	switch {
	case len(o.Rules) == 0 && len(o.Before) > 0:
		return "no rule writes it: it stays as it came"
	case len(o.Rules) == 0:
		return "no rule writes it"
	}
	return count(len(o.Rules), "rule has", "rules have") + " to do with it"
}

func (o *Object) count(outcome string) int {
	n := 0
	for i := range o.Rules {
		if o.Rules[i].Outcome == outcome {
			n++
		}
	}
	return n
}

func count(n int, one, several string) string {
	switch n {
	case 0:
		return "no " + one
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// state writes lines of the object as they are at one time.
func (s Style) state(out *strings.Builder, when string, lines []Line) {
	out.WriteString("\n" + s.paint(colour.Heading, when) + "\n")
	if len(lines) == 0 {
		out.WriteString("  " + s.paint(colour.Dim, "nothing") + "\n")
	}
	last, least := "", 0
	for i, l := range lines {
		if i == mostLines {
			out.WriteString("    " + s.paint(colour.Dim, "… "+count(len(lines)-i, "more line", "more lines")) + "\n")
			break
		}
		if place := parent(l.Path); i == 0 || !inside(place, last) {
			out.WriteString("  " + s.paint(colour.Dim, place) + "\n")
			last, least = place, l.depth
		}
		out.WriteString("    " + s.fit(strings.Repeat("  ", max(0, l.depth-least))+l.Text, 4) + "\n")
	}
}

// parent returns the path of a line without the flag at its end.
func parent(path string) string {
	if i := strings.LastIndex(path, "["); i >= 0 && strings.HasPrefix(path[i:], "[-") {
		return path[:i]
	}
	return path
}
