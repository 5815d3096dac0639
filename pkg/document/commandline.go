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
	container *Node
	tokens    []token
	flags     []flag
	spare     []token // room for the next plan
	parsed    []flag  // room for its flags
	end       int     // index of the "--" that ends the flags, or the number of tokens
	version   int     // of the document when it was read
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
	if container.Kind() != Object {
		return nil, fmt.Errorf("reading a command line: %w", ErrKind)
	}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("reading a command line: %w", err)
	}
	return c, nil
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

// Values returns the value of every occurrence of a flag, in order, "" for a bare one; nil if there is none.
func (c *CommandLine) Values(name string) []string {
	if c.refresh() != nil {
		return nil
	}
	return valuesOf(c.flags, normalize(name))
}

// Has reports whether a flag stands in the command line.
func (c *CommandLine) Has(name string) bool {
	name = normalize(name)
	return c.refresh() == nil && slices.ContainsFunc(c.flags, func(f flag) bool { return f.name == name })
}

// Names returns the names of all flags, each once, in the order of their first occurrence.
func (c *CommandLine) Names() []string {
	if c.refresh() != nil {
		return nil
	}
	var out []string
	seen := make(map[string]bool, len(c.flags))
	for i := range c.flags {
		if name := c.flags[i].name; !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// Differences returns the names of the flags whose values are not the same in another command line, in the order in
// which they stand in the two; a name may come twice.
func (c *CommandLine) Differences(other *CommandLine) []string {
	if c.refresh() != nil || other.refresh() != nil {
		return nil
	}
	return differences(c.flags, other.flags)
}

// Set gives a flag exactly these values, one for each occurrence. Occurrences are edited where they stand and keep
// their form, surplus ones are removed, and missing ones go to the end of args, or of command if args is empty.
// Without values it is Remove. Nothing is edited if all is so already.
func (c *CommandLine) Set(name string, values ...string) error {
	wanted := make([]want, len(values))
	for i, value := range values {
		wanted[i].value = value
	}
	return c.edit("setting", name, wanted)
}

// SetBare leaves exactly one occurrence of a flag, without a value.
func (c *CommandLine) SetBare(name string) error {
	return c.edit("setting", name, []want{{bare: true}})
}

// Remove takes all occurrences of a flag out, with their values.
func (c *CommandLine) Remove(name string) error {
	return c.edit("removing", name, nil)
}

// refresh reads the elements again if the document was edited since.
func (c *CommandLine) refresh() error {
	if c.version == c.container.doc.version {
		return nil
	}
	return c.read()
}
