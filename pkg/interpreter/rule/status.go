// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"encoding/json"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// status is a rule that says what of a status is reflected.
type status struct {
	at   string
	when condition
	keep []path
	set  []setting
	// all says that all of it is.
	all bool
}

// status compiles a rule.
func (c *compiler) status(p place, spec v1alpha1.InterpretStatus) status {
	s := status{at: c.at(p), when: c.when(c.plain, p, spec.When), set: c.settings(c.plain, p.At("set"), c.made)}
	s.keep = c.paths(p.At("keep"), spec.Keep, c.inStatus)
	s.all = p.At("keep").Absent() && p.At("set").Absent()
	for i, kept := range s.keep {
		c.made(p.At("keep").Item(i), kept)
	}
	if keep := p.At("keep"); !keep.Missing && len(s.keep)+len(s.set) == 0 {
		c.add(keep, source.MissingField, "names nothing; leave it out, and all of the status is reflected")
	} else {
		c.filled(p, "keep", "set")
	}
	c.writes(interpreter.Status, p, s.when, slices.Concat(c.claims(p.At("keep"), s.keep, false), c.claimed(p.At("set"), s.set)))
	return s
}

// made finds positions in the path of what is made anew, where there are no items yet.
func (c *compiler) made(p place, at path) {
	if slices.ContainsFunc(at.steps, func(s fieldpath.Step) bool { return s.Position }) {
		c.add(p, WrongPath, "names an item by its position, which means nothing in what is made; write [member=value], or the whole list")
	}
}

// answerStatus makes the status that is reflected, out of all rules that apply.
func (r *rules) answerStatus(q *question) (interpreter.Response, error) {
	came := q.object.Root().Get("status")
	made, err := q.object.Root().Parse([]byte("{}")) // in its memory
	if err != nil {
		return interpreter.Response{}, unreadable("the status", err)
	}
	for i := range r.status {
		rule := &r.status[i]
		holds, err := rule.when.holds(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		if !holds {
			continue
		}
		q.because = append(q.because, rule.at)
		if err := rule.reflect(q, came, made.Root()); err != nil {
			return interpreter.Response{}, err
		}
	}
	return interpreter.Response{Status: slices.Clone(json.RawMessage(made.Root().Raw()))}, nil
}

// reflect copies and computes what a rule says.
func (s *status) reflect(q *question, came, made *document.Node) error {
	if s.all {
		return s.reflectAll(came, made)
	}
	for _, kept := range s.keep {
		if value := kept.find(came); value != nil {
			if err := kept.put(made, value.Raw()); err != nil {
				return err
			}
		}
	}
	for _, set := range s.set {
		raw, err := set.value.of(q)
		if err != nil {
			return err
		}
		if err := set.put(made, raw); err != nil {
			return err
		}
	}
	return nil
}

// reflectAll copies a whole status; what was made before stays beside it.
func (s *status) reflectAll(came, made *document.Node) error {
	if made.Len() == 0 && came.Kind() == document.Object {
		if err := made.Replace(came.Raw()); err != nil {
			return unreadable(s.at+": status", err)
		}
		return nil
	}
	for key, value := range came.Members() {
		if _, err := made.Set(key, value.Raw()); err != nil {
			return unreadable(s.at+": status", err)
		}
	}
	return nil
}
