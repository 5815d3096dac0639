// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Rule is a rule of a tested document, with its outcome in a case or in all of them.
type Rule struct {
	// Name identifies the rule for readers.
	Name string
	At   source.Position
	// Applied reports that it changed an object, or that the object already had the value.
	Applied bool
}

// Coverage holds the coverage of the rules, in the order of the files.
type Coverage struct {
	Rules []Rule
	// Applied is the number of rules that some case has applied.
	Applied int
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
	byPlace := map[source.Position]Rule{}
	for i := range results {
		for _, outcome := range results[i].Rules {
			outcome.Applied = outcome.Applied || byPlace[outcome.At].Applied
			byPlace[outcome.At] = outcome
		}
	}
	coverage := &Coverage{Rules: slices.Collect(maps.Values(byPlace))}
	for _, r := range coverage.Rules {
		if r.Applied {
			coverage.Applied++
		}
	}
	slices.SortFunc(coverage.Rules, func(a, b Rule) int {
		return cmp.Or(strings.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return coverage
}

// Write writes a line for each rule that no case applied, and the number of applied rules. It fails if w cannot be
// written.
func (c *Coverage) Write(w io.Writer) error {
	var out strings.Builder
	for _, r := range c.Rules {
		if !r.Applied {
			fmt.Fprintf(&out, "%s:%d: %s: never applied\n", r.At.File, r.At.Line, r.Name)
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
