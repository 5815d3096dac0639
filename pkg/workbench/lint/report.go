// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

func (s Style) paint(t colour.Tone, text string) string { return t.Paint(s.Colour, text) }

// tone returns the colour of a severity.
func tone(of source.Severity) colour.Tone {
	if of == source.Warning {
		return colour.Warning
	}
	return colour.Bad
}

// writeText writes each finding with its line, the place underlined, and a summary.
func (r *Report) writeText(w io.Writer, style Style) error {
	var out strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%s: %s: %s%s\n", style.paint(colour.Title, f.Position.String()), style.paint(tone(f.Severity), f.Severity.String()),
			sentence(f), style.paint(colour.Dim, tag(f.Rule)))
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
	line, begin, end := cut(t.line(f.Line), begin, end, style.Width)
	numbered := func(number, line string) string {
		return fmt.Sprintf("  %s %s\n", style.paint(colour.Dim, number+" |"), line)
	}
	number := fmt.Sprint(f.Line)
	if f.Rule == source.NotYAML && f.Column == 0 {
		// The parser names the line before the one that it could not read, or that line.
		if f.Line == len(t.lines) {
			return numbered(number, line)
		}
		next, _, _ := cut(t.line(f.Line+1), 1, 1, style.Width)
		return numbered(number, line) + numbered(fmt.Sprint(f.Line+1), next)
	}
	mark := strings.Repeat(" ", begin-1) + style.paint(tone(f.Severity), strings.Repeat("^", max(end-begin, 1)))
	if f.Fix != nil {
		mark += " " + style.paint(colour.Good, "fix: "+describe(f.Fix))
	}
	return numbered(number, line) + numbered(strings.Repeat(" ", len(number)), mark)
}

// cut shortens a long line to the surroundings of the columns, with spaces for tabs, and returns the new columns.
func cut(text string, begin, end, width int) (shown string, from, to int) {
	line := []rune(strings.ReplaceAll(text, "\t", " "))
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
	checked := render.Count(r.Files, "file")
	if r.Documents > 0 {
		checked = render.Count(r.Documents, "document") + " in " + checked
	}
	if len(r.Findings) == 0 {
		return fmt.Sprintf("no findings in %s\n", checked)
	}
	var found []string
	for _, severity := range []source.Severity{source.Error, source.Warning} {
		if n := r.Count(severity); n > 0 {
			found = append(found, render.Count(n, severity.String()))
		}
	}
	out := strings.Join(found, " and ") + " in " + checked
	if fixable := r.Fixable(); fixable > 0 {
		out += fmt.Sprintf("; %d fixable with --fix", fixable)
	}
	if rules := r.rules(); len(rules) > 0 {
		explained := "the rule"
		if len(rules) > 1 {
			explained = "the first rule"
		}
		out += fmt.Sprintf("; `graft lint --explain %s` explains %s", rules[0], explained)
	}
	return out + "\n"
}

// Left returns one line about ignored files of folders, or an empty string.
func (r *Report) Left() string {
	const most = 3
	if len(r.LeftOut) == 0 {
		return ""
	}
	shown := strings.Join(r.LeftOut[:min(most, len(r.LeftOut))], ", ")
	if more := len(r.LeftOut) - most; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return "left out: " + shown + " (no document of Graft)"
}

// rules returns the rules of the findings in their order.
func (r *Report) rules() []source.LintRule {
	var rules []source.LintRule
	for _, f := range r.Findings {
		if f.Rule != "" && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// Style is how a report is written.
type Style struct {
	// Colour allows colours.
	Colour bool
	// Width is the width of the terminal in characters; 0: lines are cut at 120.
	Width int
	// Version is the version of the program, for SARIF.
	Version string
}

// Formats are the formats of reports.
var Formats = []string{"text", "json", "sarif"}

// Write writes the report in one of the formats. It fails if w cannot be written.
func (r *Report) Write(w io.Writer, format string, style Style) error {
	switch format {
	case "json":
		return r.writeJSON(w)
	case "sarif":
		return r.writeSARIF(w, style)
	default:
		return r.writeText(w, style)
	}
}

// sentence returns the field and the message.
func sentence(f source.Finding) string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

func tag(rule source.LintRule) string {
	if rule == "" {
		return ""
	}
	return " [" + string(rule) + "]"
}

// jsonFinding is one finding. Lines and columns count from 1, columns in characters, and the end is exclusive.
type jsonFinding struct {
	File      string          `json:"file"`
	Line      int             `json:"line,omitempty"`
	Column    int             `json:"column,omitempty"`
	EndColumn int             `json:"endColumn,omitempty"`
	Path      string          `json:"path,omitempty"`
	Message   string          `json:"message"`
	Rule      source.LintRule `json:"rule,omitempty"`
	Severity  string          `json:"severity"`
	Help      string          `json:"help,omitempty"`
	Fix       string          `json:"fix,omitempty"`
}

func (r *Report) writeJSON(w io.Writer) error {
	var out struct {
		Findings []jsonFinding `json:"findings"`
		Summary  struct {
			Errors    int `json:"errors"`
			Warnings  int `json:"warnings"`
			Fixable   int `json:"fixable"`
			Documents int `json:"documents"`
			Files     int `json:"files"`
		} `json:"summary"`
	}
	out.Findings = []jsonFinding{}
	out.Summary.Errors, out.Summary.Warnings, out.Summary.Fixable = r.Count(source.Error), r.Count(source.Warning), r.Fixable()
	out.Summary.Documents, out.Summary.Files = r.Documents, r.Files
	for _, f := range r.Findings {
		finding := jsonFinding{File: f.File, Line: f.Line, Path: f.Path, Message: f.Message, Rule: f.Rule, Severity: f.Severity.String()}
		finding.Column, finding.EndColumn = r.span(f)
		if page := PageOf(f.Rule); page != nil {
			finding.Help = page.URL()
		}
		if f.Fix != nil {
			finding.Fix = describe(f.Fix)
		}
		out.Findings = append(out.Findings, finding)
	}
	return render.WriteJSON(w, out)
}

// span returns the columns of a finding as text.span does, or zeros for one without a line.
func (r *Report) span(f source.Finding) (begin, end int) {
	if t := r.texts[f.File]; t != nil && f.Line > 0 {
		return t.span(f.Position)
	}
	return 0, 0
}

// jsonObject is a JSON object.
type jsonObject map[string]any

// writeSARIF writes the report as SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0).
func (r *Report) writeSARIF(w io.Writer, style Style) error {
	rules, results := []jsonObject{}, []jsonObject{}
	indices := map[source.LintRule]int{}
	for _, rule := range r.rules() {
		if page := PageOf(rule); page != nil {
			indices[rule] = len(rules)
			rules = append(rules, jsonObject{
				"id": rule, "shortDescription": jsonObject{"text": page.Summary}, "fullDescription": jsonObject{"text": page.why()}, "helpUri": page.URL(),
				"help": jsonObject{"text": page.Text(), "markdown": page.help()}, "defaultConfiguration": jsonObject{"level": page.Severity()},
			})
		}
	}
	for _, f := range r.Findings {
		result := r.result(f)
		if index, ok := indices[f.Rule]; ok {
			result["ruleIndex"] = index
		}
		results = append(results, result)
	}
	driver := jsonObject{"name": "graft lint", "informationUri": home, "rules": rules}
	if style.Version != "" {
		driver["version"] = style.Version
	}
	run := jsonObject{"tool": jsonObject{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	return render.WriteJSON(w, jsonObject{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "version": "2.1.0", "runs": []jsonObject{run},
	})
}

// result returns a finding as a result of SARIF without the index of its rule.
func (r *Report) result(f source.Finding) jsonObject {
	artifact := jsonObject{"uri": uriOf(f.File)}
	physical := jsonObject{"artifactLocation": artifact}
	location := jsonObject{"physicalLocation": physical}
	result := jsonObject{"level": f.Severity.String(), "message": jsonObject{"text": sentence(f)}, "locations": []jsonObject{location}}
	if f.Rule != "" {
		result["ruleId"] = f.Rule
	}
	if f.Path != "" {
		location["logicalLocations"] = []jsonObject{{"fullyQualifiedName": f.Path, "kind": "member"}}
	}
	if begin, end := r.span(f); begin > 0 {
		physical["region"] = region(f.Line, begin, end)
	}
	if t := r.texts[f.File]; f.Fix != nil && t != nil {
		if _, ok := t.resolve(*f.Fix); ok {
			at := f.Fix.At
			replacement := jsonObject{
				"deletedRegion":   region(at.Line, at.Column, at.Column+utf8.RuneCountInString(f.Fix.Old)),
				"insertedContent": jsonObject{"text": f.Fix.New},
			}
			change := jsonObject{"artifactLocation": artifact, "replacements": []jsonObject{replacement}}
			result["fixes"] = []jsonObject{{"description": jsonObject{"text": describe(f.Fix)}, "artifactChanges": []jsonObject{change}}}
		}
	}
	return result
}

// region returns a part of a line as a region of SARIF.
func region(line, begin, end int) jsonObject {
	return jsonObject{"startLine": line, "startColumn": begin, "endLine": line, "endColumn": end}
}

// uriOf returns a path as a URI reference: relative to the working directory of graft, or with the scheme file.
func uriOf(name string) string {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		return (&url.URL{Scheme: "file", Path: name}).String()
	}
	return (&url.URL{Path: path.Clean(name)}).String()
}
