// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Set gives the value at a path, as JSON. A mapping on the way that is absent or null is made; a new key goes to the
// end of its mapping. Nothing is edited if the value is equal already, numbers compared by value and kind. Of a mapping
// or a list, only what differs is edited: members that are not given are removed, those that stay keep their place and
// comments. The error is ErrSyntax or ErrDuplicateKey for raw, ErrKind for a path through something that is no mapping
// or a document that would be none, ErrYAMLForm.
func (y *YAML) Set(raw []byte, path ...string) error {
	return y.edit("setting", raw, path, false)
}

// Merge is Set, but objects are merged into mappings: members that are not given stay, at every level.
func (y *YAML) Merge(raw []byte, path ...string) error {
	return y.edit("merging", raw, path, true)
}

// Remove takes a member out, with its lines; comments above it stay. A mapping that is empty then stays as {}. The
// error is ErrYAMLForm, or ErrKind for an empty path.
func (y *YAML) Remove(path ...string) error {
	fail := func(err error) error { return fmt.Errorf("removing %s: %w", strings.Join(path, "."), err) }
	if len(path) == 0 {
		return fail(ErrKind)
	}
	parent, rest := y.walk(path[:len(path)-1])
	if len(rest) > 0 || y.member(parent, path[len(path)-1]) < 0 {
		return nil
	}
	last := path[len(path)-1]
	plan := func(e *yamlEdit) {
		at, rest := e.walk(path[:len(path)-1])
		if len(rest) == 0 && e.member(at, last) >= 0 {
			e.members(at, nil, func(key string) bool { return key != last })
		}
	}
	if err := y.apply(plan); err != nil {
		return fail(err)
	}
	return nil
}

func (y *YAML) edit(what string, raw []byte, path []string, merge bool) error {
	fail := func(err error) error { return fmt.Errorf("%s %s: %w", what, strings.Join(path, "."), err) }
	want, at, err := y.wanted(raw, path)
	if err != nil {
		return fail(err)
	}
	depth := len(path) - at
	plan := func(e *yamlEdit) {
		at, _ := e.walk(path[:depth])
		e.assign(at, want, merge || depth < len(path))
	}
	if err := y.apply(plan); err != nil {
		return fail(err)
	}
	return nil
}

// wanted checks a value, and wraps it in the mappings of the path that are missing; it returns how many these are.
func (y *YAML) wanted(raw []byte, path []string) (*Node, int, error) {
	for _, key := range path {
		if !utf8.ValidString(key) {
			return nil, 0, ErrSyntax
		}
	}
	d, err := y.room.parse(raw)
	if err != nil {
		return nil, 0, err
	}
	check(d.Root())
	if d.Err() != nil {
		return nil, 0, d.Err()
	}
	at, rest := y.walk(path)
	if kind := y.kindOf(at); len(rest) > 0 && kind != Object && kind != Null || len(path) == 0 && d.Root().Kind() != Object {
		return nil, 0, ErrKind
	}
	for _, key := range slices.Backward(rest) {
		raw = slices.Concat([]byte("{"), Quote(key), []byte(":"), raw, []byte("}"))
	}
	if len(rest) > 0 {
		if d, err = y.room.parse(raw); err != nil {
			return nil, 0, err
		}
	}
	return d.Root(), len(rest), nil
}

// check navigates a value, which reports duplicate keys.
func check(n *Node) {
	for _, member := range n.Members() {
		check(member)
	}
	for _, item := range n.Items() {
		check(item)
	}
}

// errChange is the reason inside of ErrYAMLForm when an edit is not read back.
var errChange = errors.New("the result would be read otherwise")

// apply makes a plan, splices the text, and takes it back unless the same plan finds nothing to do then.
func (y *YAML) apply(plan func(*yamlEdit)) error {
	e := &yamlEdit{YAML: y}
	plan(e)
	if len(e.splices) == 0 {
		return nil
	}
	if y.fixed != nil {
		return y.fixed
	}
	slices.SortStableFunc(e.splices, func(a, b splice) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	for i, s := range e.splices {
		if s.start > s.end || i > 0 && s.start < e.splices[i-1].end {
			return fmt.Errorf("%w: %w", ErrYAMLForm, errChange)
		}
	}
	next := &YAML{text: spliced(y.text, e.splices), room: y.room}
	var read bool
	if next.entries, read = y.rescan(next.text, e.splices); !read {
		return fmt.Errorf("%w: %w", ErrYAMLForm, errChange)
	}
	again := &yamlEdit{YAML: next}
	if plan(again); len(again.splices) > 0 {
		return fmt.Errorf("%w: %w", ErrYAMLForm, errChange)
	}
	y.text, y.entries, y.spare = next.text, next.entries, y.entries
	y.edits++
	return nil
}
