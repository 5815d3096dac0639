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

// claim is a place that a rule writes.
type claim struct {
	place
	// text is the path as messages have it; empty where it could not be read.
	text string
	// sure says that it is written whenever the rule applies: what is kept is not, where there is nothing to keep.
	sure bool
}

// claimant is a rule that writes places.
type claimant struct {
	of        *entry
	operation interpreter.Operation
	place
	always bool
	claims []claim
}

// claims are the places that paths name which stand in a list.
func (c *compiler) claims(list place, paths []path, sure bool) []claim {
	all := make([]claim, len(paths))
	for i, p := range paths {
		all[i] = claim{list.Item(i), p.text, sure}
	}
	return all
}

// claimed are the places that settings name, in their order.
func (c *compiler) claimed(p place, settings []setting) []claim {
	all := make([]claim, 0, len(settings))
	p.Members(func(key, _ place) { all = append(all, claim{key, settings[len(all)].text, true}) })
	return all
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

// filled finds lists and mappings of a rule in which nothing stands.
func (c *compiler) filled(p place, names ...string) {
	for _, name := range names {
		if at := p.At(name); !at.Missing && len(at.Value().Items())+len(at.Value().Fields()) == 0 {
			c.add(at, source.MissingField, "names nothing; leave it out")
		}
	}
}
