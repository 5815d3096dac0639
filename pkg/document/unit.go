// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"slices"
)

// The errors of units, to be found with errors.Is.
var (
	// ErrUnit marks a text that is not a systemd unit, or one that systemd would read only in part.
	ErrUnit = errors.New("invalid systemd unit")
	// ErrOption marks a section, option or value that cannot be written into a unit.
	ErrOption = errors.New("invalid unit option")
)

// Unit is a systemd unit, or a drop-in, that is edited by splicing its text: what is not edited survives byte for
// byte, comments and line endings included. A section may stand several times and is read as one. Values are read as
// systemd does (src/shared/conf-parser.c): a line that ends in an odd number of backslashes goes on with the next one
// that is no comment, the last backslash becomes a space, and white space around the whole means nothing.
type Unit struct {
	text    string
	lines   []unitLine
	spare   []unitLine // for those behind the next edit
	version int        // grows with every edit
	room    *room
}

// UnitOf reads a unit. An empty text is an empty unit. The error is ErrUnit with the line: a NUL, a section header
// that is not closed, a line without "=", an assignment outside of a section, a name that is continued on another line.
func UnitOf(text string) (*Unit, error) { return unitIn(new(room), text) }

// UnitAt is UnitOf for the string at a node, in the room of its document, whose Release ends the unit. The error is
// ErrKind for anything but a string.
func UnitAt(n *Node) (*Unit, error) {
	text, ok := n.Text()
	if !ok {
		return nil, fmt.Errorf("reading a unit: %w", ErrKind)
	}
	return unitIn(n.doc.room, text)
}

func unitIn(room *room, text string) (*Unit, error) {
	u := &Unit{text: text, room: room}
	var err error
	if u.lines, err = scanUnit(text, u.fresh(text)); err != nil {
		return nil, fmt.Errorf("reading a unit: %w", err)
	}
	return u, nil
}

// fresh returns a list for the lines of a text.
func (u *Unit) fresh(text string) []unitLine {
	return u.room.lines.list(u.spare, 8+len(text)/64)
}

// Text returns the unit with its edits.
func (u *Unit) Text() string { return u.text }

// Edits counts the edits made so far. Writing what stands there already is no edit.
func (u *Unit) Edits() int { return u.version }

// Sections returns the names of the sections, each once, in the order of their first header.
func (u *Unit) Sections() []string {
	var out []string
	for i := range u.lines {
		if l := &u.lines[i]; l.header && !slices.Contains(out, l.name) {
			out = append(out, l.name)
		}
	}
	return out
}

// Options returns the names of the options in a section, each once, in the order of their first assignment.
func (u *Unit) Options(section string) []string {
	var out []string
	for i := range u.lines {
		if l := &u.lines[i]; !l.header && u.lines[l.section].name == section && !slices.Contains(out, l.name) {
			out = append(out, l.name)
		}
	}
	return out
}

// Values returns the values of an option in their order. An empty assignment, with which systemd forgets the values
// before it, is an empty value. Without the option it is nil.
func (u *Unit) Values(section, option string) []string {
	var out []string
	for _, i := range u.find(section, option) {
		out = append(out, u.value(i))
	}
	return out
}

// find returns the indexes of the assignments of an option.
func (u *Unit) find(section, option string) []int {
	var out []int
	for i := range u.lines {
		if l := &u.lines[i]; !l.header && l.name == option && u.lines[l.section].name == section {
			out = append(out, i)
		}
	}
	return out
}

// value returns the value of an assignment with its lines joined.
func (u *Unit) value(i int) string {
	l := &u.lines[i]
	if !l.continued {
		return u.text[l.first:l.last]
	}
	return joinLines(u.text[l.first:l.last])
}
