// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// lists are the members of a container that make its command line.
var lists = [...]string{"command", "args"}

// token is one element of the command line.
type token struct {
	text  string
	index int32 // in its list; fresh for an element that is not there yet
	list  uint8 // index in lists
	state tokenState
}

// tokenState is what an edit plans for an element.
type tokenState uint8

const (
	kept tokenState = iota
	rewritten
	dropped
	fresh
)

// form is the way in which a flag carries its value.
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

// read takes the elements of both lists from the document.
func (c *CommandLine) read() error {
	const spare = 4 // for flags to come
	room, count := c.container.doc.room, spare
	for _, list := range lists {
		count += c.container.Get(list).Len()
	}
	c.tokens = room.tokens.list(c.tokens, count)
	for list := range lists {
		if err := c.readList(uint8(list)); err != nil {
			return err
		}
	}
	if runsShell(c.tokens) {
		return ErrShell
	}
	c.flags, c.end = parseFlags(room.flags.list(c.flags, count), c.tokens)
	c.version = c.container.doc.version
	return nil
}

// readList makes one copy of all elements and takes each from it, which spares an allocation and a node for each.
func (c *CommandLine) readList(list uint8) error {
	elements := c.container.Get(lists[list])
	switch kind := elements.Kind(); kind {
	case Array:
	case Null, Invalid:
		return nil
	default:
		return fmt.Errorf("%s is a %s: %w", lists[list], kind, ErrNotString)
	}
	first := len(c.tokens)
	var whole strings.Builder
	whole.Grow(len(elements.text.bytesAt(elements.at)))
	for t, i := range elements.values {
		if kind := t.entries[i].kind; kind != String {
			return fmt.Errorf("element %d of %s is a %s: %w", len(c.tokens)-first, lists[list], kind, ErrNotString)
		}
		start := whole.Len()
		t.writeString(&whole, i)
		c.tokens = append(c.tokens, token{text: whole.String()[start:], list: list, index: int32(len(c.tokens) - first)})
	}
	return nil
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

// differences returns the names of the flags whose values are not the same in two lists. Flags that stand in both at the
// same place from the beginning or from the end are compared one by one, so that the usual few edits cost one pass.
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

// runsShell reports whether the program is a shell with a text to run, as in sh -c "...", be it behind others.
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
