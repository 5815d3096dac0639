// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"html"
	"strings"
)

// fence wraps lines in a code block with a delimiter that none of them contains.
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
