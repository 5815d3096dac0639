// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// CommandLine reads command and args of a container as one list of flags, and edits them in place.
//
// Names have no dashes, and "_" is the same as "-" in them, as in the flag sets of Kubernetes' components; --name and
// -name are the same flag. The forms are --name=value, --name value and the bare --name. An element after a name is
// its value if it is not empty and does not begin with "-", because these components take no other arguments.
type CommandLine struct {
	FlagList

	container *Node
	spare     flagWords // room for the next plan
	version   int       // of the document when it was read
	first     bool      // nothing had edited it before it was read
}

// Flag is one occurrence of a flag.
type Flag struct {
	Name  string // without dashes, with "-" for "_"
	Value string // "" for a bare flag
	Bare  bool   // without a value
	List  string // "command" or "args"
	Index int    // of the element that holds the name
}

// CommandLineOf reads the command line of a container, an object with command and args. Both may be absent. The error
// is ErrShell or ErrNotString.
func CommandLineOf(container *Node) (*CommandLine, error) {
	c := &CommandLine{container: container}
	c.home = c
	if container.Kind() != Object {
		return nil, fmt.Errorf("reading a command line: %w", ErrKind)
	}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("reading a command line: %w", err)
	}
	c.first = !slices.ContainsFunc(lists[:], func(list string) bool { return container.member(list).touched() })
	c.came = container.doc.room.flags.take(len(c.flags))
	copy(c.came, c.flags)
	return c, nil
}

// Changed returns the differences between a container in the document's original, was, and in its root, is. It returns
// false if they are unknown: the command line was read from another container, or after an edit of it.
func (c *CommandLine) Changed(was, is *Node) ([]string, bool) {
	k := c.container
	if !c.first || is != k || k.gone || k.replaced || k.parent == nil || k.parent.text != was.text || k.was != was.at {
		return nil, false
	}
	names, err := c.changed()
	return names, err == nil
}

// Flags iterates over a snapshot of all flags in their order; the command line may be edited during the iteration.
func (c *CommandLine) Flags() iter.Seq[Flag] {
	return func(yield func(Flag) bool) {
		if c.refresh() != nil {
			return
		}
		out := make([]Flag, len(c.flags))
		for i, f := range c.flags {
			t := &c.tokens[f.at]
			out[i] = Flag{Name: f.name, Value: f.value, Bare: f.form == bare, List: lists[t.list], Index: int(t.index)}
		}
		for _, f := range out {
			if !yield(f) {
				return
			}
		}
	}
}

// Program returns the elements before the first flag.
func (c *CommandLine) Program() []string {
	if c.refresh() != nil {
		return nil
	}
	var out []string
	for _, t := range c.tokens[:programEnd(c.tokens)] {
		out = append(out, t.text)
	}
	return out
}

// refresh reads the elements again if the document was edited since.
func (c *CommandLine) refresh() error {
	if c.version == c.container.doc.version {
		return nil
	}
	return c.read()
}

func (w want) holds(f flag) bool {
	return f.value == w.value && (f.form == bare) == w.bare
}

// edit sets the occurrences of a flag to the wanted ones. It first changes a copy of the tokens, and the document only
// if all other flags are parsed from that copy as before.
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

// plan is a list of tokens during an edit.
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

// keeps compares the flags before and after the plan: this flag must have the wanted values, and all other flags must
// be unchanged.
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
