// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors of commands in units, to be found with errors.Is.
var (
	// ErrNoCommand marks an option without a value where a command is required.
	ErrNoCommand = errors.New("unit has no command")
	// ErrSeveralCommands marks an option with several values, or a value with several commands behind ";".
	ErrSeveralCommands = errors.New("unit has several commands")
	// ErrQuote marks a command with a quote that is not closed.
	ErrQuote = errors.New("command has an open quote")
)

// UnitCommand reads the command of a unit as a list of flags, and edits them in place by splicing the unit.
//
// Names and forms of flags are those of CommandLine. Quotes and escapes are read and written as systemd does
// (src/basic/extract-word.c); specifiers such as %H and variables such as ${NODE} stand in values as they are written,
// so that a plain percent sign is "%%". A variable without braces that is an argument of its own, which systemd splits
// into any number of arguments, is neither a flag nor the value of one.
type UnitCommand struct {
	FlagList // of tokens that are the words as flags are read from them

	unit            *Unit
	section, option string
	line            int    // index of the assignment
	first           int    // where its value begins
	raw             string // the value as it is written
	words           []word
	spare           commandWords // room for those behind the next edit
	version         int          // of the unit when it was read
}

// commandWords are the words of a command, as they are written and as flags are read from them.
type commandWords struct {
	flagWords
	words []word
}

// Command returns the command that an option holds, as ExecStart of Service. Assignments before an empty one do not
// count. The error is ErrNoCommand, ErrSeveralCommands, ErrQuote or ErrShell.
func (u *Unit) Command(section, option string) (*UnitCommand, error) {
	c := &UnitCommand{unit: u, section: section, option: option}
	c.home = c
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("reading the command of option %q of section %q: %w", option, section, err)
	}
	return c, nil
}

// Program returns the arguments before the first flag, without the prefixes that systemd gives a meaning to.
func (c *UnitCommand) Program() []string {
	if c.refresh() != nil {
		return nil
	}
	var out []string
	for i := range c.words[:programEnd(c.tokens)] {
		text := c.words[i].text
		if i == 0 {
			text = strings.TrimLeft(text, prefixes)
		}
		out = append(out, text)
	}
	return out
}

// refresh reads the command again if the unit was edited since.
func (c *UnitCommand) refresh() error {
	if c.version == c.unit.version && len(c.words) > 0 {
		return nil
	}
	return c.read()
}

// read finds the command and its flags. A command that was only moved by an edit is not read again.
func (c *UnitCommand) read() error {
	line, err := c.find()
	if err != nil {
		c.words = c.words[:0]
		return err
	}
	c.line = line
	l := &c.unit.lines[line]
	if len(c.words) > 0 && c.unit.text[l.first:l.last] == c.raw {
		c.move(l.first - c.first)
		return nil
	}
	c.words = c.words[:0]
	next, err := c.scan(c.unit.text, l)
	if err != nil {
		return err
	}
	if len(next.words) == 0 {
		return ErrNoCommand
	}
	if runsShell(next.tokens) {
		return ErrShell
	}
	c.swap(next)
	return nil
}

// find returns the index of the only assignment that counts.
func (c *UnitCommand) find() (int, error) {
	found := c.unit.find(c.section, c.option)
	for i, at := range slices.Backward(found) {
		if c.unit.lines[at].first == c.unit.lines[at].last {
			found = found[i+1:]
			break
		}
	}
	switch len(found) {
	case 0:
		return 0, ErrNoCommand
	case 1:
		return found[0], nil
	default:
		return 0, ErrSeveralCommands
	}
}

// move notes that the command stands elsewhere in the unit.
func (c *UnitCommand) move(delta int) {
	for i := range c.words {
		c.words[i].start += delta
		c.words[i].end += delta
	}
	c.first, c.version = c.first+delta, c.unit.version
}

// swap puts other words, those of the assignment as it is now, in the place of those that are read, which become the spare room.
func (c *UnitCommand) swap(next commandWords) {
	c.spare = commandWords{c.flagWords, c.words}
	c.flagWords, c.words, c.version = next.flagWords, next.words, c.unit.version
	l := &c.unit.lines[c.line]
	c.first, c.raw = l.first, c.unit.text[l.first:l.last]
}

// scan reads the words and flags of an assignment into the spare room.
func (c *UnitCommand) scan(text string, l *unitLine) (commandWords, error) {
	room, next := c.unit.room, c.spare
	words, err := scanWords(text, l.first, l.last, room.words.list(next.words, 4+(l.last-l.first)/16))
	if err != nil || len(words) == 0 {
		return commandWords{}, err
	}
	next.words = words
	next.tokens = flagTokens(words, room.tokens.list(next.tokens, len(words)))
	next.flags, next.end = parseFlags(room.flags.list(next.flags, len(words)), next.tokens)
	return next, nil
}

// prefixes are the characters before a program that change how systemd runs it (man systemd.service, table 2).
const prefixes = "@-:+!|"

// flagTokens returns the words as flags are read from them: without the prefixes of the program, the name that it is
// run under with "@", and the variables that systemd splits.
func flagTokens(words []word, out []token) []token {
	program := strings.TrimLeft(words[0].text, prefixes)
	prefix := words[0].text[:len(words[0].text)-len(program)]
	for i := range words {
		t := token{text: words[i].text, index: int32(i)}
		switch {
		case i == 0:
			t.text = program
		case i == 1 && strings.Contains(prefix, "@"), isSplit(t.text) && !strings.Contains(prefix, ":"):
			t.text = ""
		}
		out = append(out, t)
	}
	return out
}

// isSplit reports whether an argument is a variable without braces, which systemd splits at white space.
func isSplit(text string) bool {
	return len(text) > 1 && text[0] == '$' && text[1] != '{' && text[1] != '$'
}
