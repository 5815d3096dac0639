// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// retain is a rule that keeps what a member has decided.
type retain struct {
	edit
	fields []path
}

// retain compiles a rule.
func (c *compiler) retain(p place, spec v1alpha1.InterpretRetain) retain {
	r := retain{edit: c.changes(p, spec.InterpretEdit), fields: c.paths(p.at("fields"), spec.Fields)}
	for i, field := range r.fields {
		c.identity(p.at("fields").item(i), field)
	}
	if len(spec.Fields)+len(spec.Set)+len(spec.Remove) == 0 && spec.Refuse.At.Absent() {
		c.add(p, NothingToDo, "changes nothing: fields, set, remove or refuse is needed")
	}
	return r
}

// apply keeps the fields that the observed object has, but in no item that the object has no longer, and changes the object.
func (r *retain) apply(q *question) error {
	for _, field := range r.fields {
		kept := field.find(q.observed.Root())
		if kept == nil || !field.reaches(q.object.Root()) {
			continue
		}
		if err := field.put(q.object.Root(), kept.Raw()); err != nil {
			return err
		}
	}
	return r.edit.apply(q)
}

// answerRetain keeps what the member has decided.
func (r *rules) answerRetain(q *question) (interpreter.Response, error) {
	for i := range r.retain {
		if err := r.retain[i].run(q, r.retain[i].apply); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}
