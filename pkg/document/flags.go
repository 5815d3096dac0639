// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

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

// want is the wanted value of one occurrence of a flag.
type want struct {
	value string
	bare  bool
}

// lists are the members of a container that make its command line.
var lists = [...]string{"command", "args"}

// token is one element of the command line.
type token struct {
	text  string
	index int32 // in its list; fresh for an element that is not there yet
	list  uint8 // index in lists
	state tokenState
}

// tokenState is the planned edit of an element.
type tokenState uint8

const (
	kept tokenState = iota
	rewritten
	dropped
	fresh
)

// form is the notation of a flag with its value.
type form uint8

const (
	joined form = iota // --name=value
	spaced             // --name value
	bare               // --name
)

// flag is one occurrence of a flag in a list of tokens.
type flag struct {
	name, value string
	form        form
	at          int // the token of the name
}

// parseFlags appends the flags of a command line to dst, and returns where they end.
func parseFlags(dst []flag, tokens []token) ([]flag, int) {
	for i := programEnd(tokens); i < len(tokens); i++ {
		text := tokens[i].text
		if text == "--" {
			return dst, i
		}
		body, ok := flagBody(text)
		if !ok {
			continue
		}
		f := flag{form: bare, at: i}
		if end := strings.IndexByte(body, '='); end >= 0 {
			f.name, f.value, f.form = normalize(body[:end]), body[end+1:], joined
		} else {
			f.name = normalize(body)
			if i+1 < len(tokens) && isValue(tokens[i+1].text) {
				i++
				f.value, f.form = tokens[i].text, spaced
			}
		}
		dst = append(dst, f)
	}
	return dst, len(tokens)
}

// valuesOf returns the values of all occurrences of a flag.
func valuesOf(flags []flag, name string) []string {
	var out []string
	for i := range flags {
		if flags[i].name == name {
			out = append(out, flags[i].value)
		}
	}
	return out
}

// differences returns the names of the flags with different values in two lists. Flags at the same position from the
// start or from the end are compared one by one, so that the usual few edits take one pass.
func differences(before, after []flag) []string {
	a, b := before, after
	var out []string
	for len(a) > 0 && len(b) > 0 && a[0].name == b[0].name {
		if a[0].value != b[0].value {
			out = append(out, a[0].name)
		}
		a, b = a[1:], b[1:]
	}
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail].name == b[len(b)-1-tail].name {
		tail++
	}
	for _, middle := range [][]flag{a[:len(a)-tail], b[:len(b)-tail]} {
		for _, f := range middle {
			if !slices.Equal(valuesOf(before, f.name), valuesOf(after, f.name)) {
				out = append(out, f.name)
			}
		}
	}
	for a, b = a[len(a)-tail:], b[len(b)-tail:]; len(a) > 0; a, b = a[1:], b[1:] {
		if a[0].value != b[0].value {
			out = append(out, a[0].name)
		}
	}
	return out
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

// programEnd returns the index of the first token behind the program: the first one with a dash, or that behind the
// "--" of an init and the name of the program that it runs.
func programEnd(tokens []token) int {
	dashed := func(t token) bool { return strings.HasPrefix(t.text, "-") }
	from := 0
	if len(tokens) > 0 && slices.Contains(inits, path.Base(tokens[0].text)) {
		from = 1 + slices.IndexFunc(tokens, func(t token) bool { return t.text == "--" })
	}
	if next := slices.IndexFunc(tokens[from:], dashed); next >= 0 {
		return from + next
	}
	return len(tokens)
}

var shells = []string{"sh", "ash", "bash", "dash", "ksh", "zsh", "busybox"}

// runsShell reports whether the program is a shell with a text to run, as in sh -c "...", possibly after other
// programs.
func runsShell(tokens []token) bool {
	for i := range tokens[:programEnd(tokens)] {
		if !slices.Contains(shells, path.Base(tokens[i].text)) {
			continue
		}
		for _, t := range tokens[i+1:] {
			if !strings.HasPrefix(t.text, "-") && !slices.Contains(shells, t.text) {
				break
			}
			if !strings.HasPrefix(t.text, "--") && strings.HasPrefix(t.text, "-") && strings.Contains(t.text, "c") {
				return true
			}
		}
	}
	return false
}

// normalize makes names comparable as the flag sets of Kubernetes do (k8s.io/component-base/cli/flag).
func normalize(name string) string {
	if strings.IndexByte(name, '_') < 0 {
		return name
	}
	return strings.ReplaceAll(name, "_", "-")
}

// FlagList is the common part of CommandLine and UnitCommand: the flags in a part of a document, parsed again after
// edits of that part. Names have no dashes, and "_" equals "-" in them.
type FlagList struct {
	flagWords

	came []flag // the flags as they were read first
	home flagHome
}

// flagHome is where the flags stand.
type flagHome interface {
	// refresh parses the flags again if their text was edited since.
	refresh() error
	// edit sets the occurrences of a flag to the wanted ones; what is used in its error.
	edit(what, name string, wanted []want) error
}

// flagWords are words with the flags in them.
type flagWords struct {
	tokens []token
	flags  []flag
	end    int // index of the "--" that ends the flags, or the number of words
}

// Values returns the value of every occurrence of a flag, in order, "" for a bare one; nil if there is none.
func (l *FlagList) Values(name string) []string {
	if l.home.refresh() != nil {
		return nil
	}
	return valuesOf(l.flags, normalize(name))
}

// Has reports whether the list contains a flag.
func (l *FlagList) Has(name string) bool {
	name = normalize(name)
	return l.home.refresh() == nil && slices.ContainsFunc(l.flags, func(f flag) bool { return f.name == name })
}

// Bare reports whether a flag occurs once and without a value; an empty value is a value.
func (l *FlagList) Bare(name string) bool {
	name = normalize(name)
	if l.home.refresh() != nil {
		return false
	}
	named := func(f flag) bool { return f.name == name }
	i := slices.IndexFunc(l.flags, named)
	return i >= 0 && l.flags[i].form == bare && !slices.ContainsFunc(l.flags[i+1:], named)
}

// Names returns the names of all flags, each once, in the order of their first occurrence.
func (l *FlagList) Names() []string {
	if l.home.refresh() != nil {
		return nil
	}
	var out []string
	seen := make(map[string]bool, len(l.flags))
	for i := range l.flags {
		if name := l.flags[i].name; !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// Differences returns the names of the flags with different values in another list, in their order in the two; a name
// may occur twice.
func (l *FlagList) Differences(other *FlagList) []string {
	if l.home.refresh() != nil || other.home.refresh() != nil {
		return nil
	}
	return differences(l.flags, other.flags)
}

// changed returns the differences from the original flags.
func (l *FlagList) changed() ([]string, error) {
	if err := l.home.refresh(); err != nil {
		return nil, err
	}
	return differences(l.came, l.flags), nil
}

// Set sets the values of a flag, one for each occurrence. Existing occurrences are edited in place and keep their form,
// surplus ones are removed, and missing ones are appended to args, or to command if args is empty; in a unit after the
// last flag, on separate lines if that one starts a line. Without values it removes the flag. Equal values are not an
// edit.
func (l *FlagList) Set(name string, values ...string) error {
	wanted := make([]want, len(values))
	for i, value := range values {
		wanted[i].value = value
	}
	return l.home.edit("setting", name, wanted)
}

// SetBare leaves exactly one occurrence of a flag, without a value.
func (l *FlagList) SetBare(name string) error {
	return l.home.edit("setting", name, []want{{bare: true}})
}

// Remove takes all occurrences of a flag out, with their values, and in a unit with lines of their own.
func (l *FlagList) Remove(name string) error {
	return l.home.edit("removing", name, nil)
}
