// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// aggregate is a rule that writes one field of a status.
type aggregate struct {
	at      string
	when    condition
	field   path
	combine combine
}

// combine makes one value of what members say; nil where there is none.
type combine func(q *question) ([]byte, error)

// found is what a member has at a path.
type found struct {
	*member
	*document.Node
}

// take is what the members have at a path, by the names of clusters, until it is asked again; those that have nothing there are left out.
func (q *question) take(at path) []found {
	all := slices.Grow(q.taken[:0], len(q.members))
	for _, m := range q.members {
		if m.status == nil {
			continue
		}
		if n := at.find(m.status.Root()); n != nil {
			all = append(all, found{m, n})
		}
	}
	q.taken = all
	return all
}

// misfit says that what a member has is not as it is needed.
func (f found) misfit(at path, what string) error {
	return unfit("%s: the member %s: status.%s is %s, and must be %s", at.at, f.Cluster, at.text, word(f.Node), what)
}

// aggregate compiles a rule.
func (c *compiler) aggregate(p place, spec v1alpha1.InterpretAggregate) aggregate {
	a := aggregate{at: c.at(p), when: c.when(c.plain, p, spec.When)}
	c.needed(p, "field", spec.Field)
	a.field = c.path(p.At("field"), spec.Field)
	if len(a.field.steps) > 0 && (a.field.steps[0].Key != "status" || len(a.field.steps) == 1) {
		c.add(p.At("field"), WrongPath, "must be below status, such as status.readyReplicas: Karmada takes nothing else")
	}
	c.made(p.At("field"), a.field)
	c.writes(interpreter.Aggregate, p, a.when, []claim{{p.At("field"), a.field.text, true}})
	ways := 0
	one := func(name string, compile func(place) combine) {
		if at := p.At(name); !at.Missing {
			ways++
			a.combine = compile(at)
		}
	}
	for name, t := range map[string]source.Text{
		"sum": spec.Sum, "min": spec.Min, "max": spec.Max, "all": spec.All, "any": spec.Any, "same": spec.Same, "first": spec.First, "join": spec.Join,
		"common": spec.Common,
	} {
		one(name, func(at place) combine { return c.byPath(at, name, t) })
	}
	one("worst", func(at place) combine { return c.worst(at, spec.Worst) })
	one("union", func(at place) combine { return c.union(at, spec.Union) })
	one("conditions", func(at place) combine { return c.worstConditions(at, spec.Conditions) })
	one("value", func(at place) combine { return c.value(c.plain, at).of })
	if ways != 1 {
		c.add(p, source.ExclusiveFields, "exactly one of sum, min, max, all, any, same, first, join, common, worst, union, conditions and value is needed")
	}
	return a
}

// byPath compiles the ways that need a path and nothing else.
func (c *compiler) byPath(p place, name string, t source.Text) combine {
	if t.At.Absent() {
		c.add(p, source.MissingField, "is empty")
		return nil
	}
	at := c.inStatus(p, t)
	return map[string]func(path) combine{
		"sum": sum, "min": least, "max": most, "all": allTrue, "any": anyTrue, "same": same, "first": first, "join": join,
		"common": common,
	}[name](at)
}

// answerAggregate writes the fields of all rules that apply, in their order.
func (r *rules) answerAggregate(q *question) (interpreter.Response, error) {
	q.because = make([]string, 0, len(r.aggregate))
	for i := range r.aggregate {
		rule := &r.aggregate[i]
		holds, err := rule.when.holds(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		if !holds {
			continue
		}
		q.because = append(q.because, rule.at)
		raw, err := rule.combine(q)
		if err != nil {
			return interpreter.Response{}, err
		}
		if err := rule.field.put(q.object.Root(), raw); err != nil {
			return interpreter.Response{}, err
		}
	}
	return q.patched()
}
