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

// recorded is a rule, with the paths that it writes. Of rules without paths, the first applicable one answers.
type recorded struct {
	of        *kindRules
	operation interpreter.Operation
	place
	always bool
	claims []claim
}

// record records a rule with the paths that it writes, in order, and reports paths that it writes twice.
func (c *compiler) record(o interpreter.Operation, p place, when condition, claims ...claim) {
	list := func(c claim) string { return c.Path[:strings.LastIndexByte(c.Path, '[')] }
	for i, one := range claims {
		switch earlier := slices.IndexFunc(claims[:i], one.same); {
		case earlier < 0:
		case list(one) == list(claims[earlier]):
			c.add(one.place, source.DuplicateName, "%s is listed twice", one.text)
		default:
			c.add(one.place, WrittenTwice, "%s is also written at %s by the same rule", one.text, claims[earlier].Node.Position())
		}
	}
	c.recorded = append(c.recorded, recorded{c.of, o, p, when.always() && p.At("when").Absent(), claims})
}

// same reports whether two valid paths are equal.
func (c claim) same(o claim) bool { return c.text != "" && c.text == o.text }

// hidden reports rules after an unconditional one of the same document, in operations where the first applicable rule
// answers. Rules of other documents may be hidden on purpose: earlier documents take precedence.
func (c *compiler) hidden() {
	for i, rule := range c.recorded {
		if rule.operation != interpreter.Health && rule.operation != interpreter.Replicas {
			continue
		}
		hides := func(o recorded) bool { return o.always && o.operation == rule.operation && o.of.covers(rule.of) }
		if earlier := slices.IndexFunc(c.recorded[:i], hides); earlier >= 0 {
			c.add(rule.place, source.NeverApplies, "never applies: the rule at %s always does", c.recorded[earlier].Node.Position())
		}
	}
}

// covers reports whether an entry applies to all kinds of another.
func (e *kindRules) covers(o *kindRules) bool {
	other := func(kind string) bool { return !slices.Contains(e.kinds, kind) }
	return len(o.kinds) > 0 && !slices.ContainsFunc(o.kinds, other) && e.group == o.group && (e.version == "" || e.version == o.version)
}

// overridden reports writes that a later rule of the same document always overwrites. Rules of other documents
// may overwrite on purpose.
func (c *compiler) overridden() {
	for i, rule := range c.recorded {
		for _, one := range rule.claims {
			for _, later := range c.recorded[i+1:] {
				again := slices.IndexFunc(later.claims, func(again claim) bool { return again.sure && again.same(one) })
				if again < 0 || !later.always || later.operation != rule.operation || !later.of.covers(rule.of) {
					continue
				}
				if by := later.claims[again]; rule.always {
					c.add(by.place, Conflict, "%s is also written at %s by a rule that always applies, like this one", by.text, one.Node.Position())
				} else {
					c.add(one.place, NoEffect, "%s is always overwritten at %s: move this rule after that one", one.text, by.Node.Position())
				}
				break
			}
		}
	}
}

// excluded reports components of kinds with revise, across documents and versions.
func (c *compiler) excluded(entries []*kindRules) {
	for _, e := range entries {
		revised := slices.IndexFunc(entries, func(o *kindRules) bool {
			return o.group == e.group && len(o.rules[interpreter.Revise]) > 0 && slices.ContainsFunc(o.kinds, func(kind string) bool { return slices.Contains(e.kinds, kind) })
		})
		if len(e.rules[interpreter.Components]) == 0 || revised < 0 {
			continue
		}
		c.findings = append(c.findings, e.componentsAt.FindingOf(ComponentsRevised,
			"cannot be used with revise at %s: Karmada would revise the object to 0 replicas; remove one of them (the components are not registered)",
			entries[revised].reviseAt.Node.Position()).Warn())
	}
}
