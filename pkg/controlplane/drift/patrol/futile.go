// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"cmp"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// longestRest is how many looks an object is left alone for at most: a day, at the default interval.
const longestRest = 23

// futile has objects rest that stay as they are when they are touched, as something else writes them, and each touch may roll them: the first time for one
// look, and for twice as long each time. The zero value has seen none.
type futile struct {
	// versions are the profiles under which it is so.
	versions []string
	objects  map[drift.Object]rest
	// turns is how many touches have been futile.
	turns int
}

// rest is for how many looks an object is left alone, and for how many of them still. turn is when it was touched last, counted in futile touches.
type rest struct{ of, left, turn int }

// wanted returns the objects to touch: first those that were never touched, in the order of their discovery, then those
// touched longest ago, so that each gets its turn even if many touches are futile. It forgets objects that have not
// drifted, and everything if the profiles have changed.
func (f *futile) wanted(drifted []drift.Object, e drift.Engine) []drift.Object {
	var versions []string
	for _, profile := range e.Profiles() {
		versions = append(versions, profile.Version())
	}
	before := f.objects
	if !slices.Equal(versions, f.versions) {
		before = nil
	}
	f.versions, f.objects = versions, map[drift.Object]rest{}
	var wanted []drift.Object
	for _, object := range drifted {
		known, is := before[object]
		if known.left == 0 {
			wanted = append(wanted, object)
		}
		if is {
			known.left = max(0, known.left-1)
			f.objects[object] = known
		}
	}
	slices.SortStableFunc(wanted, func(a, b drift.Object) int { return cmp.Compare(f.objects[a].turn, f.objects[b].turn) })
	return wanted
}

// seen records the outcome of a touch.
func (f *futile) seen(o drift.Object, outcome drift.Outcome) {
	if outcome == drift.Stays || outcome == drift.Failed {
		of := min(2*f.objects[o].of+1, longestRest)
		f.turns++
		f.objects[o] = rest{of, of, f.turns}
	}
}

// resting returns the number of objects that the next run will not touch.
func (f *futile) resting() int {
	count := 0
	for _, r := range f.objects {
		if r.left > 0 {
			count++
		}
	}
	return count
}
