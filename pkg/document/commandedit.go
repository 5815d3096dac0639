// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// want is what one occurrence of a flag shall be.
type want struct {
	value string
	bare  bool
}

func (w want) holds(f flag) bool {
	return f.value == w.value && (f.form == bare) == w.bare
}

// edit makes the occurrences of a flag what is wanted. It changes a copy of the tokens first, and the document only
// if every other flag is read from that copy as before.
func (c *CommandLine) edit(what, name string, wanted []want) error {
	fail := func(err error) error { return fmt.Errorf("%s flag --%s: %w", what, name, err) }
	if !writableFlag(name, wanted) {
		return fail(ErrFlag)
	}
	if err := c.container.editable(Object); err != nil {
		return fail(err)
	}
	if err := c.refresh(); err != nil {
		return fail(err)
	}
	p := plan{tokens: slices.Clone(c.tokens), end: c.end, name: normalize(name), list: c.list()}
	for _, f := range c.flags {
		if f.name == p.name {
			p.found = append(p.found, f)
		}
	}
	p.make(name, wanted)
	if !p.changed {
		return nil
	}
	if !p.keeps(c.flags, wanted) {
		return fail(ErrAmbiguous)
	}
	if err := c.apply(p.tokens); err != nil {
		return fail(err)
	}
	return nil
}

// writableFlag reports whether a flag is read back as it was written.
func writableFlag(name string, wanted []want) bool {
	body, ok := flagBody("--" + name)
	return ok && body == name && !strings.Contains(name, "=") && utf8.ValidString(name) &&
		!slices.ContainsFunc(wanted, func(w want) bool { return !utf8.ValidString(w.value) })
}

// plan is a list of tokens on the way to what is wanted. A token that goes has the list "".
type plan struct {
	tokens  []token
	end     int
	name    string
	list    string // where new flags go
	found   []flag
	changed bool
}

// make edits occurrences in place. If some are surplus, those at the head and the tail that are right already stay.
func (p *plan) make(name string, wanted []want) {
	found, surplus := p.found, len(p.found)-len(wanted)
	for surplus > 0 && len(wanted) > 0 && wanted[0].holds(found[0]) {
		found, wanted = found[1:], wanted[1:]
	}
	for surplus > 0 && len(wanted) > 0 && wanted[len(wanted)-1].holds(found[len(found)-1]) {
		found, wanted = found[:len(found)-1], wanted[:len(wanted)-1]
	}
	for i, f := range found {
		if i < len(wanted) {
			p.write(f, wanted[i])
		} else {
			p.drop(f)
		}
	}
	if missing := len(wanted) - len(found); missing > 0 {
		p.append(name, wanted[len(found):])
	}
}

// write gives one occurrence its value, and keeps its form if the value can be written in it.
func (p *plan) write(f flag, w want) {
	if w.holds(f) {
		return
	}
	p.changed = true
	spelled, _, _ := strings.Cut(p.tokens[f.at].text, "=")
	switch {
	case f.form == spaced && !w.bare && isValue(w.value):
		p.tokens[f.at+1].text = w.value
		return
	case w.bare:
		p.tokens[f.at].text = spelled
	default:
		p.tokens[f.at].text = spelled + "=" + w.value
	}
	if f.form == spaced {
		p.tokens[f.at+1].list = ""
	}
}

func (p *plan) drop(f flag) {
	p.changed = true
	p.tokens[f.at].list = ""
	if f.form == spaced {
		p.tokens[f.at+1].list = ""
	}
}

// append adds flags where new ones go.
func (p *plan) append(name string, wanted []want) {
	p.changed = true
	fresh := make([]token, len(wanted))
	for i, w := range wanted {
		fresh[i] = token{text: "--" + name + "=" + w.value, list: p.list}
		if w.bare {
			fresh[i].text = "--" + name
		}
	}
	p.tokens = slices.Insert(p.tokens, p.end, fresh...)
}

// list returns where new flags go: to args, to command if args is empty, or in front of a "--" that ends the flags.
func (c *CommandLine) list() string {
	switch {
	case c.end < len(c.tokens):
		return c.tokens[c.end].list
	case len(c.tokens) > 0:
		return c.tokens[len(c.tokens)-1].list
	default:
		return "args"
	}
}

// keeps reads the tokens of the plan again and compares: the flag must be what was wanted, all others what they were.
func (p *plan) keeps(before []flag, wanted []want) bool {
	left := slices.DeleteFunc(slices.Clone(p.tokens), func(t token) bool { return t.list == "" })
	after, _ := parseFlags(nil, left)
	mine := func(f flag) bool { return f.name == p.name }
	others := func(flags []flag) []flag { return slices.DeleteFunc(slices.Clone(flags), mine) }
	same := func(a, b flag) bool { return a.name == b.name && a.value == b.value && a.form == b.form }
	if !slices.EqualFunc(others(before), others(after), same) {
		return false
	}
	after = slices.DeleteFunc(after, func(f flag) bool { return !mine(f) })
	return slices.EqualFunc(wanted, after, want.holds)
}

// apply writes a plan into the document.
func (c *CommandLine) apply(tokens []token) error {
	left := make([]token, 0, len(tokens))
	length := map[string]int{}
	for _, t := range tokens {
		switch {
		case t.list == "":
			t.node.parent.RemoveItem(t.node.Index())
			continue
		case t.node == nil:
			list, err := c.container.Ensure(t.list, Array)
			if err != nil {
				return err
			}
			if t.node, err = list.Insert(length[t.list], Quote(t.text)); err != nil {
				return err
			}
		case !t.node.Is(t.text):
			if err := t.node.Replace(Quote(t.text)); err != nil {
				return err
			}
		}
		t.index = length[t.list]
		length[t.list]++
		left = append(left, t)
	}
	c.tokens = left
	c.flags, c.end = parseFlags(c.flags[:0], left)
	c.version = c.container.doc.version
	return nil
}
