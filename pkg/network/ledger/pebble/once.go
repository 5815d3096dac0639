// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import "bytes"

// once knows rows that stand and were written once since they were last removed, with their values, so that nothing is read when such a row is removed. The
// row and its removal vanish together when the engine writes them to a table. A plain removal goes down all levels instead, since it may have
// older rows to hide, and on its way what lies beside it is written anew; with names as random as UIDs that is everything.
//
// It knows rows that this process has written, and of those at most twice as many as a generation: what it has forgotten is removed plainly.
type once struct {
	// generation is how many bytes of rows are remembered before those that were written earlier are forgotten.
	generation int
	young, old map[string][]byte
	// size is how many bytes were added to the young ones.
	size int
}

// generation is the one of a store: about ten thousand allocations.
const generation = 4 << 20

// written notes that a row is written where none stood; the value stays the caller's. One that is written again, which a commit may do, was not written once.
func (o *once) written(key string, value []byte) {
	if o.removed(key) {
		return
	}
	if o.young == nil || o.size >= o.generation {
		o.young, o.old, o.size = map[string][]byte{}, o.young, 0
	}
	o.young[key] = bytes.Clone(value)
	o.size += len(key) + len(value)
}

// find is the value of a row that was written once.
func (o *once) find(key string) ([]byte, bool) {
	value, ok := o.young[key]
	if !ok {
		value, ok = o.old[key]
	}
	return value, ok
}

// removed forgets a row, as it is removed or written again, and says whether it was written once.
func (o *once) removed(key string) bool {
	_, is := o.find(key)
	delete(o.young, key)
	delete(o.old, key)
	return is
}
