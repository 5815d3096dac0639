// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Set gives an option exactly these values, one for each assignment: existing ones in place, surplus ones removed,
// missing ones behind the last of them or at the end of the section, which is made at the end of the unit if there is
// none. Without values it is Remove. White space around a value means nothing; ErrOption for a line break or another
// control character in a value, an odd number of backslashes at its end, or a name that cannot be read back.
func (u *Unit) Set(section, option string, values ...string) error {
	wanted := make([]string, len(values))
	for i, value := range values {
		wanted[i] = strings.Trim(value, " \t\r\n")
	}
	if err := checkOption(section, option, wanted); err != nil {
		return fmt.Errorf("setting option %q of section %q: %w", option, section, err)
	}
	if slices.Equal(wanted, u.Values(section, option)) {
		return nil
	}
	edits := u.settings(section, option, wanted)
	if err := u.apply(edits, section, option, wanted); err != nil {
		return fmt.Errorf("setting option %q of section %q: %w", option, section, err)
	}
	return nil
}

// Add appends a value unless the option has it already, after the empty assignment if there is one. It is inserted
// after the last assignment of the option, or at the end of the section; but the first ExecCondition and ExecStartPre
// precede ExecStart, as is usual. Errors as in Set.
func (u *Unit) Add(section, option, value string) error {
	value = strings.Trim(value, " \t\r\n")
	if err := checkOption(section, option, []string{value}); err != nil {
		return fmt.Errorf("adding option %q to section %q: %w", option, section, err)
	}
	values := u.Values(section, option)
	if slices.Contains(values, value) && value == "" || slices.Contains(effective(values), value) {
		return nil
	}
	edits := []splice{u.insertion(section, option, []string{value})}
	if err := u.apply(edits, section, option, append(values, value)); err != nil {
		return fmt.Errorf("adding option %q to section %q: %w", option, section, err)
	}
	return nil
}

// Remove takes all assignments of an option out. Comments stay, also those between the lines of a value.
func (u *Unit) Remove(section, option string) {
	u.removeAll(u.find(section, option))
}

// effective returns the values that count: those behind the last empty one.
func effective(values []string) []string {
	for i, value := range slices.Backward(values) {
		if value == "" {
			return values[i+1:]
		}
	}
	return values
}

func (u *Unit) removeAll(found []int) {
	if len(found) == 0 {
		return
	}
	edits := make([]splice, len(found))
	for i, at := range found {
		edits[i] = u.removal(at)
	}
	_ = u.splice(edits, func() bool { return true }) // Whole lines were taken out; there is nothing that could become wrong.
}

// apply splices the text, unless the option would then not have these values.
func (u *Unit) apply(edits []splice, section, option string, wanted []string) error {
	return u.splice(edits, func() bool { return slices.Equal(u.Values(section, option), wanted) })
}

// splice edits the text, and takes that back if it is no unit then or not right.
func (u *Unit) splice(edits []splice, right func() bool) error {
	before := *u
	u.text = spliced(before.text, edits)
	lines, err := scanUnit(u.text)
	if err != nil {
		*u = before
		return fmt.Errorf("reading a unit: %w", err)
	}
	u.lines = lines
	if !right() {
		*u = before
		return ErrOption
	}
	u.version++
	return nil
}

// settings plans Set. Of surplus assignments, those at the head and the tail that are right already stay.
func (u *Unit) settings(section, option string, wanted []string) []splice {
	found := u.find(section, option)
	surplus := len(found) - len(wanted)
	for surplus > 0 && len(wanted) > 0 && u.value(found[0]) == wanted[0] {
		found, wanted = found[1:], wanted[1:]
	}
	for surplus > 0 && len(wanted) > 0 && u.value(found[len(found)-1]) == wanted[len(wanted)-1] {
		found, wanted = found[:len(found)-1], wanted[:len(wanted)-1]
	}
	var edits []splice
	for i, at := range found {
		switch {
		case i >= len(wanted):
			edits = append(edits, u.removal(at))
		case u.value(at) != wanted[i]:
			edits = append(edits, u.replacement(at, wanted[i]))
		}
	}
	if missing := wanted[min(len(found), len(wanted)):]; len(missing) > 0 {
		edits = append(edits, u.insertion(section, option, missing))
	}
	return edits
}

// removal takes an assignment out, and leaves the comments between its lines.
func (u *Unit) removal(at int) splice {
	l := &u.lines[at]
	return splice{l.start, l.end, u.comments(at)}
}

// replacement gives an assignment another value. Comments between the lines of the old value go in front.
func (u *Unit) replacement(at int, value string) splice {
	l := &u.lines[at]
	comments := ""
	if l.continued {
		comments = commentsIn(u.text, l.first, l.last)
	}
	first := l.first
	if value != "" && isUnitComment(value[0]) && l.continued { // It would be a comment at the beginning of a line.
		first = l.start + strings.IndexByte(u.text[l.start:], '=') + 1
		comments = commentsIn(u.text, l.start, l.last)
	}
	if comments == "" {
		return splice{first, l.last, value}
	}
	return splice{l.start, l.last, comments + u.text[l.start:first] + value}
}

// comments returns the comments between the lines of an assignment.
func (u *Unit) comments(at int) string {
	if l := &u.lines[at]; l.continued {
		return commentsIn(u.text, l.start, l.end)
	}
	return ""
}

// commentsIn returns the lines of a part of a text that are comments, but for the first one.
func commentsIn(text string, start, end int) string {
	var out strings.Builder
	text = text[:end]
	_, at := endOfLine(text, start)
	for at < end {
		stop, next := endOfLine(text, at)
		if from := skipBlank(text, at, stop); from < stop && isUnitComment(text[from]) {
			out.WriteString(text[at:next])
		}
		at = next
	}
	return out.String()
}

// insertion writes new assignments.
func (u *Unit) insertion(section, option string, values []string) splice {
	prefix := option + "="
	at, header := u.place(section, option)
	if found := u.find(section, option); len(found) > 0 {
		if l := &u.lines[found[len(found)-1]]; !strings.ContainsAny(u.text[l.start:l.first], "\r\n") {
			prefix = u.text[l.start:l.first]
		}
	}
	eol := lineEnding(u.text)
	var lines []string
	if header != "" {
		lines = append(lines, header)
	}
	for _, value := range values {
		lines = append(lines, prefix+value)
	}
	text := strings.Join(lines, eol)
	if at < len(u.text) || u.text == "" || endsLine(u.text) {
		text += eol
	}
	if at == len(u.text) {
		text = u.lead(eol, header != "") + text
	}
	return splice{at, at, text}
}

// lead returns the text between the existing text and a new line.
func (u *Unit) lead(eol string, header bool) string {
	lead := ""
	if u.text == "" {
		return lead
	}
	if !endsLine(u.text) {
		lead = eol
	}
	if open := len(u.lines) > 0 && u.lines[len(u.lines)-1].open; open || header && !endsBlank(u.text) {
		lead += eol
	}
	return lead
}

// place returns the position of a new assignment, and the header that must be written before it.
func (u *Unit) place(section, option string) (at int, header string) {
	if found := u.find(section, option); len(found) > 0 {
		return u.lines[found[len(found)-1]].end, ""
	}
	if option == "ExecStartPre" || option == "ExecCondition" {
		if found := u.find(section, "ExecStart"); len(found) > 0 {
			return u.lines[found[0]].start, ""
		}
	}
	for i, l := range slices.Backward(u.lines) {
		if u.lines[l.section].name == section {
			return u.lines[i].end, ""
		}
	}
	return len(u.text), "[" + section + "]"
}

// lineEnding returns the first line ending of a text, LF if it has none.
func lineEnding(text string) string {
	if end, next := endOfLine(text, 0); next > end {
		return text[end:next]
	}
	return "\n"
}

func endsLine(text string) bool {
	return strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\r")
}

// endsBlank reports whether the last line of a text is blank.
func endsBlank(text string) bool {
	eol := lineEnding(text)
	return strings.HasSuffix(text, eol+eol)
}

// checkOption returns ErrOption if systemd would read another value than the given one.
func checkOption(section, option string, values []string) error {
	if section == "" || option == "" || strings.Contains(section, "]") || strings.Contains(option, "=") ||
		strings.ContainsRune("[#;", rune(option[0])) || strings.Trim(option, blanks) != option {
		return ErrOption
	}
	for _, s := range append([]string{section, option}, values...) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return ErrOption
		}
	}
	if slices.ContainsFunc(values, endsInBackslash) {
		return ErrOption
	}
	return nil
}
