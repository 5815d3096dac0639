// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// expectation holds the assertions about the objects of a selector.
type expectation struct {
	selector

	at      source.Node
	state   string
	denied  *v1alpha1.TestDenial
	rules   map[string]source.Text
	asserts []assertion
}

// assertion is one thing that is expected of an object.
type assertion struct {
	at source.Node
	// field is the field of the expectation, such as flags.cloud-provider.
	field string
	// look compares the actual with the expected value.
	look func(o *subject) ([]comparison.Mismatch, error)
	// near lists texts that identify the line of the value in the object, to find the rule that wrote it.
	near []string
	// about is the name of the value in the places of rules.
	about string
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
		c := &compiler{selector: s, at: e.At, path: at, container: e.Container, expected: e.TestExpected, profile: profile}
		if c.container == "" && c.target != nil {
			c.container = c.target.Container
		}
		c.check()
		c.states(e)
		slices.SortStableFunc(c.asserts, func(a, b assertion) int {
			if a.at.Position().Before(b.at.Position()) {
				return -1
			}
			return 1
		})
		findings = append(findings, c.findings...)
		all = append(all, expectation{selector: s, at: e.At, state: e.State, denied: e.Denied, rules: e.Rules, asserts: c.asserts})
	}
	slices.SortFunc(all, func(a, b expectation) int {
		if a.at.Position().Before(b.at.Position()) {
			return -1
		}
		return 1
	})
	return all, findings
}

// states compiles assertions about the object as a whole, and about rules.
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
	if found, ok := target.Lookup(title); ok {
		s.target = found
		return s, findings
	}
	if mayBeOthers && title == v1alpha1.TestOthers {
		s.others = true
		return s, findings
	}
	var ok bool
	if s.kind, s.name, ok = strings.Cut(title, "/"); !ok || s.kind == "" || s.name == "" {
		known := target.Names()
		if mayBeOthers {
			known = append(known, v1alpha1.TestOthers)
		}
		findings = append(findings, at.Finding(path, "%q is neither a target nor kind and name, such as Deployment/acme%s", title, source.Suggest(title, known)))
	}
	return s, findings
}

// matches reports whether the selector selects an object; garden means that it is in the namespace of the virtual
// garden.
func (s *selector) matches(o manifest.Object, purpose string, garden bool) bool {
	if s.target == nil {
		return !s.others && o.Kind == s.kind && o.Name == s.name
	}
	return s.isOfTarget(o, garden) && (!s.target.Purposed || slices.Contains(s.purposes, purpose))
}

// isOfTarget reports whether an object of any purpose is one of the target.
func (s *selector) isOfTarget(o manifest.Object, garden bool) bool {
	return s.target.Garden == garden && slices.ContainsFunc(s.target.Forms, func(f target.Form) bool { return f.Is(o.Group(), o.Kind, o.Name) })
}

// targetOf returns the target of an object: the selected one, or one that the contract does not name.
func (s *selector) targetOf(o manifest.Object) (*target.Target, *target.Form) {
	if s.target != nil {
		for i := range s.target.Forms {
			if f := &s.target.Forms[i]; f.Is(o.Group(), o.Kind, o.Name) {
				return s.target, f
			}
		}
	}
	other := target.Other(target.Form{Group: o.Group(), Kind: o.Kind, Name: o.Name})
	return other, &other.Forms[0]
}

func (e *expectation) isDenied() bool { return e.denied != nil || e.state == v1alpha1.TestDenied }

// expect holds an expectation against all objects that it means.
func (r *run) expect(ctx context.Context, e expectation) {
	some := false
	for _, o := range r.objects {
		if r.concerns(e, o) {
			some = true
			r.judge(ctx, e, o)
		}
	}
	if !some && e.state != v1alpha1.TestAbsent && !e.others {
		r.fail(golden.Failure{At: e.at.Position(), Subject: e.title, Message: r.noMatch(e.selector)})
	}
}

// judge holds an expectation against an object.
func (r *run) judge(ctx context.Context, e expectation, o *object) {
	wrong := func(at source.Position, path, message string) {
		r.fail(golden.Failure{At: at, Subject: o.String(), Path: path, Message: message})
	}
	at := e.at.Position()
	switch {
	case e.state == v1alpha1.TestAbsent:
		wrong(at, "", "exists, but must be absent")
		return
	case e.isDenied():
		r.judgeDenial(e, o)
		return
	case o.denied != nil:
		if r.form != "" { // otherwise another failure reports it
			wrong(at, "", "is denied: "+o.reason())
		}
		return
	case e.state == v1alpha1.TestUnchanged && o.changed():
		r.fail(golden.Failure{At: at, Subject: o.String(), Message: "must not change, but changes", Diff: r.describe(ctx, o)})
	case e.state == v1alpha1.TestChanged && !o.changed():
		wrong(at, "", "must change, but does not"+idle(o))
	}
	r.judgeRules(e, o)
	if len(e.asserts) == 0 {
		return
	}
	s, err := o.subject(&e.selector)
	if err != nil {
		wrong(at, "", err.Error())
		return
	}
	for _, a := range e.asserts {
		mismatches, err := a.look(s)
		if err != nil {
			wrong(a.at.Position(), a.field, err.Error())
		}
		for _, m := range mismatches {
			r.fail(golden.Failure{
				At: a.at.Position(), Subject: o.String(), Path: a.field + m.Path, Want: m.Want, Got: m.Got,
				By: o.authors(ctx, append(slices.Clone(a.near), lastKey(m.Path)...), m.Got == comparison.Absent), NotBy: r.idleAbout(o, a.about),
			})
		}
	}
}

// lastKey returns the last member of a path below a field, or none.
func lastKey(path string) []string {
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		return []string{path[at+1:]}
	}
	return nil
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
	at := e.at.Position()
	if o.denied == nil {
		r.fail(golden.Failure{At: at, Subject: o.String(), Message: "must be denied, but is admitted"})
		return
	}
	if e.denied == nil {
		return
	}
	if reason := e.denied.Reason; reason.Value != "" && reason.Value != string(o.denied.Reason) {
		r.fail(golden.Failure{At: reason.At.Position(), Subject: o.String(), Path: "denied.reason", Want: reason.Value, Got: o.reason()})
	}
	if part := e.denied.Message; !strings.Contains(o.denied.Error(), part.Value) {
		r.fail(golden.Failure{At: part.At.Position(), Subject: o.String(), Path: "denied.message", Want: "… " + part.Value + " …", Got: o.denied.Error()})
	}
}

// judgeRules checks the expected outcomes of rules.
func (r *run) judgeRules(e expectation, o *object) {
	for _, name := range sortedKeys(e.rules) {
		word := e.rules[name]
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
			r.fail(golden.Failure{
				At: word.At.Position(), Subject: o.String(), Path: "rules." + name, Want: word.Value, Got: got, By: []string{placeOf(a)},
			})
		}
		if !found && !e.others {
			message := "no rule is for the object"
			if len(known) > 0 {
				message = fmt.Sprintf("unknown rule %q%s; those for it are %s", name, source.Suggest(name, known), strings.Join(known, ", "))
			}
			r.fail(golden.Failure{At: word.At.Position(), Subject: o.String(), Path: "rules." + name, Message: message})
		}
	}
}

func outcomeIs(a mutation.Applied, word string) bool {
	return string(a.Outcome) == word || word == v1alpha1.TestApplied && (a.Outcome == mutation.Changed || a.Outcome == mutation.Unchanged)
}

func placeOf(a mutation.Applied) string {
	return fmt.Sprintf("%s:%d %s", a.Position.File, a.Position.Line, a.Name())
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
		if edit.By == nil || slices.ContainsFunc(near, func(part string) bool {
			return !strings.Contains(edit.Line.Path, part) && !strings.Contains(edit.Line.Text, part)
		}) {
			continue
		}
		author := edit.By.Rule
		if edit.By.Position != (source.Position{}) {
			author = fmt.Sprintf("%s:%d %s", edit.By.Position.File, edit.By.Position.Line, edit.By.Rule)
		}
		if !slices.Contains(by, author) {
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

// describe describes the effect of rules on an object.
func (r *run) describe(ctx context.Context, o *object) string {
	change, err := o.change(ctx)
	if err != nil {
		return ""
	}
	return sections(render.Sections(change.Edits(), 1), true)
}
