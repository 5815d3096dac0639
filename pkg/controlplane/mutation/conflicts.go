// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// conflicts finds rules without a condition that always write the same place differently, in one profile or in several. Where
// a condition or a computed value decides, the order decides when the object is there.
func (p *Program) conflicts() source.Findings {
	var (
		findings source.Findings
		told     = map[string]bool{}
	)
	for _, forms := range p.scopes {
		for _, selected := range forms {
			for _, finding := range selected.conflicts() {
				if !told[finding.Error()] {
					told[finding.Error()] = true
					findings = append(findings, finding)
				}
			}
		}
	}
	return findings
}

func (s *selection) conflicts() source.Findings {
	var (
		findings source.Findings
		always   []constantWrite
	)
	for _, r := range s.rules {
		if r.when != nil {
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
					write.Place, s.target.Name, value, always[i].value, always[i].write.At.Position()))
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

// contradicts says whether two writes cannot both be in force: other values for one place, or a whole flag and its entry.
func (w constantWrite) contradicts(other constantWrite) bool {
	a, b := w.write.Place, other.write.Place
	if a == b {
		return !w.value.Equal(other.value)
	}
	oneIsFlag := (a.Kind == operation.Flag) != (b.Kind == operation.Flag)
	return oneIsFlag && a.Container == b.Container && flagOf(a) != "" && flagOf(a) == flagOf(b)
}
