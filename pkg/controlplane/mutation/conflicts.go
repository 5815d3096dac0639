// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// conflicts finds rules without a condition that always write the same place differently, in one profile or in several, in one
// set or in the sets of one provider: those of a shoot whose seed is on the same cloud. Where a condition or a computed value
// decides, the order decides when the object is there.
func (p *Program) conflicts() source.Findings {
	var findings source.Findings
	seen := map[string]bool{}
	for _, rules := range p.meeting() {
		for _, finding := range conflictsAmong(rules) {
			if !seen[finding.Error()] {
				seen[finding.Error()] = true
				findings = append(findings, finding)
			}
		}
	}
	return findings
}

// meetingKey is a form of a provider, in whatever set.
type meetingKey struct {
	provider string
	garden   bool
	form     formKey
}

// meeting are the rules that can meet at one object, in the order in which they apply.
func (p *Program) meeting() map[meetingKey][]*rule {
	rules := map[meetingKey][]*rule{}
	for _, set := range target.Sets() {
		for key, forms := range p.scopes {
			if key.set != set {
				continue
			}
			for form, selected := range forms {
				at := meetingKey{key.provider, key.garden, form}
				rules[at] = append(rules[at], selected.rules...)
			}
		}
	}
	return rules
}

func conflictsAmong(rules []*rule) source.Findings {
	var (
		findings source.Findings
		always   []constantWrite
	)
	for _, r := range rules {
		if r.when != nil || r.family != nil {
			continue
		}
		for _, write := range r.writes {
			value, ok := write.Value.Constant()
			if !ok {
				continue
			}
			now := constantWrite{r, write, value}
			if i := slices.IndexFunc(always, now.contradicts); i >= 0 {
				findings = append(findings, write.At.Finding(write.Path, "%s of %s is written as %s here and as %s at %s; both rules always apply",
					write.Place, r.target.Name, value, always[i].value, always[i].write.At.Position()).Of(Conflict))
			}
			always = append(always, now)
		}
	}
	return findings
}

type constantWrite struct {
	rule  *rule
	write operation.Write
	value operation.Resolved
}

// contradicts says whether two writes cannot both be in force: other values for one place, a field and
// one in it, or a whole flag and its entry.
func (w constantWrite) contradicts(other constantWrite) bool {
	a, b := w.write.Place, other.write.Place
	if w.rule.observed != other.rule.observed {
		// One of the two is not applied.
		return false
	}
	if w.rule.target.Other && w.rule.target.Name != other.rule.target.Name {
		// The rule for the more exact name is meant to win.
		return false
	}
	if w.rule.purposes != nil && other.rule.purposes != nil && !slices.ContainsFunc(w.rule.purposes, func(p string) bool {
		return slices.Contains(other.rule.purposes, p)
	}) {
		return false
	}
	if a == b {
		return !w.value.Equal(other.value)
	}
	if a.Covers(b) || b.Covers(a) {
		outer := w
		if b.Covers(a) {
			outer = other
		}
		return string(outer.value.JSON) != "{}"
	}
	oneIsFlag := (a.Kind == operation.Flag) != (b.Kind == operation.Flag)
	return oneIsFlag && a.Container == b.Container && flagOf(a) != "" && flagOf(a) == flagOf(b)
}
