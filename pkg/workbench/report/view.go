// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// view is a Page as the template needs it: numbered, in order, lines grouped by who changed them.
type view struct {
	Page
	Sections []*sectionView
	// Rules is in the order of appearance; Sorted is ordered by position.
	Rules, Sorted []*ruleView
	// Filter says that there is enough to choose from.
	Filter bool
	CSS    any
	JS     any
	Policy string
}

type sectionView struct {
	Section
	ID             string
	State          string
	Open           bool
	Added, Removed int
	Blocks         []blockView
	Rules          []appliedView
	// Numbers are those of its rules, separated by spaces.
	Numbers string
}

type blockView struct {
	Heading string
	Runs    []runView
}

// runView is lines that follow each other and were changed by the same rule, or by none.
type runView struct {
	Rule  *ruleView
	Lines []Line
}

type appliedView struct {
	Applied
	Rule *ruleView
}

// ruleView is a rule with its outcomes in all sections.
type ruleView struct {
	Rule
	Number int
	Counts []outcomeCount
	// In are the sections that it changed.
	In []*sectionView
}

type outcomeCount struct {
	Outcome Outcome
	Count   int
}

// viewOf numbers and orders the content of a page.
func viewOf(p *Page) *view {
	v := &view{Page: *p}
	rules := map[Rule]*ruleView{}
	for _, section := range ordered(p.Sections) {
		v.Sections = append(v.Sections, v.section(section, rules))
	}
	v.Sorted = slices.SortedStableFunc(slices.Values(v.Rules), func(a, b *ruleView) int { return a.compare(b.Rule) })
	v.Filter = len(v.Sections) > 1
	return v
}

// ordered returns denied sections first and unchanged ones last.
func ordered(sections []Section) []Section {
	return slices.SortedStableFunc(slices.Values(sections), func(a, b Section) int {
		return cmp.Compare(a.rank(), b.rank())
	})
}

func (s *Section) rank() int {
	switch {
	case s.Denied != "":
		return 0
	case len(s.Blocks) > 0:
		return 1
	default:
		return 2
	}
}

func (v *view) section(s Section, rules map[Rule]*ruleView) *sectionView {
	out := &sectionView{Section: s, ID: "s" + strconv.Itoa(len(v.Sections)+1), State: []string{"denied", "changed", "same"}[s.rank()]}
	out.Open = s.rank() < 2
	for _, block := range s.Blocks {
		out.Blocks = append(out.Blocks, v.block(out, block, rules))
	}
	for _, applied := range s.Rules {
		rule := v.rule(applied.Rule, rules)
		rule.count(applied.Outcome)
		out.Rules = append(out.Rules, appliedView{applied, rule})
		if applied.Outcome == Changed {
			rule.changes(out)
		}
	}
	var numbers []string
	for _, rule := range v.Rules {
		if rule.mentionedIn(out) {
			numbers = append(numbers, strconv.Itoa(rule.Number))
		}
	}
	out.Numbers = strings.Join(numbers, " ")
	return out
}

func (v *view) block(s *sectionView, b Block, rules map[Rule]*ruleView) blockView {
	out := blockView{Heading: b.Heading}
	for _, line := range b.Lines {
		switch line.Op {
		case Added:
			s.Added++
		case Removed:
			s.Removed++
		}
		var rule *ruleView
		if line.By != nil {
			rule = v.rule(*line.By, rules)
			rule.changes(s)
		}
		if last := len(out.Runs) - 1; last < 0 || out.Runs[last].Rule != rule {
			out.Runs = append(out.Runs, runView{Rule: rule})
		}
		last := &out.Runs[len(out.Runs)-1]
		last.Lines = append(last.Lines, line)
	}
	return out
}

// rule finds or numbers a rule.
func (v *view) rule(r Rule, rules map[Rule]*ruleView) *ruleView {
	if rules[r] == nil {
		rules[r] = &ruleView{Rule: r, Number: len(v.Rules) + 1}
		v.Rules = append(v.Rules, rules[r])
	}
	return rules[r]
}

// compare orders rules by file and line; rules without a position come last.
func (r Rule) compare(other Rule) int {
	file, line := r.place()
	otherFile, otherLine := other.place()
	if (file == "") != (otherFile == "") {
		return strings.Compare(otherFile, file)
	}
	return cmp.Or(strings.Compare(file, otherFile), cmp.Compare(line, otherLine))
}

// place takes file:line apart.
func (r Rule) place() (file string, line int) {
	colon := strings.LastIndexByte(r.At, ':')
	if colon < 0 {
		return r.At, 0
	}
	line, _ = strconv.Atoi(r.At[colon+1:]) // 0 for an invalid number
	return r.At[:colon], line
}

func (r *ruleView) count(outcome Outcome) {
	for i := range r.Counts {
		if r.Counts[i].Outcome == outcome {
			r.Counts[i].Count++
			return
		}
	}
	r.Counts = append(r.Counts, outcomeCount{outcome, 1})
}

func (r *ruleView) changes(s *sectionView) {
	if len(r.In) == 0 || r.In[len(r.In)-1] != s {
		r.In = append(r.In, s)
	}
}

func (r *ruleView) mentionedIn(s *sectionView) bool {
	return slices.Contains(r.In, s) || slices.ContainsFunc(s.Rules, func(a appliedView) bool { return a.Rule == r })
}
