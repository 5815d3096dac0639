// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

type formKey struct{ group, kind, name string }

// selection is what is to be done with one object of the contract, which may be several targets: kubelet and node are both
// in an OperatingSystemConfig.
type selection struct {
	target *target.Target
	form   *target.Form
	rules  []*rule
	needs  needs
	// needsIn are the needs by what an OperatingSystemConfig is, where not all rules concern all; nil: needs are those of each object.
	needsIn  map[concern]*needs
	contests contests
	// enforced is the selection without rules that are only observed; nil where there are none of those.
	enforced *selection
	mark     mark
	// record is the annotation in which is recorded what the rules write; empty: nothing is. lasts says that there may be something.
	record string
	lasts  bool
	// confides says that a rule, observed or not, may write into the texts of the kubelet what must not be kept.
	confides bool
	// how is for rehearsals; in an admission it is empty.
	how how
}

// contests are the places that several rules write; any: some rule computes the names of its places, so that it may be any.
type contests struct {
	places map[operation.Place]bool
	any    bool
}

// settle finds once what each selection needs to know.
func (p *Program) settle() {
	for key, forms := range p.scopes {
		for _, selected := range forms {
			selected.settle()
			if applied := selected.applied(); p.marks {
				applied.mark, applied.record = markOf(key.set, applied.rules, p.profiles), recordAnnotation+string(key.set)
				applied.lasts = slices.ContainsFunc(applied.rules, (*rule).lasts)
			}
		}
	}
}

// applied is the selection of the rules that are applied.
func (s *selection) applied() *selection {
	if s.enforced != nil {
		return s.enforced
	}
	return s
}

func (s *selection) settle() {
	s.need()
	s.meet()
	s.confides = confides(s.rules)
	enforced := slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool { return r.observed })
	if len(enforced) < len(s.rules) {
		s.enforced = &selection{target: s.target, form: s.form, rules: enforced}
		s.enforced.settle()
		s.enforced.confides = s.confides
	}
}

// meet finds which writes meet.
func (s *selection) meet() {
	s.contests.places = map[operation.Place]bool{}
	seen := map[operation.Place]bool{}
	for _, r := range s.rules {
		if r.family != nil {
			s.contests.any = true
			continue
		}
		for i := range r.writes {
			if place := r.writes[i].Place; seen[place] {
				s.contests.places[place] = true
			} else {
				seen[place] = true
			}
		}
	}
}
