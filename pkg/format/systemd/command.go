// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// Command reads the command of a unit as a list of flags, and edits them in place by splicing the unit.
//
// Names and forms of flags are those of CommandLine. Quotes and escapes are read and written as systemd does
// (src/basic/extract-word.c); specifiers such as %H and variables such as ${NODE} stay unexpanded in values,
// so that a plain percent sign is "%%". A variable without braces that is an argument of its own, which systemd splits
// into any number of arguments, is neither a flag nor the value of one.
type Command struct {
	commandline.FlagList // of tokens that are the words as flags are read from them

	unit            *Unit
	section, option string
	line            int // index of the assignment
	words           []word
	version         int // of the unit when it was read
}

// Service is the unit of a service with its command.
type Service struct {
	Unit    *Unit
	Command *Command
}

// ParseService reads a service. It fails as Parse does, and as Unit.Command does for ExecStart.
func ParseService(text string) (*Service, error) {
	unit, err := Parse(text)
	if err != nil {
		return nil, err
	}
	command, err := unit.Command("Service", "ExecStart")
	return &Service{unit, command}, err
}

// Command returns the command that an option holds, as ExecStart of Service. Assignments before an empty one do not
// count. The error is ErrNoCommand, ErrSeveralCommands, ErrQuote or commandline.ErrShell.
func (u *Unit) Command(section, option string) (*Command, error) {
	c := &Command{unit: u, section: section, option: option}
	c.FlagList = commandline.NewFlagList(c.refresh, c.edit)
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("reading the command of option %q of section %q: %w", option, section, err)
	}
	return c, nil
}

// Program returns the arguments before the first flag, without the prefixes that systemd gives a meaning to.
func (c *Command) Program() []string {
	if c.refresh() != nil {
		return nil
	}
	var out []string
	for i := range c.words[:commandline.ProgramEnd(c.Tokens)] {
		text := c.words[i].text
		if i == 0 {
			text = strings.TrimLeft(text, prefixes)
		}
		out = append(out, text)
	}
	return out
}

// Fixed returns the words that are neither flags nor values of flags: the program with its prefixes, other arguments, and
// all words that variables or specifiers may make other flags.
func (c *Command) Fixed() []string {
	if c.refresh() != nil {
		return nil
	}
	inFlags := make([]bool, len(c.words))
	for _, f := range c.Flags {
		inFlags[f.At] = true
		if f.Form == commandline.Spaced {
			inFlags[f.At+1] = true
		}
	}
	var out []string
	for i, w := range c.words {
		if !inFlags[i] || mayBecomeFlag(w.text) {
			out = append(out, w.text)
		}
	}
	return out
}

// mayBecomeFlag reports whether an argument begins with a variable or a specifier, or is a flag with one in its name.
func mayBecomeFlag(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	at := strings.IndexAny(name, "$%")
	return at == 0 || at > 0 && text[0] == '-'
}

// bracedVariable matches a variable that systemd expands within an argument.
var bracedVariable = regexp.MustCompile(`\$\{([^}]*)\}`)

// Variables returns the names of the variables in the command.
func (c *Command) Variables() []string {
	if c.refresh() != nil {
		return nil
	}
	var out []string
	for _, w := range c.words {
		if isSplit(w.text) {
			out = append(out, w.text[1:])
			continue
		}
		for _, match := range bracedVariable.FindAllStringSubmatch(w.text, -1) {
			out = append(out, match[1])
		}
	}
	return out
}

// refresh reads the command again if the unit was edited since.
func (c *Command) refresh() error {
	if c.version == c.unit.version && len(c.words) > 0 {
		return nil
	}
	return c.read()
}

// read finds the command and its flags.
func (c *Command) read() error {
	c.words = nil
	line, err := c.find()
	if err != nil {
		return err
	}
	words, flags, err := scanCommand(c.unit.text, &c.unit.lines[line])
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		return ErrNoCommand
	case commandline.RunsShell(flags.Tokens):
		return commandline.ErrShell
	}
	c.line, c.words, c.Words, c.version = line, words, flags, c.unit.version
	return nil
}

// find returns the index of the only assignment that counts.
func (c *Command) find() (int, error) {
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

// scanCommand returns the words and flags of an assignment.
func scanCommand(text string, l *unitLine) ([]word, commandline.Words, error) {
	words, err := scanWords(text, l.first, l.last)
	if err != nil || len(words) == 0 {
		return nil, commandline.Words{}, err
	}
	var flags commandline.Words
	flags.Tokens = flagTokens(words)
	flags.Flags, flags.End = commandline.ParseFlags(nil, flags.Tokens)
	return words, flags, nil
}

// prefixes are the characters before a program that change how systemd runs it (man systemd.service, table 2).
const prefixes = "@-:+!|"

// flagTokens returns the words as flags are read from them: without the prefixes of the program, the name that it is
// run under with "@", and the variables that systemd splits.
func flagTokens(words []word) []commandline.Token {
	out := make([]commandline.Token, 0, len(words))
	program := strings.TrimLeft(words[0].text, prefixes)
	prefix := words[0].text[:len(words[0].text)-len(program)]
	for i := range words {
		t := commandline.Token{Text: words[i].text, Index: int32(i)}
		switch {
		case i == 0:
			t.Text = program
		case i == 1 && strings.Contains(prefix, "@"), isSplit(t.Text) && !strings.Contains(prefix, ":"):
			t.Text = ""
		}
		out = append(out, t)
	}
	return out
}

// isSplit reports whether an argument is a variable without braces, which systemd splits at white space.
func isSplit(text string) bool {
	return len(text) > 1 && text[0] == '$' && text[1] != '{' && text[1] != '$'
}

// edit sets the occurrences of a flag to the wanted ones. It plans the edit on a copy of the words, like CommandLine,
// and changes the unit only if all other words are parsed from the new text as before.
func (c *Command) edit(what, name string, wanted []commandline.Want) error {
	fail := func(err error) error { return fmt.Errorf("%s flag --%s of %s: %w", what, name, c.option, err) }
	if !commandline.Writable(name, wanted) || slices.ContainsFunc(wanted, func(w commandline.Want) bool { return strings.Contains(w.Value, "\x00") }) {
		return fail(commandline.ErrFlag)
	}
	if err := c.refresh(); err != nil {
		return fail(err)
	}
	p := commandline.Plan{Name: commandline.Normalize(name), End: c.behindFlags()}
	for _, f := range c.Flags {
		if f.Name == p.Name {
			p.Found = append(p.Found, f)
		}
	}
	if slices.EqualFunc(wanted, p.Found, commandline.Want.Holds) {
		return nil
	}
	p.Tokens = slices.Clone(c.Tokens)
	p.Make(name, wanted)
	if err := c.write(&p, wanted); err != nil {
		return fail(err)
	}
	return nil
}

// behindFlags returns the index of the word that a new flag goes in front of: the one behind the last flag, or
// without flags the first of the variables at the end.
func (c *Command) behindFlags() int {
	if n := len(c.Flags); n > 0 {
		last := c.Flags[n-1]
		if last.Form == commandline.Spaced {
			return last.At + 2
		}
		return last.At + 1
	}
	end := c.End
	for end > 1 && c.Tokens[end-1].Text == "" && isSplit(c.words[end-1].text) {
		end--
	}
	return end
}

// write splices the words into the unit, unless they would not be read as planned.
func (c *Command) write(p *commandline.Plan, wanted []commandline.Want) error {
	u, before := c.unit, c.unit.lines
	edits, delta := c.splices(p.Tokens)
	var (
		words []word
		flags commandline.Words
	)
	err := u.splice(edits, func() bool {
		if len(u.lines) != len(before) || c.line+1 < len(before) && u.lines[c.line+1].start != before[c.line+1].start+delta {
			return false
		}
		var err error
		words, flags, err = scanCommand(u.text, &u.lines[c.line])
		return err == nil && c.planned(p.Tokens, words) && p.Keeps(c.Flags, flags.Flags, wanted)
	})
	if err != nil {
		return commandline.ErrAmbiguous
	}
	c.words, c.Words, c.version = words, flags, u.version
	return nil
}

// planned reports whether words are those of a plan.
func (c *Command) planned(tokens []commandline.Token, words []word) bool {
	for _, t := range tokens {
		if t.State == commandline.Dropped {
			continue
		}
		text := t.Text
		if t.State == commandline.Kept {
			text = c.words[t.Index].text
		}
		if len(words) == 0 || words[0].text != text {
			return false
		}
		words = words[1:]
	}
	return len(words) == 0
}

// splices returns the edits of the unit for a plan, and the difference in length. A dropped word goes with the space in
// front of it. Comments between the lines of dropped or rewritten words are moved in front of the assignment.
func (c *Command) splices(planned []commandline.Token) (edits []splice, delta int) {
	text, comments, last := c.unit.text, "", 0 // last is where the previous word ends
	for _, t := range planned {
		if t.State == commandline.Fresh {
			edits = append(edits, splice{last, last, c.style() + quoteWord(t.Text)})
			continue
		}
		w := c.words[t.Index]
		switch t.State {
		case commandline.Rewritten:
			comments += commentsIn(text, w.start, w.end)
			edits = append(edits, splice{w.start, w.end, quoteWord(t.Text)})
		case commandline.Dropped:
			comments += commentsIn(text, last, w.end)
			edits = append(edits, splice{last, w.end, ""})
		}
		last = w.end
	}
	begin := c.unit.lines[c.line].start
	edits = slices.Insert(edits, 0, splice{begin, begin, comments})
	for _, s := range edits {
		delta += len(s.text) - (s.end - s.start)
	}
	return edits, delta
}

// style returns the text before a new flag: a line break with the indentation of the last flag if that starts a line.
func (c *Command) style() string {
	i := c.behindFlags()
	if n := len(c.Flags); n > 0 {
		i = c.Flags[n-1].At
	} else if i == len(c.words) {
		return " "
	}
	gap := c.unit.text[c.words[i-1].end:c.words[i].start]
	if !strings.ContainsAny(gap, "\r\n") {
		return " "
	}
	_, first := endOfLine(gap, 0)
	return gap[:first] + gap[strings.LastIndexAny(gap, "\r\n")+1:]
}
