// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"regexp"
	"strings"
)

// Step is a command of a console block with its expected output.
type Step struct {
	// Command may have several lines. Shown is its text in the block.
	Command, Shown string
	// Want is the output, each line with its newline. `…` matches any text in a line, and any lines if it is alone on a
	// line.
	Want string
	// Status reports whether the next command prints the exit status, so that a status other than 0 is expected.
	Status bool
}

// ellipsis matches any omitted text.
const ellipsis = "…"

// Steps returns the commands of a console block: lines that begin with `$ `, continued after a backslash or by lines
// with `> `.
func Steps(block string) ([]Step, error) {
	var out []Step
	inCommand := false
	for line := range strings.Lines(block) {
		switch last := len(out) - 1; {
		case strings.HasPrefix(line, "$ "):
			out = append(out, Step{Command: line[2:], Shown: line})
			inCommand = true
		case last < 0:
			return nil, fmt.Errorf("a console block begins with `$ `, not with %q", strings.TrimSpace(line))
		case inCommand && strings.HasPrefix(line, "> "):
			out[last].Command += line[2:]
			out[last].Shown += line
		case inCommand && strings.HasSuffix(out[last].Command, "\\\n"):
			out[last].Command += line
			out[last].Shown += line
		default:
			out[last].Want += line
			inCommand = false
		}
	}
	for i := range len(out) - 1 {
		out[i].Status = strings.TrimSpace(out[i+1].Command) == "echo $?"
	}
	return out, nil
}

// Matches reports whether an output matches the expected one of a step.
func Matches(want, got string) bool {
	return matchLines(split(want), split(got))
}

// split returns the lines of a text without trailing spaces, which Markdown drops, and without empty lines at the end.
func split(text string) []string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return lines
}

func matchLines(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == ellipsis:
		for skipped := range len(got) + 1 {
			if matchLines(want[1:], got[skipped:]) {
				return true
			}
		}
		return false
	case len(got) == 0 || !matchLine(want[0], got[0]):
		return false
	default:
		return matchLines(want[1:], got[1:])
	}
}

func matchLine(want, got string) bool {
	if !strings.Contains(want, ellipsis) {
		return want == got
	}
	parts := strings.Split(want, ellipsis)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// Update returns the new output for the block: the expected one if it matches; otherwise the actual one, with the lines
// of the old text whose `…` still matches.
func Update(want, got string) string {
	if Matches(want, got) {
		return want
	}
	var out strings.Builder
	for _, line := range split(got) {
		for _, old := range split(want) {
			if old != ellipsis && strings.Contains(old, ellipsis) && matchLine(old, line) {
				line = old
			}
		}
		out.WriteString(line + "\n")
	}
	if strings.TrimSpace(out.String()) == "" {
		return ""
	}
	return out.String()
}
