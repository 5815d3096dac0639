// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// edit is a rule that changes an object.
type edit struct {
	at     string
	when   condition
	set    []setting
	remove []path
	refuse text
}

// setting is a value at a path.
type setting struct {
	path
	value value
}

// edits compiles the rules of an operation that change an object.
func (c *compiler) edits(o interpreter.Operation) func(place, v1alpha1.InterpretEdit) edit {
	return func(p place, spec v1alpha1.InterpretEdit) edit {
		e := c.changes(c.plain, p, spec, c.identity)
		if len(spec.Set)+len(spec.Remove) == 0 && spec.Refuse.At.Absent() {
			c.add(p, NothingToDo, "changes nothing: set, remove or refuse is needed")
			return e
		}
		c.filled(p, "set", "remove")
		c.writes(o, p, e.when, c.changed(p, &e))
		return e
	}
}

// changed are the places that a rule changes.
func (c *compiler) changed(p place, e *edit) []claim {
	return slices.Concat(c.claimed(p.At("set"), e.set), c.claims(p.At("remove"), e.remove, true))
}

// changes compiles what all rules that change objects have.
func (c *compiler) changes(env *expression.Environment, p place, spec v1alpha1.InterpretEdit, check func(place, path)) edit {
	e := edit{at: c.at(p), when: c.when(env, p, spec.When), refuse: c.text(env, p.At("refuse"), spec.Refuse)}
	e.set = c.settings(env, p.At("set"), check)
	e.remove = c.paths(p.At("remove"), spec.Remove, c.path)
	for i, removed := range e.remove {
		check(p.At("remove").Item(i), removed)
	}
	if !spec.Refuse.At.Absent() && len(spec.Set)+len(spec.Remove) > 0 {
		c.add(p, source.ExclusiveFields, "changes the object and refuses it: write two rules")
	}
	return e
}

// settings compiles values by their paths, in the order in which they are written.
func (c *compiler) settings(env *expression.Environment, p place, check func(place, path)) []setting {
	var settings []setting
	p.Members(func(key, v place) {
		s := setting{c.path(key, key.Text()), c.value(env, v)}
		check(key, s.path)
		settings = append(settings, s)
	})
	return settings
}

// identity finds that a path is that of what an object is known by.
func (c *compiler) identity(p place, at path) {
	switch at.text {
	case "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "metadata.uid":
		c.add(p, WrongPath, "%s is what the object is known by, and must not be changed", at.text)
	}
}

// apply changes the object of the question.
func (e *edit) apply(q *question) error { return e.applyTo(q, q.object.Root()) }

// applyTo changes a place of the object.
func (e *edit) applyTo(q *question, root *document.Node) error {
	if e.refuse.template != nil {
		message, err := e.refuse.of(q)
		if err != nil {
			return err
		}
		return unfit("%s: %s", e.refuse.at.name, message)
	}
	for i := range e.set {
		raw, err := e.set[i].value.of(q)
		if err != nil {
			return err
		}
		if err := e.set[i].put(root, raw); err != nil {
			return err
		}
	}
	for _, removed := range e.remove {
		removed.remove(root)
	}
	return nil
}

// applied applies all rules whose conditions hold of the object as it came, in their order.
func applied(q *question, rules []edit) (interpreter.Response, error) {
	for i := range rules {
		if err := rules[i].run(q, rules[i].apply); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}

// run applies a rule if its condition holds.
func (e *edit) run(q *question, apply func(*question) error) error {
	holds, err := e.when.holds(q)
	if err != nil || !holds {
		return err
	}
	q.because = append(q.because, e.at)
	return apply(q)
}

// answerRevise gives the object another number of replicas.
func (r *rules) answerRevise(q *question) (interpreter.Response, error) { return applied(q, r.revise) }
