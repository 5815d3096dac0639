// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// path is the path of a field. The zero path refers to the whole value.
type path struct {
	steps fieldpath.Path
	text  string
	// at is the place of the path in the profile.
	at spot
}

// find returns the value at the path, or nil if there is none or it is null.
func (p path) find(n *document.Node) *document.Node {
	for _, s := range p.steps {
		n = n.Step(s)
	}
	if n.Kind() == document.Null {
		return nil
	}
	return n
}

// reaches reports whether all list items on the path exist.
func (p path) reaches(n *document.Node) bool {
	for _, s := range p.steps[:len(p.steps)-1] {
		if n = n.Step(s); n == nil && (s.By != "" || s.Position) {
			return false
		}
	}
	return true
}

// put sets the value at the path, or removes it if raw is nil. It creates missing parents, except items
// selected by position.
func (p path) put(root *document.Node, raw []byte) error {
	if raw == nil {
		p.remove(root)
		return nil
	}
	parent := root
	for i, s := range p.steps[:len(p.steps)-1] {
		kind := document.Object
		if next := p.steps[i+1]; next.By != "" || next.Position {
			kind = document.Array
		}
		var err error
		if parent, err = p.ensure(parent, s, kind); err != nil {
			return err
		}
	}
	last := p.steps[len(p.steps)-1]
	present := parent.Step(last)
	var err error
	switch {
	case present != nil:
		err = present.Replace(raw)
	case last.Position:
		return p.misses("there is no such item")
	case last.By != "":
		_, err = parent.Append(raw)
	default:
		_, err = parent.Set(last.Key, raw)
	}
	if err != nil {
		return unreadable(p.at.String()+": "+p.text, err)
	}
	return nil
}

// ensure returns the child at a step, creating it if it is missing.
func (p path) ensure(n *document.Node, s fieldpath.Step, kind document.Kind) (*document.Node, error) {
	present := n.Step(s)
	switch {
	case present.Kind() == kind:
		return present, nil
	case present != nil && present.Kind() != document.Null:
		return nil, p.misses("the parent is " + word(present) + ", and must be " + words[kind])
	case s.Position, s.By != "" && kind != document.Object:
		return nil, p.misses("there is no such item")
	}
	var err error
	if s.By != "" {
		present, err = n.Append(document.NewItem(s))
	} else {
		present, err = n.Ensure(s.Key, kind)
	}
	if err != nil {
		return nil, unreadable(p.at.String()+": "+p.text, err)
	}
	return present, nil
}

// misses returns the failure for a path that cannot be written.
func (p path) misses(why string) error { return unfit("%s: %s: %s", p.at, p.text, why) }

// remove removes the value, or all items that match a selection by member.
func (p path) remove(root *document.Node) {
	parent := root
	for _, s := range p.steps[:len(p.steps)-1] {
		parent = parent.Step(s)
	}
	parent.RemoveStep(p.steps[len(p.steps)-1])
}

// unfit returns a failure for an invalid object or member status. Arguments must not be values of the object.
func unfit(format string, arguments ...any) error {
	return &interpreter.Failure{Code: interpreter.CodeUnfit, Message: fmt.Sprintf(format, arguments...)}
}

// spot is a place in a profile, as a name for answers and as a position in a file.
type spot struct{ name, position string }

// String returns name and position.
func (s spot) String() string { return s.name + " (" + s.position + ")" }

// unreadable returns the failure for a text that is not an object. Its message contains no values.
func unreadable(what string, err error) error {
	for _, known := range []error{document.ErrTooDeep, document.ErrTooLarge, document.ErrDuplicateKey} {
		if errors.Is(err, known) {
			return unfit("%s cannot be read: %s", what, known)
		}
	}
	return unfit("%s is not valid JSON", what)
}
