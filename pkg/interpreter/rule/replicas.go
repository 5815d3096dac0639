// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// replicas is a rule that says how many replicas an object has.
type replicas struct {
	at           string
	when         condition
	count        number
	requirements requirements
}

// replicas compiles a rule.
func (c *compiler) replicas(p place, spec v1alpha1.InterpretReplicas) replicas {
	r := replicas{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	r.count = c.number(c.plain, p.At("count"))
	r.requirements = c.requirements(c.plain, p.At("requirements"))
	c.first(interpreter.Replicas, p, r.when)
	return r
}

// answerReplicas asks the first rule that applies.
func (r *rules) answerReplicas(q *question) (interpreter.Response, error) {
	for i := range r.replicas {
		rule := &r.replicas[i]
		switch holds, err := rule.when.holds(q); {
		case err != nil:
			return interpreter.Response{}, err
		case !holds:
			continue
		}
		q.because = append(q.because, rule.at)
		count, err := rule.count.of(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		needed, err := rule.requirements.of(q)
		return interpreter.Response{Replicas: &count, Requirements: needed}, err
	}
	return interpreter.Response{}, none(interpreter.Replicas)
}
