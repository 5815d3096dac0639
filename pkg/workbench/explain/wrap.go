// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"
)

// hang writes a text behind a head, in lines of the style's width; those after the first are indented.
func (s Style) hang(head string, indent int, text string) string {
	var out strings.Builder
	out.WriteString(head)
	for i, line := range wrap(text, s.Width-visible(head), s.Width-indent) {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", indent))
		}
		out.WriteString(line + "\n")
	}
	return trimEnds(out.String())
}

// trimEnds takes spaces away from the ends of lines.
func trimEnds(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// visible returns the width of a text without its colours.
func visible(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrap breaks a text at spaces into at least one line; the first line may have another width.
func wrap(text string, width, others int) []string {
	var (
		lines []string
		line  strings.Builder
		used  int
	)
	for word := range words(text, others) {
		length := visible(word)
		if used > 0 && used+1+length > width {
			lines = append(lines, line.String())
			line.Reset()
			used, width = 0, others
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += length
	}
	return append(lines, line.String())
}

// words returns the words of a text; it splits words that are longer than a line.
func words(text string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsSeq(text) {
			for visible(word) > width && !strings.Contains(word, "\x1b") {
				runes := []rune(word)
				if !yield(string(runes[:width])) {
					return
				}
				word = string(runes[width:])
			}
			if !yield(word) {
				return
			}
		}
	}
}
