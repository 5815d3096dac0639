// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// The errors of command lines, to be found with errors.Is.
var (
	// ErrShell marks a command that is a text for a shell, whose flags cannot be read.
	ErrShell = errors.New("command is run by a shell")
	// ErrNotString marks an element of command or args that is no string, or one of them that is no list.
	ErrNotString = errors.New("command line is not a list of strings")
	// ErrAmbiguous marks an edit after which the other elements would be read in another way.
	ErrAmbiguous = errors.New("edit would change the meaning of another argument")
	// ErrFlag marks a flag that cannot be written: a name that is empty, begins with "-" or holds "=", a name or value
	// that is not UTF-8.
	ErrFlag = errors.New("invalid flag")
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

// Changed is Differences between a container in the original of the document, as was, and the same in its root, as is. It is false
// if it cannot tell: the command line was read from another container, or after an edit of it.
func (c *CommandLine) Changed(was, is *Node) ([]string, bool) {
	k := c.container
	if !c.first || is != k || k.gone || k.replaced || k.parent == nil || k.parent.text != was.text || k.was != was.at {
		return nil, false
	}
	names, err := c.changed()
	return names, err == nil
}

// Flags ranges over all flags in their order, as they are when it begins; the command line may be edited meanwhile.
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
