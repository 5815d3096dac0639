// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Rule is a rule of a tested document, with its outcome in a case or in all of them.
type Rule struct {
	// Document is the name of the document, and Name identifies the rule in it.
	Document string          `json:"document"`
	Name     string          `json:"name"`
	At       source.Position `json:"-"`
	// Applied reports that it changed an object, or that the object already had the value.
	Applied bool `json:"applied"`
}

// Coverage holds the coverage of the rules, in the order of the files.
type Coverage struct {
	Rules []CoveredRule `json:"rules"`
	// Applied is the number of rules that some case has applied.
	Applied int `json:"applied"`
}

// CoveredRule is a rule with its place as JSON has it.
type CoveredRule struct {
	Rule
	File string `json:"file"`
	Line int    `json:"line"`
}

// Percent returns the percentage of covered rules; 100 if there are no rules.
func (c *Coverage) Percent() float64 {
	if len(c.Rules) == 0 {
		return 100
	}
	return 100 * float64(c.Applied) / float64(len(c.Rules))
}

// Cover combines the outcomes of the executed cases.
func Cover(results []Result) *Coverage {
	byPlace := map[source.Position]*Rule{}
	for i := range results {
		for _, outcome := range results[i].Rules {
			if known := byPlace[outcome.At]; known != nil {
				outcome.Applied = outcome.Applied || known.Applied
			}
			byPlace[outcome.At] = &outcome
		}
	}
	coverage := &Coverage{}
	for at, r := range byPlace {
		coverage.Rules = append(coverage.Rules, CoveredRule{*r, at.File, at.Line})
		if r.Applied {
			coverage.Applied++
		}
	}
	slices.SortFunc(coverage.Rules, func(a, b CoveredRule) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return coverage
}

// Write writes a line for each rule that no case applied, and the number of applied rules. It fails if w cannot be
// written.
func (c *Coverage) Write(w io.Writer) error {
	var out strings.Builder
	for i := range c.Rules {
		if r := &c.Rules[i]; !r.Applied {
			fmt.Fprintf(&out, "%s:%d: %s: never applied\n", r.File, r.Line, r.Name)
		}
	}
	if len(c.Rules) > 0 {
		fmt.Fprintf(&out, "coverage: %d of %d rules applied in some case, %.1f %%\n", c.Applied, len(c.Rules), c.Percent())
	} else {
		out.WriteString("coverage: no profile could be run\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
