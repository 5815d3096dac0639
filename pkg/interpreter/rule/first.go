// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// answering is a rule of an operation of which the first that applies answers.
type answering struct {
	of        *entry
	operation interpreter.Operation
	place
	always bool
}

// first remembers a rule of which others of the document may be hidden.
func (c *compiler) first(o interpreter.Operation, p place, when condition) {
	c.answering = append(c.answering, answering{c.of, o, p, when.always() && p.At("when").Absent()})
}

// hidden finds rules behind one of the same document that always applies. Those of other documents are hidden on purpose: the documents that stand
// first are stronger.
func (c *compiler) hidden() {
	for i, rule := range c.answering {
		for _, earlier := range c.answering[:i] {
			if earlier.always && earlier.operation == rule.operation && earlier.of.covers(rule.of) {
				c.add(rule.place, source.NeverApplies, "never applies: the rule at %s always does", earlier.Node.Position())
				break
			}
		}
	}
	c.answering = nil
}

// covers says whether an entry is of all kinds that another is of.
func (e *entry) covers(o *entry) bool {
	other := func(kind string) bool { return !slices.Contains(e.kinds, kind) }
	return len(o.kinds) > 0 && !slices.ContainsFunc(o.kinds, other) && e.group == o.group && (e.version == "" || e.version == o.version)
}
