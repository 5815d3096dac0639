// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// Repaired is a file with fixed findings.
type Repaired struct {
	Name          string
	Before, After []byte
	// Findings are those that were fixed, with the places that they had at the time.
	Findings source.Findings
}

// mostRounds limits the repetitions of fixing the result of earlier fixes.
const mostRounds = 20

// Repair applies fixes until none is left. It returns the changed files and the report of the remaining findings. A fix
// is applied only if the text remains valid YAML and the finding disappears; one that quotes something must not cause new
// findings.
func Repair(o Options, inputs []Input) ([]Repaired, *Report) {
	r := newRepair(o, inputs)
	return r.all(), r.report
}

// Check works like Run, but keeps only fixes that Repair would apply.
func Check(o Options, inputs []Input) *Report {
	r := newRepair(o, inputs)
	report := r.report
	r.all()
	r.withdraw(report)
	return report
}

func newRepair(o Options, inputs []Input) *repair {
	return &repair{options: o, inputs: inputs, report: Run(o, inputs), refused: map[key]bool{}}
}

// withdraw removes refused fixes from a report.
func (r *repair) withdraw(from *Report) {
	for i, f := range from.Findings {
		if r.refused[keyOf(f)] {
			from.Findings[i].Fix = nil
		}
	}
}

// all makes all fixes that are good, and returns the changed files sorted by name.
func (r *repair) all() []Repaired {
	before, fixed := r.inputs, map[string]source.Findings{}
	for range mostRounds {
		done := r.round()
		if len(done) == 0 {
			break
		}
		for _, e := range done {
			fixed[e.finding.File] = append(fixed[e.finding.File], e.finding)
		}
	}
	var repaired []Repaired
	for i, input := range before {
		if findings := fixed[input.Name]; len(findings) > 0 {
			repaired = append(repaired, Repaired{Name: input.Name, Before: input.Data, After: r.inputs[i].Data, Findings: findings})
		}
	}
	slices.SortFunc(repaired, func(a, b Repaired) int { return strings.Compare(a.Name, b.Name) })
	r.withdraw(r.report)
	return repaired
}

type repair struct {
	options Options
	inputs  []Input
	report  *Report
	// refused holds findings with an unusable fix.
	refused map[key]bool
}

// round makes all fixes of the report at once where that is good, and else the first good one.
func (r *repair) round() []replacement {
	edits := r.edits()
	if len(edits) == 0 {
		return nil
	}
	if done := r.try(edits); done != nil {
		return done
	}
	for _, e := range edits {
		if done := r.try([]replacement{e}); done != nil {
			return done
		}
		r.refused[keyOf(e.finding)] = true
	}
	return nil
}

// edits returns the applicable fixes of the report.
func (r *repair) edits() []replacement {
	var edits []replacement
	for _, f := range r.report.Findings {
		t := r.report.texts[f.File]
		if f.Fix == nil || t == nil || r.refused[keyOf(f)] {
			continue
		}
		if e, ok := t.resolve(*f.Fix); ok {
			e.finding = f
			edits = append(edits, e)
		}
	}
	return edits
}

// try makes edits, and takes them back where they are no good.
func (r *repair) try(edits []replacement) []replacement {
	inputs := slices.Clone(r.inputs)
	var all []replacement
	for i, input := range inputs {
		mine := slices.DeleteFunc(slices.Clone(edits), func(e replacement) bool { return e.finding.File != input.Name })
		if len(mine) > 0 {
			data, done := r.report.texts[input.Name].apply(mine)
			inputs[i].Data = data
			all = append(all, done...)
		}
	}
	after := Run(r.options, inputs)
	if !better(r.report, after, all) {
		return nil
	}
	r.inputs, r.report = inputs, after
	return all
}

// better reports whether the edits removed their findings and caused no forbidden ones.
func better(before, after *Report, edits []replacement) bool {
	var findings source.Findings
	for _, e := range edits {
		findings = append(findings, e.finding)
	}
	strict := slices.ContainsFunc(findings, func(f source.Finding) bool { return !reveals(*f.Fix) })
	had, fixed := tally(before.Findings), tally(findings)
	for k, has := range tally(after.Findings) {
		if has > had[k] && (strict || k.rule == source.NotYAML) || fixed[k] > 0 && has > had[k]-fixed[k] {
			return false
		}
	}
	return true
}

// reveals reports whether a fix only makes existing parts readable, because it corrects a misspelt word. New findings are
// then not caused by the fix.
func reveals(fix source.Fix) bool { return strings.Trim(fix.Old, `"'`) != strings.Trim(fix.New, `"'`) }

// places are the numbers of lines in messages, and of items in paths.
var places = regexp.MustCompile(`:\d+(:\d+)?|line \d+|\[\d+\]`)

// key identifies a finding without its position, which edits change.
type key struct {
	file string
	rule source.LintRule
	text string
}

func keyOf(f source.Finding) key {
	return key{f.File, f.Rule, places.ReplaceAllString(f.Path+"\x00"+f.Message, "#")}
}

// tally counts equal findings.
func tally(findings source.Findings) map[key]int {
	counts := map[key]int{}
	for _, f := range findings {
		counts[keyOf(f)]++
	}
	return counts
}

// describe describes the effect of a fix.
func describe(fix *source.Fix) string { return "write " + fix.New }

// Said returns one line about the fix of each finding.
func (r Repaired) Said() []string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, fmt.Sprintf("%s: %s%s; %s", f.Position, sentence(f), tag(f.Rule), describe(f.Fix)))
	}
	return lines
}

// Write puts the fixed text in the place of the file: all of it or nothing. Permissions stay, and so does a symbolic
// link to it. It fails if the file has changed since it was read.
func (r Repaired) Write() error {
	now, err := disk.ReadFile(r.Name, maximumSize)
	switch {
	case err == nil && !bytes.Equal(now, r.Before):
		err = errors.New("it has changed since it was read")
	case err == nil:
		err = whole.Write(r.Name, r.After)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	return nil
}

// Diff returns the fixes as a unified diff.
func (r Repaired) Diff() string {
	return fmt.Sprintf("--- %s\n+++ %s\n%s", r.Name, r.Name, textdiff.Unified(string(r.Before), string(r.After)))
}
