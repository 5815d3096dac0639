// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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
	changes = slices.SortedStableFunc(slices.Values(changes), func(a, b *Change) int { return cmp.Compare(a.rank(), b.rank()) })
	markdownTable(&out, changes)
	left := commentLimit - out.Len()
	var omitted []string
	for _, group := range s.markdownGroups(changes) {
		text := "\n### " + strings.Join(group.names, ", ") + "\n\n" + group.body
		if len(text) > left {
			omitted = append(omitted, group.names...)
			continue
		}
		left -= len(text)
		out.WriteString(text)
	}
	if len(omitted) > 0 {
		fmt.Fprintf(&out, "\nThe comment would be too long with the differences of %s: see them with `-o html`.\n", strings.Join(omitted, ", "))
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&out, "\n> [!NOTE]\n> %s\n", markdownText(note))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// rank returns the position of a change in a comment: denied objects are first.
func (c *Change) rank() int {
	if c.Denied != nil {
		return 0
	}
	return 1
}

// markdownTable writes a row for each changed or denied object, and counts the remaining objects.
func markdownTable(out *strings.Builder, changes []*Change) {
	rows, same := "", 0
	for _, change := range changes {
		added, removed := change.size()
		what := markdownText(summary(change))
		if change.Denied != nil {
			what = "**" + cmp.Or(change.Note, "denied") + "**"
		} else if added+removed == 0 {
			same++
			continue
		}
		rows += fmt.Sprintf("| %s | %s | %s |\n", codeCell(change.place()), what, markdownSize(added, removed))
	}
	if rows != "" {
		out.WriteString("| object | | lines |\n|---|---|---|\n" + rows)
	}
	switch {
	case same == len(changes):
		out.WriteString("All objects are unchanged.\n")
	case same == 1:
		out.WriteString("\n1 other object is unchanged.\n")
	case same > 1:
		fmt.Fprintf(out, "\n%d other objects are unchanged.\n", same)
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
	body  string
	names []string
}

func (s Style) markdownGroups(changes []*Change) []*markdownGroup {
	var groups []*markdownGroup
	known := map[[2]string]*markdownGroup{}
	for _, change := range changes {
		body := s.markdownBody(change)
		if body == "" {
			continue
		}
		key := [2]string{change.Kind, body}
		if known[key] == nil {
			if len(change.Shoots) > 0 {
				body = "In " + markdownText(strings.Join(change.Shoots, "; ")) + ".\n\n" + body
			}
			known[key] = &markdownGroup{body: body}
			groups = append(groups, known[key])
		}
		known[key].names = append(known[key].names, codeSpan(change.place()))
	}
	return groups
}

// markdownBody returns the difference of an object, and the rules without effect, or an empty string.
func (s Style) markdownBody(c *Change) string {
	var out strings.Builder
	if c.Denied != nil {
		reason := fence("", strings.Split(strings.TrimSpace(c.Denial()), "\n"))
		fmt.Fprintf(&out, "> [!CAUTION]\n> Denied:\n> %s\n\n", strings.ReplaceAll(strings.TrimSuffix(reason, "\n"), "\n", "\n> "))
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

// markdownEscapes are characters with a meaning in Markdown, and those of mentions.
var markdownEscapes = strings.NewReplacer("@", "@\u200b", "#", "#\u200b", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "!", `\!`, "|", `\|`, "~", `\~`)

// markdownText returns a text outside of code: characters with a meaning in Markdown are escaped, and mentions are
// broken up.
func markdownText(text string) string { return markdownEscapes.Replace(oneLine(text)) }
