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
	spare     Words   // memory for the next edit
	edited    []Token // memory for the next plan
	version   int     // of the document when it was read
}

// pool has released command lines, whose memory the next ones use.
var pool = sync.Pool{New: func() any {
	c := new(CommandLine)
	c.FlagList = NewFlagList(c.readAgain, c.apply)
	return c
}}

// CommandLineOf reads the command line of a container, an object with command and args. Both may be absent. The error
// is ErrShell or ErrNotString. Releasing it is optional.
func CommandLineOf(container *document.Node) (*CommandLine, error) {
	if container.Kind() != document.Object {
		return nil, fmt.Errorf("reading a command line: %w", document.ErrKind)
	}
	c := pool.Get().(*CommandLine)
	c.container = container
	if err := c.read(); err != nil {
		c.Release()
		return nil, fmt.Errorf("reading a command line: %w", err)
	}
	return c, nil
}

// mostPooled limits the words of a command line that is kept for others, so that a very long one does not stay in memory.
const mostPooled = 1024

// Release makes the memory available to other command lines. The command line must not be used afterwards; strings that
// it returned stay valid.
func (c *CommandLine) Release() {
	if max(cap(c.Tokens), cap(c.spare.Tokens), cap(c.edited)) > mostPooled {
		return
	}
	c.container = nil
	c.Words.clear()
	c.spare.clear()
	clear(c.edited[:cap(c.edited)])
	pool.Put(c)
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
	c.edited = append(c.edited[:0], c.Tokens...)
	p.Tokens = c.edited
	p.Make(name, wanted)
	c.edited = p.Tokens
	left := slices.DeleteFunc(append(c.spare.Tokens[:0], p.Tokens...), func(t Token) bool { return t.State == Dropped })
	next := Words{Tokens: renumber(left)}
	next.Flags, next.End = ParseFlags(c.spare.Flags, left)
	if !p.Keeps(c.Flags, next.Flags, wanted) {
		return fail(ErrAmbiguous)
	}
	if err := c.write(p.Tokens); err != nil {
		return fail(err)
	}
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
	Tokens []Token
	End    int // where new flags go
	Name   string
	Found  []Flag // the occurrences
	list   uint8  // of new flags
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
		p.Tokens[f.At+1].State = Dropped
	}
}

func (t *Token) rewrite(text string) {
	if t.Text != text {
		t.Text, t.State = text, Rewritten
	}
}

func (p *Plan) drop(f Flag) {
	p.Tokens[f.At].State = Dropped
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
	c.Tokens = c.Tokens[:0]
	for list := range lists {
		if err := c.readList(uint8(list)); err != nil {
			return err
		}
	}
	if RunsShell(c.Tokens) {
		return ErrShell
	}
	c.Flags, c.End = ParseFlags(c.Flags, c.Tokens)
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
	c.Tokens = slices.Grow(c.Tokens, elements.Len())
	for text, kind := range elements.Texts() {
		index := len(c.Tokens) - first
		if kind != document.String {
			return fmt.Errorf("element %d of %s is a %s: %w", index, lists[list], kind, ErrNotString)
		}
		c.Tokens = append(c.Tokens, Token{Text: text, list: list, Index: int32(index)})
	}
	return nil
}
