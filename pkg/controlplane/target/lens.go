// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"maps"
	"slices"
)

// Lens is a view of something inside the object, such as a document in one of its fields. Flush writes its edits back.
type Lens interface{ Flush() error }

// Lens gives the view of a place, which is opened once in a rule; edits through it are in the object after Flush.
func (o *Object) Lens(place string, open func() (Lens, error)) (Lens, error) {
	if opened, ok := o.lenses[place]; ok {
		return opened, nil
	}
	opened, err := open()
	if err != nil {
		return nil, err
	}
	if o.lenses == nil {
		o.lenses = map[string]Lens{}
	}
	o.lenses[place] = opened
	return opened, nil
}

// flushLenses writes back what was edited, and forgets the views, as another rule may edit their places in another way.
func (o *Object) flushLenses() error {
	if len(o.lenses) == 0 {
		return nil
	}
	for _, place := range slices.Sorted(maps.Keys(o.lenses)) {
		if err := o.lenses[place].Flush(); err != nil {
			return fmt.Errorf("writing %s: %w", place, err)
		}
	}
	clear(o.lenses)
	return nil
}

// Note is what SetNote noted for a key, and 0 before.
func (o *Object) Note(key any) int { return o.notes[key] }

// SetNote remembers something from one write of a rule to the next.
func (o *Object) SetNote(key any, value int) {
	if o.notes == nil {
		o.notes = map[any]int{}
	}
	o.notes[key] = value
}
