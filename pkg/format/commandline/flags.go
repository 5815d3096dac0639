// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// The errors of command lines, to be found with errors.Is.
var (
	// ErrShell means that the command is a text for a shell, so that its flags cannot be parsed.
	ErrShell = errors.New("command is run by a shell")
	// ErrNotString marks an element of command or args that is no string, or one of them that is no list.
	ErrNotString = errors.New("command line is not a list of strings")
	// ErrAmbiguous marks an edit after which the other elements would be read in another way.
	ErrAmbiguous = errors.New("edit would change the meaning of another argument")
	// ErrFlag marks a flag that cannot be written: a name that is empty, begins with "-" or holds "=", a name or value
	// that is not UTF-8.
	ErrFlag = errors.New("invalid flag")
)

// Want is the value that one occurrence of a flag gets.
type Want struct {
	Value string
	Bare  bool
}

// lists are the members of a container that make its command line.
var lists = [...]string{"command", "args"}

// Token is one word of a command line.
type Token struct {
	Text  string
	Index int32 // of the word in its list
	State TokenState
	list  uint8 // index in lists
}

// TokenState is the planned edit of a word.
type TokenState uint8

// The states of a word.
const (
	Kept TokenState = iota
	Rewritten
	Dropped
	Fresh
)

// Form is the notation of a flag with its value.
type Form uint8

// The forms of flags.
const (
	Joined Form = iota // --name=value
	Spaced             // --name value
	Bare               // --name
)

// Flag is one occurrence of a flag in a list of tokens.
type Flag struct {
	Name, Value string
	Form        Form
	At          int // the token of the name
}

// ParseFlags returns the flags of a command line, in the memory of others that are not used any more, and where they end.
func ParseFlags(others []Flag, tokens []Token) (flags []Flag, end int) {
	flags = slices.Grow(others[:0], len(tokens))
	for i := ProgramEnd(tokens); i < len(tokens); i++ {
		text := tokens[i].Text
		if text == "--" {
			return flags, i
		}
		body, ok := flagBody(text)
		if !ok {
			continue
		}
		f := Flag{Form: Bare, At: i}
		if end := strings.IndexByte(body, '='); end >= 0 {
			f.Name, f.Value, f.Form = Normalize(body[:end]), body[end+1:], Joined
		} else {
			f.Name = Normalize(body)
			if i+1 < len(tokens) && isValue(tokens[i+1].Text) {
				i++
				f.Value, f.Form = tokens[i].Text, Spaced
			}
		}
		flags = append(flags, f)
	}
	return flags, len(tokens)
}

// flagBody returns an element without its dashes, false if it is no flag.
func flagBody(text string) (string, bool) {
	body, ok := strings.CutPrefix(text, "-")
	if !ok {
		return "", false
	}
	body = strings.TrimPrefix(body, "-")
	return body, body != "" && body[0] != '-' && body[0] != '='
}

// isValue reports whether an element can be the value of the name before it.
func isValue(text string) bool {
	return text != "" && text[0] != '-'
}

// inits are programs that run the program behind their "--".
var inits = []string{"tini", "dumb-init", "catatonit", "docker-init"}

// ProgramEnd returns the index of the first token behind the program: the first one with a dash, or that behind the
// "--" of an init and the name of the program that it runs.
func ProgramEnd(tokens []Token) int {
	dashed := func(t Token) bool { return strings.HasPrefix(t.Text, "-") }
	from := 0
	if len(tokens) > 0 && slices.Contains(inits, path.Base(tokens[0].Text)) {
		from = 1 + slices.IndexFunc(tokens, func(t Token) bool { return t.Text == "--" })
	}
	if next := slices.IndexFunc(tokens[from:], dashed); next >= 0 {
		return from + next
	}
	return len(tokens)
}

var shells = []string{"sh", "ash", "bash", "dash", "ksh", "zsh", "busybox"}

// RunsShell reports whether the program is a shell with a text to run, as in sh -c "...", possibly after other
// programs.
func RunsShell(tokens []Token) bool {
	for i := range tokens[:ProgramEnd(tokens)] {
		if !slices.Contains(shells, path.Base(tokens[i].Text)) {
			continue
		}
		for _, t := range tokens[i+1:] {
			if !strings.HasPrefix(t.Text, "-") && !slices.Contains(shells, t.Text) {
				break
			}
			if !strings.HasPrefix(t.Text, "--") && strings.HasPrefix(t.Text, "-") && strings.Contains(t.Text, "c") {
				return true
			}
		}
	}
	return false
}

// Normalize makes names comparable as the flag sets of Kubernetes do (k8s.io/component-base/cli/flag).
func Normalize(name string) string {
	if strings.IndexByte(name, '_') < 0 {
		return name
	}
	return strings.ReplaceAll(name, "_", "-")
}

// FlagList holds the flags of a command line in any place. It parses them again after edits of the place. Names have no
// dashes, and "_" equals "-" in them.
type FlagList struct {
	Words

	refresh func() error
	edit    func(what, name string, wanted []Want) error
}

// NewFlagList returns the flags of a place. refresh parses Words again if the place was edited; edit sets the
// occurrences of a flag to the wanted ones, and uses what in its errors.
func NewFlagList(refresh func() error, edit func(what, name string, wanted []Want) error) FlagList {
	return FlagList{refresh: refresh, edit: edit}
}

// Words are the words of a command line with the flags in them.
type Words struct {
	Tokens []Token
	Flags  []Flag
	End    int // index of the "--" that ends the flags, or the number of words
}

// clear removes the words and keeps their memory.
func (w *Words) clear() {
	clear(w.Tokens[:cap(w.Tokens)])
	clear(w.Flags[:cap(w.Flags)])
	w.Tokens, w.Flags, w.End = w.Tokens[:0], w.Flags[:0], 0
}

// Values returns the value of every occurrence of a flag, in order, "" for a bare one; nil if there is none.
func (l *FlagList) Values(name string) []string {
	if l.refresh() != nil {
		return nil
	}
	name = Normalize(name)
	var out []string
	for _, f := range l.Flags {
		if f.Name == name {
			out = append(out, f.Value)
		}
	}
	return out
}

// Has reports whether the list contains a flag.
func (l *FlagList) Has(name string) bool {
	name = Normalize(name)
	return l.refresh() == nil && slices.ContainsFunc(l.Flags, func(f Flag) bool { return f.Name == name })
}

// Bare reports whether a flag occurs once and without a value; an empty value is a value.
func (l *FlagList) Bare(name string) bool {
	name = Normalize(name)
	if l.refresh() != nil {
		return false
	}
	named := func(f Flag) bool { return f.Name == name }
	i := slices.IndexFunc(l.Flags, named)
	return i >= 0 && l.Flags[i].Form == Bare && !slices.ContainsFunc(l.Flags[i+1:], named)
}

// Names returns the names of all flags, each once, in the order of their first occurrence.
func (l *FlagList) Names() []string {
	if l.refresh() != nil {
		return nil
	}
	var out []string
	for _, f := range l.Flags {
		if !slices.Contains(out, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// Differences returns the names of the flags with different values in another list, in their order in the two.
func (l *FlagList) Differences(other *FlagList) []string {
	if l.refresh() != nil || other.refresh() != nil {
		return nil
	}
	a, b := l.Flags, other.Flags
	var out []string
	for ; len(a) > 0 && len(b) > 0 && a[0].Name == b[0].Name; a, b = a[1:], b[1:] {
		if a[0].Value != b[0].Value && !slices.Contains(out, a[0].Name) {
			out = append(out, a[0].Name)
		}
	}
	for _, f := range slices.Concat(a, b) {
		if !slices.Contains(out, f.Name) && !sameValues(a, b, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// sameValues reports whether a flag has the same values, in the same order, in two lists.
func sameValues(a, b []Flag, name string) bool {
	named := func(f Flag) bool { return f.Name == name }
	for _, f := range a {
		if !named(f) {
			continue
		}
		i := slices.IndexFunc(b, named)
		if i < 0 || b[i].Value != f.Value {
			return false
		}
		b = b[i+1:]
	}
	return !slices.ContainsFunc(b, named)
}

// Set sets the values of a flag, one for each occurrence. Existing occurrences are edited in place and keep their form,
// surplus ones are removed, and missing ones are appended to args, or to command if args is empty; in a unit after the
// last flag, on separate lines if that one starts a line. Without values it removes the flag. Equal values are not an
// edit.
func (l *FlagList) Set(name string, values ...string) error {
	wanted := make([]Want, len(values))
	for i, value := range values {
		wanted[i].Value = value
	}
	return l.edit("setting", name, wanted)
}

// SetBare leaves exactly one occurrence of a flag, without a value.
func (l *FlagList) SetBare(name string) error {
	return l.edit("setting", name, []Want{{Bare: true}})
}

// Remove takes all occurrences of a flag out, with their values, and in a unit with lines of their own. It fails with
// ErrFlag or ErrAmbiguous, and then changes nothing.
func (l *FlagList) Remove(name string) error {
	return l.edit("removing", name, nil)
}
