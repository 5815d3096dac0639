// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// CommandLine reads command and args of a container as one list of flags, and edits them in place.
//
// Names have no dashes, and "_" is the same as "-" in them, as in the flag sets of Kubernetes' components; --name and
// -name are the same flag. The forms are --name=value, --name value and the bare --name. An element after a name is
// its value if it is not empty and does not begin with "-", because these components take no other arguments.
type CommandLine struct {
	FlagList

	container *document.Node
	spare     Words // room for the next plan
	version   int   // of the document when it was read
	first     bool  // nothing had edited it before it was read
}

// CommandLineOf reads the command line of a container, an object with command and args. Both may be absent. The error
// is ErrShell or ErrNotString.
func CommandLineOf(container *document.Node) (*CommandLine, error) {
	if container.Kind() != document.Object {
		return nil, fmt.Errorf("reading a command line: %w", document.ErrKind)
	}
	c := lines.Get().(*CommandLine)
	c.container = container
	container.ReleaseWith(c)
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("reading a command line: %w", err)
	}
	c.first = !slices.ContainsFunc(lists[:], func(list string) bool { return container.IsTouched(list) })
	c.initial = append(c.initial[:0], c.Flags...)
	return c, nil
}

// lines are command lines of documents that were released; their words are used again.
var lines = sync.Pool{New: func() any {
	c := &CommandLine{}
	c.FlagList = NewFlagList(c.readAgain, c.apply)
	return c
}}

// Release gives the words to the next command line. A document does it when it is released itself.
func (c *CommandLine) Release() {
	for _, words := range []*Words{&c.Words, &c.spare} {
		clear(words.Tokens[:cap(words.Tokens)])
		clear(words.Flags[:cap(words.Flags)])
		*words = Words{Tokens: words.Tokens[:0], Flags: words.Flags[:0]}
	}
	clear(c.initial[:cap(c.initial)])
	c.initial, c.container, c.version, c.first = c.initial[:0], nil, 0, false
	lines.Put(c)
}

// Changed returns the differences between a container in the document's original, was, and in its root, is. It returns
// false if they are unknown: the command line was read from another container, or after an edit of it.
func (c *CommandLine) Changed(was, is *document.Node) ([]string, bool) {
	if !c.first || is != c.container || !is.Replaces(was) {
		return nil, false
	}
	names, err := c.changed()
	return names, err == nil
}

// Program returns the elements before the first flag.
func (c *CommandLine) Program() []string {
	if c.readAgain() != nil {
		return nil
	}
	var out []string
	for _, t := range c.Tokens[:ProgramEnd(c.Tokens)] {
		out = append(out, t.Text)
	}
	return out
}

// readAgain reads the elements again if the document was edited since.
func (c *CommandLine) readAgain() error {
	if c.version == c.container.Version() {
		return nil
	}
	return c.read()
}

// Holds reports whether an occurrence has the value.
func (w Want) Holds(f Flag) bool {
	return f.Value == w.Value && (f.Form == Bare) == w.Bare
}

// apply gives the occurrences of a flag their values. It changes a copy of the tokens first, and the document only if
// every other flag is read from that copy as before.
func (c *CommandLine) apply(what, name string, wanted []Want) error {
	fail := func(err error) error { return fmt.Errorf("%s flag --%s: %w", what, name, err) }
	if !Writable(name, wanted) {
		return fail(ErrFlag)
	}
	if err := c.container.Editable(); err != nil {
		return fail(err)
	}
	if err := c.readAgain(); err != nil {
		return fail(err)
	}
	p := Plan{Name: Normalize(name), End: c.End, list: c.list()}
	for _, f := range c.Flags {
		if f.Name == p.Name {
			p.Found = append(p.Found, f)
		}
	}
	if slices.EqualFunc(wanted, p.Found, Want.Holds) {
		return nil
	}
	p.Tokens = append(slices.Grow(c.spare.Tokens[:0], len(c.Tokens)+len(wanted)), c.Tokens...)
	p.Make(name, wanted)
	left := p.Tokens
	if p.Shorter {
		left = slices.DeleteFunc(slices.Clone(p.Tokens), func(t Token) bool { return t.State == Dropped })
	}
	next := Words{Tokens: left}
	next.Flags, next.End = ParseFlags(slices.Grow(c.spare.Flags[:0], len(c.Flags)+len(wanted)), left)
	if !p.Keeps(c.Flags, next.Flags, wanted) {
		return fail(ErrAmbiguous)
	}
	if err := c.write(p.Tokens); err != nil {
		return fail(err)
	}
	next.Tokens = renumber(left)
	c.Words, c.spare = next, c.Words
	c.version = c.container.Version()
	return nil
}

// renumber gives the elements their places behind an edit.
func renumber(tokens []Token) []Token {
	var next [len(lists)]int32
	for i := range tokens {
		t := &tokens[i]
		t.State, t.Index = Kept, next[t.list]
		next[t.list]++
	}
	return tokens
}

// Writable reports whether a flag is read back as it was written.
func Writable(name string, wanted []Want) bool {
	body, ok := flagBody("--" + name)
	return ok && body == name && !strings.Contains(name, "=") && utf8.ValidString(name) &&
		!slices.ContainsFunc(wanted, func(w Want) bool { return !utf8.ValidString(w.Value) })
}

// Plan is a list of tokens during an edit.
type Plan struct {
	Tokens  []Token
	End     int // where new flags go
	Name    string
	Found   []Flag // the occurrences
	Shorter bool   // a token was dropped
	list    uint8  // of new flags
}

// Make edits occurrences in place. If some are surplus, those at the head and the tail that are right already stay.
func (p *Plan) Make(name string, wanted []Want) {
	found, surplus := p.Found, len(p.Found)-len(wanted)
	for surplus > 0 && len(wanted) > 0 && wanted[0].Holds(found[0]) {
		found, wanted = found[1:], wanted[1:]
	}
	for surplus > 0 && len(wanted) > 0 && wanted[len(wanted)-1].Holds(found[len(found)-1]) {
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
func (p *Plan) write(f Flag, w Want) {
	if w.Holds(f) {
		return
	}
	if f.Form == Spaced && !w.Bare && isValue(w.Value) {
		p.Tokens[f.At+1].rewrite(w.Value)
		return
	}
	spelled, _, _ := strings.Cut(p.Tokens[f.At].Text, "=")
	if !w.Bare {
		spelled += "=" + w.Value
	}
	p.Tokens[f.At].rewrite(spelled)
	if f.Form == Spaced {
		p.Shorter, p.Tokens[f.At+1].State = true, Dropped
	}
}

func (t *Token) rewrite(text string) {
	if t.Text != text {
		t.Text, t.State = text, Rewritten
	}
}

func (p *Plan) drop(f Flag) {
	p.Shorter, p.Tokens[f.At].State = true, Dropped
	if f.Form == Spaced {
		p.Tokens[f.At+1].State = Dropped
	}
}

// append adds flags where new ones go.
func (p *Plan) append(name string, wanted []Want) {
	tokens := make([]Token, len(wanted))
	for i, w := range wanted {
		tokens[i] = Token{Text: "--" + name, list: p.list, State: Fresh}
		if !w.Bare {
			tokens[i].Text += "=" + w.Value
		}
	}
	p.Tokens = slices.Insert(p.Tokens, p.End, tokens...)
}

// list returns where new flags go: to args, to command if args is empty, or in front of a "--" that ends the flags.
func (c *CommandLine) list() uint8 {
	switch {
	case c.End < len(c.Tokens):
		return c.Tokens[c.End].list
	case len(c.Tokens) > 0:
		return c.Tokens[len(c.Tokens)-1].list
	default:
		return uint8(slices.Index(lists[:], "args"))
	}
}

// Keeps compares the flags before and after the plan: this flag must have the wanted values, and all other flags must
// be unchanged.
func (p *Plan) Keeps(before, after []Flag, wanted []Want) bool {
	for _, f := range before {
		if f.Name == p.Name {
			continue
		}
		for len(after) > 0 && after[0].Name == p.Name {
			if len(wanted) == 0 || !wanted[0].Holds(after[0]) {
				return false
			}
			after, wanted = after[1:], wanted[1:]
		}
		if len(after) == 0 || after[0].Name != f.Name || after[0].Value != f.Value || after[0].Form != f.Form {
			return false
		}
		after = after[1:]
	}
	mine := func(w Want, f Flag) bool { return f.Name == p.Name && w.Holds(f) }
	return slices.EqualFunc(wanted, after, mine)
}

// write writes a plan into the document: removals from the back, so that the places in front stay, then the rest.
func (c *CommandLine) write(tokens []Token) error {
	for _, t := range slices.Backward(tokens) {
		if t.State == Dropped {
			c.container.Get(lists[t.list]).RemoveItem(int(t.Index))
		}
	}
	var next [len(lists)]int
	for _, t := range tokens {
		if t.State == Dropped {
			continue
		}
		i := next[t.list]
		next[t.list]++
		if t.State == Rewritten {
			if err := c.container.Get(lists[t.list]).Item(i).Replace(document.Quote(t.Text)); err != nil {
				return err
			}
		}
		if t.State != Fresh {
			continue
		}
		list, err := c.container.Ensure(lists[t.list], document.Array)
		if err != nil {
			return err
		}
		if _, err := list.Insert(i, document.Quote(t.Text)); err != nil {
			return err
		}
	}
	return nil
}

// read takes the elements of both lists from the document.
func (c *CommandLine) read() error {
	const spare = 4 // for flags to come
	count := spare
	for _, list := range lists {
		count += c.container.Get(list).Len()
	}
	c.Tokens = slices.Grow(c.Tokens[:0], count)
	for list := range lists {
		if err := c.readList(uint8(list)); err != nil {
			return err
		}
	}
	if RunsShell(c.Tokens) {
		return ErrShell
	}
	c.Flags, c.End = ParseFlags(slices.Grow(c.Flags[:0], count), c.Tokens)
	c.version = c.container.Version()
	return nil
}

// readList appends the elements of a list.
func (c *CommandLine) readList(list uint8) error {
	elements := c.container.Get(lists[list])
	switch kind := elements.Kind(); kind {
	case document.Array:
	case document.Null, document.Invalid:
		return nil
	default:
		return fmt.Errorf("%s is a %s: %w", lists[list], kind, ErrNotString)
	}
	first := len(c.Tokens)
	for text, kind := range elements.Texts {
		if kind != document.String {
			return fmt.Errorf("element %d of %s is a %s: %w", len(c.Tokens)-first, lists[list], kind, ErrNotString)
		}
		c.Tokens = append(c.Tokens, Token{Text: text, list: list, Index: int32(len(c.Tokens) - first)})
	}
	return nil
}
