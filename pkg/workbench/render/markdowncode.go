// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"html"
	"strings"
)

// fence puts lines into a block of code that none of them ends.
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

// codeSpan is a text as code; an empty one is nothing.
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

// codeCell is a text as code in a cell of a table, where a bar would end the cell also within code.
func codeCell(text string) string { return strings.ReplaceAll(codeSpan(text), "|", `\|`) }

// backticks is the length of the longest run of backticks.
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

// oneLine replaces what ends lines or cannot be seen.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return ' '
		}
		return r
	}, text)
}

// markdownText is a text outside of code: what has a meaning in Markdown is escaped, and mentions are broken up.
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
