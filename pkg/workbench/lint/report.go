// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The colours of a report.
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	faint  = "\x1b[2m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

func (s Style) paint(colour, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return colour + text + plain
}

func (s Style) severity(of source.Severity) string {
	if of == source.Warning {
		return s.paint(yellow, of.String())
	}
	return s.paint(red, of.String())
}

// writeText writes each finding with its line, the place underlined, and a summary.
func (r *Report) writeText(w io.Writer, style Style) error {
	var out strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%s: %s: %s%s\n", style.paint(bold, f.Position.String()), style.severity(f.Severity), sentence(f), style.paint(faint, tag(f.Rule)))
		if t := r.texts[f.File]; t != nil && f.Line > 0 {
			out.WriteString(t.excerpt(f, style))
		}
	}
	if len(r.Findings) > 0 {
		out.WriteString("\n")
	}
	out.WriteString(r.summary())
	if left := r.Left(); left != "" {
		out.WriteString(left + "\n")
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// excerpt returns the line of a finding with its place underlined, and the effect of a fix.
func (t *text) excerpt(f source.Finding, style Style) string {
	begin, end := t.span(f.Position)
	line, begin, end := cut([]rune(strings.ReplaceAll(t.line(f.Line), "\t", " ")), begin, end, style.Width)
	number := fmt.Sprint(f.Line)
	if f.Rule == source.NotYAML && f.Column == 0 {
		// The parser names the line before the one that it could not read, or that line.
		if f.Line == len(t.starts) {
			return fmt.Sprintf("  %s %s\n", style.paint(faint, number+" |"), line)
		}
		next, _, _ := cut([]rune(strings.ReplaceAll(t.line(f.Line+1), "\t", " ")), 1, 1, style.Width)
		return fmt.Sprintf("  %s %s\n  %s %s\n", style.paint(faint, number+" |"), line, style.paint(faint, fmt.Sprint(f.Line+1)+" |"), next)
	}
	margin := strings.Repeat(" ", len(number))
	colour := red
	if f.Severity == source.Warning {
		colour = yellow
	}
	mark := strings.Repeat(" ", begin-1) + style.paint(colour, strings.Repeat("^", max(end-begin, 1)))
	if f.Fix != nil {
		mark += " " + style.paint(green, "fix: "+describe(f.Fix))
	}
	return fmt.Sprintf("  %s %s\n  %s %s\n", style.paint(faint, number+" |"), line, style.paint(faint, margin+" |"), mark)
}

// cut shortens a long line to the surroundings of the columns, and returns the new columns.
func cut(line []rune, begin, end, width int) (shown string, from, to int) {
	const margin, most, ellipsis = 12, 120, "…"
	if width -= margin; width < 2*margin {
		width = most
	}
	if len(line) <= width {
		return string(line), begin, end
	}
	first := min(max(begin-1-width/3, 0), len(line)-width)
	last := first + width
	shown = string(line[first:last])
	if last < len(line) {
		shown += ellipsis
	}
	begin, end = begin-first, min(end-first, width+1)
	if first > 0 {
		shown, begin, end = ellipsis+shown, begin+1, end+1
	}
	return shown, begin, end
}

// summary returns the number of findings and a reference to their documentation.
func (r *Report) summary() string {
	checked := count(r.Files, "file")
	if r.Documents > 0 {
		checked = count(r.Documents, "document") + " in " + checked
	}
	if len(r.Findings) == 0 {
		return fmt.Sprintf("nothing wrong with %s\n", checked)
	}
	var found []string
	for _, severity := range []source.Severity{source.Error, source.Warning} {
		if n := r.Count(severity); n > 0 {
			found = append(found, count(n, severity.String()))
		}
	}
	out := strings.Join(found, " and ") + " in " + checked
	if fixable := r.Fixable(); fixable > 0 {
		out += fmt.Sprintf("; %d fixable with --fix", fixable)
	}
	if rules := r.rules(); len(rules) > 0 {
		out += fmt.Sprintf("; `graft lint --explain %s` says more", rules[0])
		if len(rules) > 1 {
			out += ", as of each rule"
		}
	}
	return out + "\n"
}

// Left returns one line about ignored files of folders with the reason, or an empty string.
func (r *Report) Left() string {
	const most = 3
	var reasons []string
	for _, reason := range []string{notNamedYAML, notOurs} {
		names := r.LeftOut[reason]
		if len(names) == 0 {
			continue
		}
		shown := strings.Join(names[:min(most, len(names))], ", ")
		if more := len(names) - most; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		reasons = append(reasons, shown+" ("+reason+")")
	}
	if len(reasons) == 0 {
		return ""
	}
	return "left out: " + strings.Join(reasons, "; ")
}

// rules returns the rules of the findings in their order.
func (r *Report) rules() []source.Rule {
	var rules []source.Rule
	for _, f := range r.Findings {
		if f.Rule != "" && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
