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

// Rule is a rule of a document that is tested.
type Rule struct {
	// Document is the name of the document, and Name says which rule it is in there.
	Document string          `json:"document"`
	Name     string          `json:"name"`
	At       source.Position `json:"-"`
	// Conditional says that it has a condition.
	Conditional bool `json:"conditional,omitempty"`
}

// Effect is the effect of a rule in a case; of several, the greatest counts.
type Effect int

// Effects of rules. NotReached is a rule without an object in the case.
const (
	NotReached Effect = iota
	Skipped
	Observed
	Overridden
	Unchanged
	Changed
)

// String returns the name of the effect.
func (e Effect) String() string {
	return [...]string{"not reached", "skipped", "observed", "overridden", "unchanged", "changed"}[e]
}

// RuleOutcome is the outcome of a rule in a case.
type RuleOutcome struct {
	Rule
	Effect Effect
	// Held and Failed say that its condition was true, and false, for some object.
	Held, Failed bool
}

// Covered is a rule with the number of cases in which it had an effect.
type Covered struct {
	Rule
	File string `json:"file"`
	Line int    `json:"line"`

	Changed    int `json:"changed"`
	Unchanged  int `json:"unchanged"`
	Skipped    int `json:"skipped"`
	Overridden int `json:"overridden"`
	Observed   int `json:"observed"`
	// NotReached counts cases without an object for the rule.
	NotReached int `json:"notReached"`
	// Held and Failed count cases with a true and a false condition.
	Held   int `json:"conditionTrue,omitempty"`
	Failed int `json:"conditionFalse,omitempty"`
}

// Applied reports whether a case has applied the rule: it changed an object, or the object already had the value.
func (c *Covered) Applied() bool { return c.Changed+c.Unchanged > 0 }

// Note describes the untested parts of the rule, or is empty.
func (c *Covered) Note() string {
	switch {
	case c.Changed+c.Unchanged+c.Skipped+c.Overridden+c.Observed == 0:
		return "never reached: no case has such an object"
	case c.Conditional && c.Held == 0:
		return "never applied: its condition was never true"
	case c.Observed > 0 && c.Changed+c.Unchanged == 0:
		return "only observed"
	case c.Changed+c.Unchanged == 0 && c.Overridden > 0:
		return "never applied: always overridden"
	case c.Changed+c.Unchanged == 0:
		return "never applied: always skipped"
	case c.Conditional && c.Failed == 0:
		return "its condition was never false"
	case c.Changed == 0:
		return "changed nothing: all objects were so already"
	}
	return ""
}

// Coverage holds the coverage of the rules, in the order of the files.
type Coverage struct {
	Rules []Covered `json:"rules"`
	// Applied is the number of rules that some case has shown.
	Applied int `json:"applied"`
}

// Percent returns the percentage of covered rules; 100 if there are no rules.
func (c *Coverage) Percent() float64 {
	if len(c.Rules) == 0 {
		return 100
	}
	return 100 * float64(c.Applied) / float64(len(c.Rules))
}

// Cover counts the coverage of the executed cases.
func Cover(results []Result) *Coverage {
	byPlace := map[source.Position]*Covered{}
	for i := range results {
		for _, outcome := range results[i].Rules {
			c := byPlace[outcome.At]
			if c == nil {
				c = &Covered{Rule: outcome.Rule, File: outcome.At.File, Line: outcome.At.Line}
				byPlace[outcome.At] = c
			}
			c.count(outcome)
		}
	}
	coverage := &Coverage{}
	for _, c := range byPlace {
		coverage.Rules = append(coverage.Rules, *c)
		if c.Applied() {
			coverage.Applied++
		}
	}
	slices.SortFunc(coverage.Rules, func(a, b Covered) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return coverage
}

func (c *Covered) count(outcome RuleOutcome) {
	*map[Effect]*int{
		NotReached: &c.NotReached, Skipped: &c.Skipped, Observed: &c.Observed, Overridden: &c.Overridden,
		Unchanged: &c.Unchanged, Changed: &c.Changed,
	}[outcome.Effect]++
	if outcome.Held {
		c.Held++
	}
	if outcome.Failed {
		c.Failed++
	}
}

// Write writes a line for each rule: its position, its name, the number of cases per effect, and the untested parts.
func (c *Coverage) Write(w io.Writer) error {
	var (
		out          strings.Builder
		places       = make([]string, len(c.Rules))
		place, names int
	)
	for i := range c.Rules {
		places[i] = fmt.Sprintf("%s:%d", c.Rules[i].File, c.Rules[i].Line)
		place, names = max(place, len(places[i])), max(names, len(c.Rules[i].Name))
	}
	if len(c.Rules) > 0 {
		fmt.Fprintf(&out, "%-*s  %-*s  changed unchanged skipped overridden not reached\n", place, "rule", names, "")
	}
	for i := range c.Rules {
		r := &c.Rules[i]
		line := fmt.Sprintf("%-*s  %-*s  %7d %9d %7d %10d %11d  %s", place, places[i], names, r.Name,
			r.Changed, r.Unchanged, r.Skipped, r.Overridden, r.NotReached, r.Note())
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if len(c.Rules) > 0 {
		fmt.Fprintf(&out, "coverage: %d of %d rules applied in some case, %.1f %%\n", c.Applied, len(c.Rules), c.Percent())
	} else {
		out.WriteString("coverage: no profile could be run\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
