// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "slices"

// FlagList is what CommandLine and UnitCommand have in common: the flags that stand somewhere in a document, read again
// whenever that was edited. Names have no dashes, and "_" is the same as "-" in them.
type FlagList struct {
	flagWords

	came []flag // the flags as they were read first
	home flagHome
}

// flagHome is where the flags stand.
type flagHome interface {
	// refresh reads the flags again if what holds them was edited since.
	refresh() error
	// edit makes the occurrences of a flag what is wanted; what says so in an error.
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

// Has reports whether a flag stands in the list.
func (l *FlagList) Has(name string) bool {
	name = normalize(name)
	return l.home.refresh() == nil && slices.ContainsFunc(l.flags, func(f flag) bool { return f.name == name })
}

// Bare reports whether a flag stands in the list once and without a value; with an empty one it does not.
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

// Differences returns the names of the flags whose values are not the same in another list, in the order in which they
// stand in the two; a name may come twice.
func (l *FlagList) Differences(other *FlagList) []string {
	if l.home.refresh() != nil || other.home.refresh() != nil {
		return nil
	}
	return differences(l.flags, other.flags)
}

// changed is Differences from what was read first.
func (l *FlagList) changed() ([]string, error) {
	if err := l.home.refresh(); err != nil {
		return nil, err
	}
	return differences(l.came, l.flags), nil
}

// Set gives a flag exactly these values, one for each occurrence. Occurrences are edited where they stand and keep their
// form, surplus ones are removed, and missing ones go to the end of args, or of command if args is empty; in a unit behind
// the last flag, on lines of their own if that stands at the beginning of a line. Without values it is Remove. Nothing is
// edited if all is so already.
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
