// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// components is a rule that names components.
type components struct {
	at           string
	when         condition
	items        *items
	name         text
	count        number
	requirements requirements
}

// components compiles a rule.
func (c *compiler) components(p place, spec v1alpha1.InterpretComponents) components {
	list, env := c.forEach(p, spec.ForEach)
	r := components{at: c.at(p), items: list, when: c.when(env, p, spec.When)}
	c.needed(p, "name", spec.Name)
	r.name = c.text(env, p.At("name"), spec.Name)
	if name, ok := constant(r.name, env); ok {
		if utf8.RuneCountInString(name) > interpreter.MaximumComponentName {
			c.add(p.At("name"), source.InvalidName, "has more than %d characters", interpreter.MaximumComponentName)
		}
		if list != nil {
			c.add(p.At("name"), source.DuplicateName, "is the same for all items; write it with ${ item… }")
		}
	}
	r.count = c.number(env, p.At("count"))
	r.requirements = c.requirements(env, p.At("requirements"))
	return r
}

// answerComponents collects the components of all rules that apply.
func (r *rules) answerComponents(q *question) (interpreter.Response, error) {
	found := []interpreter.Component{}
	names := map[string]bool{}
	for i := range r.components {
		rule, before := &r.components[i], len(found)
		err := rule.items.each(q, func() error {
			holds, err := rule.when.holds(q)
			if err != nil || !holds {
				return err
			}
			component, err := rule.of(q)
			if err != nil {
				return err
			}
			if names[component.Name] {
				return unfit("%s: two components have the same name", spot{rule.at, rule.name.at.position})
			}
			names[component.Name] = true
			found = append(found, component)
			return nil
		})
		if err != nil {
			return interpreter.Response{}, err
		}
		if len(found) > before {
			q.because = append(q.because, rule.at)
		}
	}
	return interpreter.Response{Components: found}, nil
}

// of computes a component.
func (r *components) of(q *question) (interpreter.Component, error) {
	name, err := r.name.of(q)
	if err != nil {
		return interpreter.Component{}, err
	}
	if !(interpreter.Component{Name: name}).Named() {
		return interpreter.Component{}, unfit("%s: the name has %d characters: it must have 1 to %d",
			spot{r.at, r.name.at.position}, utf8.RuneCountInString(name), interpreter.MaximumComponentName)
	}
	count, err := r.count.of(q)
	if err != nil {
		return interpreter.Component{}, err
	}
	needed, err := r.requirements.of(q)
	return interpreter.Component{Name: name, Replicas: count, Requirements: needed}, err
}
