// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// expectation holds the assertions about the objects of a selector.
type expectation struct {
	selector
	v1alpha1.TestExpectation

	asserts []assertion
}

// compileExpectations compiles expectations in the order of the document.
func compileExpectations(written map[string]v1alpha1.TestExpectation, path string, profile profileText) ([]expectation, source.Findings) {
	var (
		all      []expectation
		findings source.Findings
	)
	for title, e := range written {
		at := path + "." + title
		s, more := compileSelector(e.At, at, title, e.Purposes, true)
		findings = append(findings, more...)
		if len(more) > 0 {
			continue
		}
		c := &compiler{selector: s, at: e.At, path: at, container: e.Container, profile: profile}
		if c.container == "" && c.target != nil {
			c.container = c.target.Container
		}
		c.check(&e.TestExpected)
		c.states(e)
		slices.SortStableFunc(c.asserts, func(a, b assertion) int { return inOrder(a.at, b.at) })
		findings = append(findings, c.findings...)
		all = append(all, expectation{s, e, c.asserts})
	}
	slices.SortFunc(all, func(a, b expectation) int { return inOrder(a.At, b.At) })
	return all, findings
}

// inOrder compares the positions of nodes.
func inOrder(a, b source.Node) int {
	if a.Position().Before(b.Position()) {
		return -1
	}
	return 1
}

// states checks the expectations about the object as a whole, and about rules.
func (c *compiler) states(e v1alpha1.TestExpectation) {
	gone := e.Denied != nil || e.State == v1alpha1.TestDenied || e.State == v1alpha1.TestAbsent
	if gone && (len(c.asserts) > 0 || len(e.Rules) > 0) {
		c.refuse(e.At, "", "nothing more can be expected of an object that is denied or absent")
	}
	if e.Denied != nil && e.State != "" && e.State != v1alpha1.TestDenied {
		c.refuse(e.At, "", "denied, and %s", e.State)
	}
	for name, word := range e.Rules {
		if !slices.Contains(v1alpha1.TestOutcomes, word.Value) {
			c.refuse(word.At, "rules."+name, "must be one of %s%s", strings.Join(v1alpha1.TestOutcomes, ", "), source.Suggest(word.Value, v1alpha1.TestOutcomes))
		}
	}
	if c.others && len(c.asserts) > 0 {
		c.refuse(e.At, "", "all other objects can expect only a state or rules")
	}
}

// selector selects objects: those of a target, of a kind and name, or all remaining ones.
type selector struct {
	title string
	// target is nil for objects without a target, and for the remaining ones.
	target     *target.Target
	kind, name string
	others     bool
	purposes   []string
}

// purposes are those that an OperatingSystemConfig has.
var purposes = []string{"reconcile", "provision"}

// compileSelector compiles a target, Kind/name or others.
func compileSelector(at source.Node, path, title string, wanted []string, mayBeOthers bool) (selector, source.Findings) {
	s := selector{title: title, purposes: wanted}
	var findings source.Findings
	for _, purpose := range wanted {
		if !slices.Contains(purposes, purpose) {
			findings = append(findings, at.Finding(path+".purposes", "unknown purpose %q%s", purpose, source.Suggest(purpose, purposes)))
		}
	}
	if len(wanted) == 0 {
		s.purposes = purposes[:1]
	}
	known := target.Names()
	if mayBeOthers {
		known = append(known, v1alpha1.TestOthers)
	}
	s.target, _ = target.Lookup(title)
	s.others = mayBeOthers && title == v1alpha1.TestOthers
	s.kind, s.name, _ = strings.Cut(title, "/")
	if s.target == nil && !s.others && (s.kind == "" || s.name == "") {
		findings = append(findings, at.Finding(path, "%q is neither a target nor kind and name, such as Deployment/acme%s", title, source.Suggest(title, known)))
	}
	return s, findings
}

// matches reports whether the selector selects an object by itself.
func (s *selector) matches(o *object) bool {
	if s.target == nil {
		return !s.others && o.Kind == s.kind && o.Name == s.name
	}
	return s.isOfTarget(o.Object, o.garden()) && (!s.target.Purposed || slices.Contains(s.purposes, o.purpose))
}

// isOfTarget reports whether an object of any purpose is one of the target; garden means that it is in the namespace of
// the virtual garden.
func (s *selector) isOfTarget(o manifest.Object, garden bool) bool {
	return s.target.Garden == garden && slices.ContainsFunc(s.target.Forms, func(f target.Form) bool { return f.Is(o.Group(), o.Kind, o.Name) })
}

func (e *expectation) isDenied() bool { return e.Denied != nil || e.State == v1alpha1.TestDenied }

// expect holds an expectation against all objects that it means.
func (r *run) expect(ctx context.Context, e expectation) {
	some := false
	for _, o := range r.objects {
		if r.concerns(e, o) {
			some = true
			r.judge(ctx, e, o)
		}
	}
	if !some && e.State != v1alpha1.TestAbsent && !e.others {
		r.fail(e.At, e.title, golden.Failure{Message: r.noMatch(e.selector)})
	}
}

// judge holds an expectation against an object.
func (r *run) judge(ctx context.Context, e expectation, o *object) {
	switch {
	case e.State == v1alpha1.TestAbsent:
		r.fail(e.At, o.String(), golden.Failure{Message: "exists, but must be absent"})
		return
	case e.isDenied():
		r.judgeDenial(e, o)
		return
	case o.denied != nil:
		if r.form != "" { // otherwise another failure reports it
			r.fail(e.At, o.String(), golden.Failure{Message: "is denied: " + o.reason()})
		}
		return
	case e.State == v1alpha1.TestUnchanged && o.changed():
		difference, _ := o.difference(ctx)
		r.fail(e.At, o.String(), golden.Failure{Message: "must not change, but changes", Diff: difference})
	case e.State == v1alpha1.TestChanged && !o.changed():
		r.fail(e.At, o.String(), golden.Failure{Message: "must change, but does not" + idle(o)})
	}
	r.judgeRules(e, o)
	if len(e.asserts) == 0 {
		return
	}
	s, err := o.subject(&e.selector)
	if err != nil {
		r.fail(e.At, o.String(), golden.Failure{Message: err.Error()})
		return
	}
	for _, a := range e.asserts {
		mismatches, err := a.look(s)
		if err != nil {
			r.fail(a.at, o.String(), golden.Failure{Path: a.field, Message: err.Error()})
		}
		for _, m := range mismatches {
			near := append(slices.Clone(a.near), m.Path[strings.LastIndexByte(m.Path, '.')+1:])
			r.fail(a.at, o.String(), golden.Failure{
				Path: a.field + m.Path, Want: m.Want, Got: m.Got, By: o.authors(ctx, near, m.Got == golden.Absent), NotBy: r.idleAbout(o, a.about),
			})
		}
	}
}

// idle returns the reason why no rule changed an object.
func idle(o *object) string {
	if len(o.applied) == 0 {
		return ": no rule is for it"
	}
	var out strings.Builder
	for _, a := range o.applied {
		fmt.Fprintf(&out, "\n%s: %s", a.Name(), a.Outcome)
		if a.Reason != "" {
			out.WriteString(", " + a.Reason)
		}
	}
	return out.String()
}

func (r *run) judgeDenial(e expectation, o *object) {
	if o.denied == nil {
		r.fail(e.At, o.String(), golden.Failure{Message: "must be denied, but is admitted"})
		return
	}
	if e.Denied == nil {
		return
	}
	if reason := e.Denied.Reason; reason.Value != "" && reason.Value != string(o.denied.Reason) {
		r.fail(reason.At, o.String(), golden.Failure{Path: "denied.reason", Want: reason.Value, Got: o.reason()})
	}
	if part := e.Denied.Message; !strings.Contains(o.denied.Error(), part.Value) {
		r.fail(part.At, o.String(), golden.Failure{Path: "denied.message", Want: "… " + part.Value + " …", Got: o.denied.Error()})
	}
}

// judgeRules checks the expected outcomes of rules.
func (r *run) judgeRules(e expectation, o *object) {
	for _, name := range slices.Sorted(maps.Keys(e.Rules)) {
		word := e.Rules[name]
		var known []string
		found := false
		for _, a := range o.applied {
			known = append(known, a.Name())
			if a.Name() != name && a.Rule != name {
				continue
			}
			if found = true; outcomeIs(a, word.Value) {
				continue
			}
			got := string(a.Outcome)
			if a.Reason != "" {
				got += ": " + a.Reason
			}
			r.fail(word.At, o.String(), golden.Failure{Path: "rules." + name, Want: word.Value, Got: got, By: []string{placeOf(a)}})
		}
		if !found && !e.others {
			message := "no rule is for the object"
			if len(known) > 0 {
				message = fmt.Sprintf("unknown rule %q%s; those for it are %s", name, source.Suggest(name, known), strings.Join(known, ", "))
			}
			r.fail(word.At, o.String(), golden.Failure{Path: "rules." + name, Message: message})
		}
	}
}

func outcomeIs(a mutation.Applied, word string) bool {
	return string(a.Outcome) == word || word == v1alpha1.TestApplied && (a.Outcome == mutation.Changed || a.Outcome == mutation.Unchanged)
}

func placeOf(a mutation.Applied) string { return placed(a.Position, a.Name()) }

// placed returns the name of a rule with its file and line, if it has them.
func placed(at source.Position, rule string) string {
	if at == (source.Position{}) {
		return rule
	}
	return fmt.Sprintf("%s:%d %s", at.File, at.Line, rule)
}

// authors returns the rules that wrote the lines with all the texts, each once; for missing lines, the rules that
// removed them.
func (o *object) authors(ctx context.Context, near []string, gone bool) []string {
	change, err := o.change(ctx)
	if err != nil {
		return nil
	}
	var by []string
	for _, edit := range change.Edits() {
		isNear := func(part string) bool {
			return strings.Contains(edit.Line.Path, part) || strings.Contains(edit.Line.Text, part)
		}
		if edit.By == nil || slices.ContainsFunc(near, func(part string) bool { return !isNear(part) }) {
			continue
		}
		if author := placed(edit.By.Position, edit.By.Rule); !slices.Contains(by, author) {
			by = append(by, author)
		}
	}
	if by == nil && !gone {
		return []string{"no rule: it had this value before"}
	}
	return by
}

// idleAbout returns the rules that could write the value but did not, with the reasons.
func (r *run) idleAbout(o *object, about string) []string {
	var idle []string
	for _, a := range o.applied {
		if about == "" || a.Outcome != mutation.Skipped && a.Outcome != mutation.Overridden && a.Outcome != mutation.Observed {
			continue
		}
		if slices.ContainsFunc(r.program.places[a.Position], func(p operation.Place) bool {
			ofUnit := p.Container == about && (p.Kind == operation.UnitField || p.Kind == operation.UnitOption)
			return p.Name == about || ofUnit || strings.HasSuffix(p.Name, "."+about)
		}) {
			idle = append(idle, fmt.Sprintf("%s: %s, %s", placeOf(a), a.Outcome, a.Reason))
		}
	}
	return idle
}
