// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// health is a rule that says whether an object is healthy.
type health struct {
	at      string
	when    condition
	healthy condition
}

// health compiles a rule.
func (c *compiler) health(p place, spec v1alpha1.InterpretHealth) health {
	h := health{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	c.needed(p, "healthy", spec.Healthy)
	h.healthy = condition{c.spot(p.At("healthy")), c.condition(c.plain, p.At("healthy"), spec.Healthy)}
	c.first(interpreter.Health, p, h.when)
	return h
}

// answerHealth asks the first rule that applies.
func (r *rules) answerHealth(q *question) (interpreter.Response, error) {
	for i := range r.health {
		h := &r.health[i]
		switch holds, err := h.when.holds(q); {
		case err != nil:
			return interpreter.Response{}, err
		case !holds:
			continue
		}
		healthy, err := h.healthy.holds(q)
		q.because = append(q.because, h.at)
		return interpreter.Response{Healthy: &healthy}, err
	}
	return interpreter.Response{}, none(interpreter.Health)
}
