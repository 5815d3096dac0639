// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// traceable is a rule as all operations have it.
type traceable struct {
	at      string
	when    condition
	items   *items
	pairs   *retain // a rule of the items that two objects have; nil for others
	healthy condition
	// writes are the places that it writes in root.
	writes []writing
	root   func(*question) *document.Node
	// run does what the rule does once its condition holds; edits says that it changes the object, and refuses that it refuses it.
	run            func(*question) error
	edits, refuses bool
}

// traceable are the rules of an operation.
func (r *rules) traceable(o interpreter.Operation) []traceable {
	switch o {
	case interpreter.Replicas:
		return traceables(r.replicas, func(s *replicas) traceable {
			return traceable{at: s.at, when: s.when, run: func(q *question) error {
				_, err := s.count.of(q)
				_, needed := s.requirements.of(q)
				return errors.Join(err, needed)
			}}
		})
	case interpreter.Components:
		return traceables(r.components, func(s *components) traceable {
			return traceable{at: s.at, when: s.when, items: s.items, run: func(q *question) error { _, err := s.of(q); return err }}
		})
	case interpreter.Dependencies:
		return traceables(r.dependencies, func(s *dependencies) traceable {
			return traceable{at: s.at, when: s.when, items: s.items, run: func(q *question) error { _, err := s.of(q); return err }}
		})
	case interpreter.Health:
		return traceables(r.health, func(s *health) traceable {
			return traceable{at: s.at, when: s.when, healthy: s.healthy, run: func(q *question) error { _, err := s.healthy.holds(q); return err }}
		})
	case interpreter.Status:
		return traceables(r.status, traceableStatus)
	default:
		return r.traceableEdits(o)
	}
}

// traceableEdits are the rules of an operation that changes objects.
func (r *rules) traceableEdits(o interpreter.Operation) []traceable {
	whole := func(q *question) *document.Node { return q.object.Root() }
	edits := func(all []edit) []traceable {
		return traceables(all, func(s *edit) traceable {
			return traceable{
				at: s.at, when: s.when, run: s.apply, edits: true, refuses: s.refuse.template != nil, root: whole, writes: writings("", s.paths()...),
			}
		})
	}
	switch o {
	case interpreter.Revise:
		return edits(r.revise)
	case interpreter.Prune:
		return edits(r.prune)
	case interpreter.Retain:
		return traceables(r.retain, func(s *retain) traceable {
			t := traceable{at: s.at, when: s.when, run: s.apply, edits: true, refuses: s.refuse.template != nil, root: whole}
			t.writes = writings("", s.paths()...)
			if s.both != nil { // the condition is one of each item
				t.pairs = s
			}
			return t
		})
	case interpreter.Aggregate:
		return traceables(r.aggregate, func(s *aggregate) traceable {
			return traceable{at: s.at, when: s.when, edits: true, root: whole, writes: writings("", s.field), run: func(q *question) error {
				raw, err := s.combine(q)
				if err != nil {
					return err
				}
				return s.field.put(q.object.Root(), raw)
			}}
		})
	default:
		return nil
	}
}

func traceables[R any](all []R, of func(*R) traceable) []traceable {
	made := make([]traceable, len(all))
	for i := range all {
		made[i] = of(&all[i])
	}
	return made
}
