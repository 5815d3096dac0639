// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"regexp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// summary returns the number of rules involved.
func summary(c *Change) string {
	if c.Note != "" {
		return c.Note
	}
	text := count(c.Count(mutation.Changed), "rule") + " changed it"
	if c.Count(mutation.Changed) == 0 {
		text = "changed by no rule"
	}
	for _, other := range outcomeWords {
		if n := c.Count(other.outcome); n > 0 {
			text += fmt.Sprintf(", %d %s", n, other.word)
		}
	}
	return text
}

// outcomeWords lists the outcomes of rules without effect, in the order of the counts.
var outcomeWords = []struct {
	outcome mutation.Outcome
	word    string
}{{mutation.Skipped, "skipped"}, {mutation.Unchanged, "already so"}, {mutation.Overridden, "overridden"}, {mutation.Observed, "observed"}}

// unchanged explains why nothing changed, with the reason if it is the same for all rules.
func unchanged(c *Change) string {
	if c.Note != "" {
		return c.Note
	}
	if len(c.Applied) == 0 {
		return "unchanged"
	}
	reason := c.Applied[0].Reason
	for _, a := range c.Applied {
		if a.Outcome != c.Applied[0].Outcome || a.Reason != reason {
			text := "unchanged"
			for _, other := range outcomeWords {
				if n := c.Count(other.outcome); n > 0 {
					text += fmt.Sprintf(", %d %s", n, other.word)
				}
			}
			return text
		}
	}
	text := "unchanged, " + count(len(c.Applied), "rule") + " "
	switch c.Applied[0].Outcome {
	case mutation.Skipped:
		return text + "skipped: " + reason
	case mutation.Overridden:
		return text + "overridden"
	case mutation.Observed:
		return text + "observed: " + reason
	default:
		return text + "already so"
	}
}

// summaryOf counts the changes in a line.
func summaryOf(changes []*Change) string {
	changed, denied := 0, 0
	for _, c := range changes {
		switch {
		case c.Denied != nil:
			denied++
		case c.Changed():
			changed++
		}
	}
	text := "nothing changes"
	if changed > 0 {
		text = count(changed, "object") + " changed"
	}
	if same := len(changes) - changed - denied; same > 0 && changed > 0 {
		text += fmt.Sprintf(", %d unchanged", same)
	}
	if denied > 0 {
		text += fmt.Sprintf(", %d denied", denied)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s Style) author(a Author) string {
	if a.Position == (source.Position{}) {
		return a.Rule
	}
	return s.position(a.Position) + " " + ruleName(a.Rule)
}

func (s Style) position(p source.Position) string {
	return fmt.Sprintf("%s:%d", s.File(p.File), p.Line)
}

// unnamed is the name that the engine gives a rule without one: target[index].operation, and its item.
var unnamed = regexp.MustCompile(`^[A-Za-z0-9./*-]+\[\d+\]\.([A-Za-z]+(?:\[.*\])?)$`)

// ruleName returns the name without the target, which precedes it in the output.
func ruleName(rule string) string {
	if match := unnamed.FindStringSubmatch(rule); match != nil {
		return match[1]
	}
	return rule
}
