// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// bareExpression is an expression of which YAML takes the braces, a colon or the quotes for its own.
var bareExpression = regexp.MustCompile(`([{\[].*[:,{\[]\s*\$\{|[:-]\s+\$\{.*: |"[^"]*\$\{[^"}]*")`)

func syntaxFinding(file File, err error) Finding {
	finding := Finding{Position: Position{File: file.Name}, Message: err.Error(), Rule: NotYAML}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		finding.Line, _ = strconv.Atoi(m[1])
		finding.Message = "not YAML: " + m[2]
	}
	// The parser names the line before the one that it could not read, or that line.
	lines := bytes.Split(file.Data, []byte("\n"))
	first := min(max(finding.Line-1, 0), len(lines))
	suspects := lines[first:min(first+2, len(lines))]
	mark := func(of *regexp.Regexp, sign string) bool {
		i := slices.IndexFunc(suspects, of.Match)
		if i < 0 {
			return false
		}
		begin := of.FindSubmatchIndex(suspects[i])[2] // of the part around the sign
		finding.Line, finding.Column = first+i+1, utf8.RuneCount(suspects[i][:begin+bytes.Index(suspects[i][begin:], []byte(sign))])+1
		return true
	}
	switch colon := withoutSpace(lines, finding); {
	case tabbed.MatchString(finding.Message) && mark(tab, "\t"):
		finding.Message = "not YAML: a tab stands where a line is indented, and YAML takes spaces alone"
	case colon.Line > 0:
		finding.Line, finding.Column = colon.Line, colon.Column
		finding.Message += ": a space stands behind the colon of a field"
	case mark(bareExpression, "${"):
		finding.Message += "; a text with ${ } stands in single quotes inside braces and brackets, and where it has a colon or double quotes"
	case strings.HasSuffix(finding.Message, "mapping values are not allowed in this context") && mark(secondColon, ":"):
		finding.Message += ": a text with a colon and a space stands in quotes, and what is inside a field in a line of its own"
	}
	return finding
}

var (
	// tabbed is what the parser says of tabs, and of other characters.
	tabbed = regexp.MustCompile(`tab character|cannot start any token`)
	// tab is one in the indentation of a line.
	tab = regexp.MustCompile(`^ *(\t)`)
	// secondColon is that of a value within a value.
	secondColon = regexp.MustCompile(`^[^'"#]*?:\s[^'"#]*?(:)\s`)
	// closeColon is that of a field with its value right behind it, in a line with what it is indented by.
	closeColon = regexp.MustCompile(`^((?: |- )*)[A-Za-z][^\s:]*(:)[^\s:/]`)
	// space is what stands behind the colon of a field.
	space = regexp.MustCompile(`:\s|:$`)
)

// withoutSpace is the place of a colon that has no space behind it, for which reason the parser takes the field and what follows it for one text; the zero
// Position where there is none. The parser names that line where fields precede it, and else the one behind the text.
func withoutSpace(lines [][]byte, finding Finding) Position {
	at := finding.Line - 1
	if at < 0 || at >= len(lines) {
		return Position{}
	}
	if strings.HasSuffix(finding.Message, "could not find expected ':'") {
		if found := closeColonIn(lines[at]); found != nil {
			return Position{Line: at + 1, Column: utf8.RuneCount(lines[at][:found[4]]) + 1}
		}
		return Position{}
	}
	if !strings.HasSuffix(finding.Message, "mapping values are not allowed in this context") {
		return Position{}
	}
	indent := len(lines[at]) - len(bytes.TrimLeft(lines[at], " "))
	var colon Position
	for at--; at >= 0; at-- {
		line := bytes.TrimSpace(lines[at])
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		found := closeColonIn(lines[at])
		if len(found) == 0 || found[3] != indent {
			// The text is what a field or a document begins with, and not the rest of a longer one.
			if bytes.HasSuffix(line, []byte(":")) || bytes.HasPrefix(line, []byte("---")) {
				return colon
			}
			return Position{}
		}
		colon = Position{Line: at + 1, Column: utf8.RuneCount(lines[at][:found[4]]) + 1}
		if bytes.HasPrefix(line, []byte("-")) {
			return colon
		}
	}
	return colon
}

// closeColonIn are the ends of the parts of closeColon in a line; nil where it is no such line.
func closeColonIn(line []byte) []int {
	if space.Match(line) {
		return nil
	}
	return closeColon.FindSubmatchIndex(line)
}
