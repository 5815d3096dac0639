// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

const (
	// longDiff is the number of lines from which a difference is folded.
	longDiff = 40
	// commentLimit is how many bytes of differences are written: GitHub takes comments of 65536 characters.
	commentLimit = 56 << 10
)

// Markdown writes the changes as a comment for a pull request: a table of the objects, and the differences with the
// rules that caused them. Objects with the same difference share it, long ones are folded, and parts that exceed the
// maximum length are omitted and listed. Text from objects and profiles is written as code, so that it cannot contain
// formatting or mentions.
func (s Style) Markdown(w io.Writer, changes ...*Change) error {
	s = s.withDefaults()
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", markdownText(cmp.Or(s.Title, defaultTitle)))
	for _, fact := range s.About {
		fmt.Fprintf(&out, "- %s: %s\n", markdownText(fact.Name), codeSpan(fact.Value))
	}
	if len(s.About) > 0 {
		out.WriteByte('\n')
	}
	s.markdownTable(&out, changes)
	left := commentLimit - out.Len()
	var omitted []string
	for _, group := range s.markdownGroups(changes) {
		text := group.heading() + group.body
		if len(text) > left {
			omitted = append(omitted, group.names...)
			continue
		}
		left -= len(text)
		out.WriteString(text)
	}
	if len(omitted) > 0 {
		fmt.Fprintf(&out, "\nThe comment would be too long with the differences of %s. `-o html` has them all.\n", strings.Join(omitted, ", "))
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&out, "\n> [!NOTE]\n> %s\n", markdownText(note))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// markdownTable writes a row for each changed or denied object, denied ones first, and counts the remaining objects.
func (s Style) markdownTable(out *strings.Builder, changes []*Change) {
	var denied, changed strings.Builder
	same := 0
	for _, change := range changes {
		added, removed := change.size()
		switch {
		case change.Denied != nil:
			fmt.Fprintf(&denied, "| %s | **%s** | %s |\n", codeCell(change.place()), cmp.Or(change.Note, "denied"), markdownSize(added, removed))
		case added+removed > 0:
			fmt.Fprintf(&changed, "| %s | %s | %s |\n", codeCell(change.place()), markdownText(summary(change)), markdownSize(added, removed))
		default:
			same++
		}
	}
	if denied.Len()+changed.Len() > 0 {
		fmt.Fprintf(out, "| object | | lines |\n|---|---|---|\n%s%s", &denied, &changed)
	}
	switch {
	case same == len(changes):
		out.WriteString("Nothing changes.\n")
	case same > 0:
		fmt.Fprintf(out, "\n%s as before.\n", map[bool]string{true: "1 other object is", false: fmt.Sprint(same) + " other objects are"}[same == 1])
	}
}

func markdownSize(added, removed int) string {
	if added+removed == 0 {
		return ""
	}
	return fmt.Sprintf("+%d −%d", added, removed)
}

// markdownGroup is the objects that have one difference.
type markdownGroup struct {
	kind, body string
	names      []string
}

func (g *markdownGroup) heading() string { return "\n### " + strings.Join(g.names, ", ") + "\n\n" }

func (s Style) markdownGroups(changes []*Change) []*markdownGroup {
	var denied, changed []*markdownGroup
	known := map[[2]string]*markdownGroup{}
	for _, change := range changes {
		body := s.markdownBody(change)
		if body == "" {
			continue
		}
		key := [2]string{change.Kind, body}
		if known[key] == nil {
			known[key] = &markdownGroup{kind: change.Kind, body: body}
			if change.Denied != nil {
				denied = append(denied, known[key])
			} else {
				changed = append(changed, known[key])
			}
		}
		known[key].names = append(known[key].names, codeSpan(change.place()))
		if len(change.Shoots) > 0 && len(known[key].names) == 1 {
			known[key].body = "In " + markdownText(strings.Join(change.Shoots, "; ")) + ".\n\n" + known[key].body
		}
	}
	return append(denied, changed...)
}

// markdownBody returns the difference of an object, and the rules without effect, or an empty string.
func (s Style) markdownBody(c *Change) string {
	var out strings.Builder
	if c.Denied != nil {
		fmt.Fprintf(&out, "> [!CAUTION]\n> Denied:\n%s\n", quoted(fence("", strings.Split(strings.TrimSpace(c.Denial()), "\n"))))
	}
	sections := s.sections(c)
	if len(sections) == 0 && c.Denied == nil {
		return ""
	}
	if len(sections) > 0 {
		lines := s.diffLines(sections)
		text := fence("diff", lines)
		if len(lines) > longDiff {
			text = fmt.Sprintf("<details><summary>%d lines</summary>\n\n%s\n</details>\n", len(lines), text)
		}
		out.WriteString(text)
	}
	out.WriteString(s.markdownIdle(c))
	return out.String()
}

// diffLines returns the lines of a difference, with the author in a comment above its lines.
func (s Style) diffLines(sections []Section) []string {
	var lines []string
	for _, section := range sections {
		lines = append(lines, "@@ "+oneLine(section.Heading())+" @@")
		for _, run := range section.Runs() {
			if run.Rows[0].Gap {
				lines = append(lines, "  …")
			}
			if run.By != nil {
				lines = append(lines, "# "+oneLine(s.author(*run.By)))
			}
			for _, row := range run.Rows {
				lines = append(lines, strings.TrimRight(string(row.Op)+" "+oneLine(row.String()), " "))
			}
		}
	}
	return lines
}

// markdownIdle returns a folded table of the rules without effect.
func (s Style) markdownIdle(c *Change) string {
	var rows strings.Builder
	n := 0
	for _, a := range c.Applied {
		if a.Outcome == mutation.Changed {
			continue
		}
		n++
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", codeCell(a.Name()), a.Outcome, codeCell(a.Reason), codeCell(s.position(a.Position)))
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n<details><summary>%s changed nothing</summary>\n\n| rule | | why | where |\n|---|---|---|---|\n%s\n</details>\n", Count(n, "rule"), &rows)
}

// fence wraps lines in a code block. Its delimiter is longer than any run of backticks in the lines.
func fence(language string, lines []string) string {
	longest := 2
	for i := range lines {
		lines[i] = oneLine(lines[i])
		longest = max(longest, backticks(lines[i]))
	}
	marks := strings.Repeat("`", longest+1)
	return marks + language + "\n" + strings.Join(lines, "\n") + "\n" + marks + "\n"
}

// quoted puts "> " before each line.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n> ") + "\n"
}

// codeSpan returns a text as code, or an empty string for an empty one.
func codeSpan(text string) string {
	text = strings.TrimSpace(oneLine(text))
	if text == "" {
		return ""
	}
	marks := strings.Repeat("`", backticks(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return marks + text + marks
}

// codeCell returns a text as code in a table cell, with bars escaped, because they would end the cell even inside of
// code.
func codeCell(text string) string { return strings.ReplaceAll(codeSpan(text), "|", `\|`) }

// backticks returns the length of the longest run of backticks.
func backticks(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// oneLine replaces line breaks and invisible characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return ' '
		}
		return r
	}, text)
}

// markdownText returns a text outside of code: characters with a meaning in Markdown are escaped, and mentions are
// broken up.
func markdownText(text string) string {
	var out strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case r == '@' || r == '#':
			out.WriteRune(r)
			out.WriteString("\u200b")
		case r == '<' || r == '>' || r == '&':
			out.WriteString(html.EscapeString(string(r)))
		case strings.ContainsRune("\\`*_{}[]()!|~", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
