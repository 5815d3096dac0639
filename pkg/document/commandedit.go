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
	p := plan{name: normalize(name), list: c.list(), end: c.end}
	for _, f := range c.flags {
		if f.name == p.name {
			p.found = append(p.found, f)
		}
	}
	if slices.EqualFunc(wanted, p.found, want.holds) {
		return nil
	}
	room, count := c.container.doc.room, len(c.tokens)+len(wanted)
	p.tokens = append(room.tokens.list(c.spare.tokens, count), c.tokens...)
	p.make(name, wanted)
	left := p.tokens
	if p.shorter {
		left = slices.DeleteFunc(slices.Clone(p.tokens), func(t token) bool { return t.state == dropped })
	}
	next := flagWords{tokens: left}
	next.flags, next.end = parseFlags(room.flags.list(c.spare.flags, count), left)
	if !p.keeps(c.flags, next.flags, wanted) {
		return fail(ErrAmbiguous)
	}
	if err := c.apply(p.tokens); err != nil {
		return fail(err)
	}
	next.tokens = renumber(left)
	c.flagWords, c.spare = next, c.flagWords
	c.version = c.container.doc.version
	return nil
}

// renumber gives the elements their places behind an edit.
func renumber(tokens []token) []token {
	var next [len(lists)]int32
	for i := range tokens {
		t := &tokens[i]
		t.state, t.index = kept, next[t.list]
		next[t.list]++
	}
	return tokens
}

// writableFlag reports whether a flag is read back as it was written.
func writableFlag(name string, wanted []want) bool {
	body, ok := flagBody("--" + name)
	return ok && body == name && !strings.Contains(name, "=") && utf8.ValidString(name) &&
		!slices.ContainsFunc(wanted, func(w want) bool { return !utf8.ValidString(w.value) })
}

// plan is a list of tokens on the way to what is wanted.
type plan struct {
	tokens  []token
	end     int
	name    string
	list    uint8 // where new flags go
	found   []flag
	shorter bool // a token was dropped
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
	if f.form == spaced && !w.bare && isValue(w.value) {
		p.tokens[f.at+1].rewrite(w.value)
		return
	}
	spelled, _, _ := strings.Cut(p.tokens[f.at].text, "=")
	if !w.bare {
		spelled += "=" + w.value
	}
	p.tokens[f.at].rewrite(spelled)
	if f.form == spaced {
		p.shorter, p.tokens[f.at+1].state = true, dropped
	}
}

func (t *token) rewrite(text string) {
	if t.text != text {
		t.text, t.state = text, rewritten
	}
}

func (p *plan) drop(f flag) {
	p.shorter, p.tokens[f.at].state = true, dropped
	if f.form == spaced {
		p.tokens[f.at+1].state = dropped
	}
}

// append adds flags where new ones go.
func (p *plan) append(name string, wanted []want) {
	tokens := make([]token, len(wanted))
	for i, w := range wanted {
		tokens[i] = token{text: "--" + name, list: p.list, state: fresh}
		if !w.bare {
			tokens[i].text += "=" + w.value
		}
	}
	p.tokens = slices.Insert(p.tokens, p.end, tokens...)
}

// list returns where new flags go: to args, to command if args is empty, or in front of a "--" that ends the flags.
func (c *CommandLine) list() uint8 {
	switch {
	case c.end < len(c.tokens):
		return c.tokens[c.end].list
	case len(c.tokens) > 0:
		return c.tokens[len(c.tokens)-1].list
	default:
		return uint8(slices.Index(lists[:], "args"))
	}
}

// keeps compares the flags before and after the plan: this one must be what is wanted, all others what they were.
func (p *plan) keeps(before, after []flag, wanted []want) bool {
	for _, f := range before {
		if f.name == p.name {
			continue
		}
		for len(after) > 0 && after[0].name == p.name {
			if len(wanted) == 0 || !wanted[0].holds(after[0]) {
				return false
			}
			after, wanted = after[1:], wanted[1:]
		}
		if len(after) == 0 || after[0].name != f.name || after[0].value != f.value || after[0].form != f.form {
			return false
		}
		after = after[1:]
	}
	mine := func(w want, f flag) bool { return f.name == p.name && w.holds(f) }
	return slices.EqualFunc(wanted, after, mine)
}

// apply writes a plan into the document: removals from the back, so that the places in front stay, then the rest.
func (c *CommandLine) apply(tokens []token) error {
	for _, t := range slices.Backward(tokens) {
		if t.state == dropped {
			c.container.Get(lists[t.list]).RemoveItem(int(t.index))
		}
	}
	var next [len(lists)]int
	for _, t := range tokens {
		if t.state == dropped {
			continue
		}
		i := next[t.list]
		next[t.list]++
		if t.state == rewritten {
			if err := c.container.Get(lists[t.list]).Item(i).Replace(Quote(t.text)); err != nil {
				return err
			}
		}
		if t.state != fresh {
			continue
		}
		list, err := c.container.Ensure(lists[t.list], Array)
		if err != nil {
			return err
		}
		if _, err := list.Insert(i, Quote(t.text)); err != nil {
			return err
		}
	}
	return nil
}
