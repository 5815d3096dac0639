// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package report writes the result of a comparison as one self-contained HTML file: it loads no resources, works
// without JavaScript, on phones and on paper, and the same Page produces the same bytes.
//
// It knows objects, profiles and rules only by name: render and compare provide a Page of plain texts, which are all
// escaped here. Start reading at Page and Page.Write.
package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for the style, the script and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Page is the content of a report. Empty fields are omitted.
type Page struct {
	// Title is the heading and the title of the browser's tab.
	Title string
	// Facts describes the input of the report, such as the profile and the version of Kubernetes.
	Facts []Fact
	// Figures lists the most important numbers, such as the number of denied objects.
	Figures []Figure
	// Sections are displayed with denied ones first, then changed ones, then the rest; otherwise in their order.
	Sections []Section
	// Rest lists the objects that are shown by name only.
	Rest []Names
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a highlighted number.
type Figure struct {
	Value, Label string
	Tone         Tone
}

// Tone is the meaning of a text, which determines its colour.
type Tone string

// The tones; the zero Tone is neutral.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
)

// Section is one object, or one change that several have in common.
type Section struct {
	// Kind and Name form the title, such as "Deployment" and "kube-apiserver"; Note is a short description of the
	// result next to it.
	Kind, Name, Note string
	// Denied is why the object was denied, in lines; empty where it was not.
	Denied string
	// For lists the affected ones, such as shoots; empty if there is only one.
	For []string
	// Blocks are the changed lines; a section without any is shown folded.
	Blocks []Block
	// Rules lists the rules involved, in the order of their application.
	Rules []Applied
}

// Block is the changed lines below one place.
type Block struct {
	Heading string
	Lines   []Line
}

// Op is the state of a line in a comparison.
type Op byte

// The states of a line.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// Line is a changed line or its context.
type Line struct {
	Op Op
	// Indent counts steps of two characters.
	Indent int
	Text   string
	// Gap reports that lines are left out before this one, Folded that lines below it are.
	Gap, Folded bool
	// By is the rule that changed the line; nil for an unchanged line.
	By *Rule
}

// Rule is who changes something. Rules are the same when all fields are.
type Rule struct {
	Name, Profile string
	// At is the position of the rule, such as acme/profile.yaml:12; empty if there is no rule.
	At string
	// Alarm reports that a rule is missing.
	Alarm bool
}

// Applied is a rule with its outcome.
type Applied struct {
	Rule    Rule
	Outcome Outcome
	// Reason explains why the rule was skipped, by which rule it was overridden, or its effect if it were applied.
	Reason string
}

// Outcome is the outcome of a rule in the words of the output.
type Outcome string

// The outcomes.
const (
	Changed    Outcome = "applied"
	Unchanged  Outcome = "unchanged"
	Skipped    Outcome = "skipped"
	Overridden Outcome = "overridden"
	Observed   Outcome = "observed"
)

// Names are names under a heading.
type Names struct {
	Heading string
	Names   []string
}

// view is a Page as the template needs it: numbered, in order, lines grouped by who changed them.
type view struct {
	Page
	Sections []*sectionView
	// Rules is in the order of appearance; Sorted is ordered by position.
	Rules, Sorted []*ruleView
	// Filter reports that there is enough to choose from.
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

// place splits file:line.
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

//go:embed assets/page.css
var style string

//go:embed assets/page.js
var script string

//go:embed assets/page.gohtml
var markup string

// parsed is read once, and only when a report is written.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"spaces": func(n int) string { return strings.Repeat("  ", n) },
		"depth":  func(n int) int { return min(n, deepest) },
		"lines":  func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") },
		"count":  Count,
	}).Parse(markup)
})

// deepest is the maximum indentation with a class in the style sheet.
const deepest = 12

// Write writes the page as one HTML file. It fails if w cannot be written.
func (p *Page) Write(w io.Writer) error {
	page, err := parsed()
	if err != nil {
		return fmt.Errorf("reading the report's template: %w", err)
	}
	v := viewOf(p)
	v.CSS, v.JS = template.CSS(style), template.JS(script) //nolint:gosec // they are files of this package
	v.Policy = policy()
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// policy forbids the page to load anything, and to use other scripts and styles than its own.
func policy() string {
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// hash returns the hash of a text for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Count returns a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
