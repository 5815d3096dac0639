// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// Written is a place that a rule writes, and what stood there before and stands there now: JSON, and nil where nothing is. They are the same where the
// place was so already, and where there was nothing to keep or to take away.
type Written struct {
	// At is where the profile names the place, as the rule is called, and Path the place: in the object, or in the item.
	At, Path string
	// Item is which of the items of the trace it is in; -1: none.
	Item        int
	Before, Now json.RawMessage
}

// writing is a place that is written in one of the objects that a rule changes.
type writing struct {
	path
	// name is what the place is called.
	name string
}

// writings are the places of paths below another one, which is empty for the object itself.
func writings(below string, all ...path) []writing {
	named := make([]writing, len(all))
	for i, p := range all {
		name := p.text
		if below != "" {
			name = below + dotted(p)
		}
		named[i] = writing{p, name}
	}
	return named
}

// paths are those that a rule writes, in the order in which it does.
func (e *edit) paths() []path { return slices.Concat(pathsOf(e.set), e.remove) }

// paths are those that a rule keeps and writes, in the order in which it does.
func (r *retain) paths() []path { return slices.Concat(r.fields, r.edit.paths()) }

// paths are those that a rule copies and computes below the status; the zero path is all of it.
func (s *status) paths() []path {
	if s.all {
		return []path{{at: spot{name: s.at}}}
	}
	return slices.Concat(s.keep, pathsOf(s.set))
}

func pathsOf(set []setting) []path {
	all := make([]path, len(set))
	for i := range set {
		all[i] = set[i].path
	}
	return all
}

// standing is what stands at the places below a root.
func standing(root *document.Node, at []writing) []json.RawMessage {
	all := make([]json.RawMessage, len(at))
	for i := range at {
		if n := at[i].find(root); n != nil {
			all[i] = bytes.Clone(n.Raw())
		}
	}
	return all
}

// written compares what stood at the places with what stands there now.
func written(root *document.Node, at []writing, before []json.RawMessage, item int) []Written {
	all := make([]Written, len(at))
	for i, now := range standing(root, at) {
		all[i] = Written{At: at[i].at.name, Path: at[i].name, Item: item, Before: before[i], Now: now}
	}
	return all
}

// traceableStatus is a rule of a status, which is made of it alone.
func traceableStatus(s *status) traceable {
	var made *document.Node
	return traceable{
		at: s.at, when: s.when, writes: writings(string(interpreter.Status), s.paths()...),
		root: func(*question) *document.Node { return made },
		run: func(q *question) error {
			alone, err := q.object.Root().Parse([]byte("{}")) // in its memory
			if err != nil {
				return unreadable("the status", err)
			}
			made = alone.Root()
			return s.reflect(q, q.object.Root().Get("status"), made)
		},
	}
}
