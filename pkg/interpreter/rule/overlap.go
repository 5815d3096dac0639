// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"
	"strings"

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

// claimant is a rule that writes places.
type claimant struct {
	of        *entry
	operation interpreter.Operation
	place
	always bool
	claims []claim
}

// writes remembers the places that a rule writes, in the order in which it does, and finds those that it writes twice.
func (c *compiler) writes(o interpreter.Operation, p place, when condition, claims []claim) {
	for i, one := range claims {
		for _, earlier := range claims[:i] {
			if one.text == "" || one.text != earlier.text {
				continue
			}
			if sameList(one, earlier) {
				c.findings = append(c.findings, one.FindingOf(source.DuplicateName, "%s stands twice", one.text).Without(one.Node))
			} else {
				c.add(one.place, WrittenTwice, "%s is written at %s, too, by the same rule", one.text, earlier.Node.Position())
			}
			break
		}
	}
	c.claimants = append(c.claimants, claimant{c.of, o, p, when.always() && p.At("when").Absent(), claims})
}

// sameList says whether two places are items of one list.
func sameList(a, b claim) bool {
	list := func(c claim) string { return c.Path[:strings.LastIndexByte(c.Path, '[')] }
	return list(a) == list(b)
}

// overridden finds what a later rule of the same document always writes again. Rules of other documents write again on purpose.
func (c *compiler) overridden() {
	for i, rule := range c.claimants {
		for _, one := range rule.claims {
			for _, later := range c.claimants[i+1:] {
				if again, ok := later.overrides(&rule, one); ok {
					c.override(&rule, one, again)
					break
				}
			}
		}
	}
	c.claimants = nil
}

// overrides is the place that the rule writes again of an earlier one, whatever the object is.
func (w *claimant) overrides(earlier *claimant, one claim) (claim, bool) {
	if !w.always || w.operation != earlier.operation || !w.of.covers(earlier.of) || one.text == "" {
		return claim{}, false
	}
	for _, again := range w.claims {
		if again.sure && again.text == one.text {
			return again, true
		}
	}
	return claim{}, false
}

// override finds that a place is written for nothing.
func (c *compiler) override(earlier *claimant, one, again claim) {
	if earlier.always {
		c.add(again.place, Conflict, "%s is written at %s, too, by a rule that always applies as this one does", again.text, one.Node.Position())
		return
	}
	c.add(one.place, NoEffect, "%s is always written again at %s: move this rule behind that one", one.text, again.Node.Position())
}

// excluded finds components of kinds that are revised, also in other documents and in other versions.
func (c *compiler) excluded(entries []*entry) {
	for _, e := range entries {
		revised := slices.IndexFunc(entries, func(o *entry) bool {
			return o.group == e.group && len(o.revise) > 0 && slices.ContainsFunc(o.kinds, func(kind string) bool { return slices.Contains(e.kinds, kind) })
		})
		if len(e.components) == 0 || revised < 0 {
			continue
		}
		c.findings = append(c.findings, e.componentsAt.FindingOf(ComponentsRevised,
			"cannot be used with revise at %s: Karmada would revise the object to 0 replicas; remove one of them (the components are not registered)",
			entries[revised].reviseAt.Node.Position()).Warn())
	}
}
