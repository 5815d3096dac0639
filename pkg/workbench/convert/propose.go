// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// ErrNoDifference means that the webhook changes nothing that rules could.
var ErrNoDifference = errors.New("before and after say the same: there is nothing to propose rules for")

// Proposal is a profile, and how far it goes.
type Proposal struct {
	// Profile is the profile as YAML; nothing but comments where not even one rule could be proposed.
	Profile []byte
	// Missed are the differences that it does not make.
	Missed []Missed
	// Objects is the number of objects that differ, and Reproduced that of those which the profile makes the same.
	Objects, Reproduced int
	// Differences are the numbers of single differences by the operation that says them.
	Differences map[string]int
}

// Missed is a difference that the proposed profile does not make, or one that it makes and the webhook does not.
type Missed struct {
	// Object is kind and name, and Case the case, empty where there is one.
	Object, Case string
	// Text says what is missing. It holds no value of the object.
	Text string
}

// String writes the difference in one line.
func (m Missed) String() string {
	if m.Case == "" {
		return m.Object + ": " + m.Text
	}
	return m.Object + " (" + m.Case + "): " + m.Text
}

// Propose proposes a profile whose rules make of the objects before those after. It is tried out on them: what it does not
// reproduce is in the proposal, and at the end of the profile as a comment. The error wraps ErrNoDifference where nothing differs.
func Propose(ctx context.Context, cases []Case, o Options) (*Proposal, error) {
	p := &proposer{context: ctx, options: o}
	subjects, missed := pair(cases, o)
	p.subjects, p.kubernetes, p.secrets = subjects, supported(subjects, o), secretsOf(cases)
	var found []*differ
	for _, s := range subjects {
		if !equal(canonical(s.before), canonical(s.after)) {
			found = append(found, diff(s, p.sidecar))
		}
	}
	if len(found) == 0 && len(missed) == 0 {
		return nil, ErrNoDifference
	}
	variants := p.settle(gather(found, o))
	program, rules, err := p.accept(variants)
	if err != nil {
		return nil, p.failed(err)
	}
	trials := p.trials(program)
	if p.patch(found, variants, trials) {
		again := p.settle(gather(found, o))
		if program, rules, err = p.accept(again); err != nil {
			return nil, p.failed(err)
		}
		variants, trials = again, p.trials(program)
	}
	return p.proposal(found, variants, rules, trials, missed)
}

// failed is the error of a trial, without what is secret.
func (p *proposer) failed(err error) error {
	if p.secrets.holding(err.Error()) != nil {
		err = errors.New(p.secrets.told(err.Error()))
	}
	return fmt.Errorf("trying the proposal: %w", err)
}

// supported is the constraint for the versions of the objects; empty where some is not known, or the table has none of them.
func supported(subjects []*subject, o Options) string {
	first, last := 0, 0
	for _, s := range subjects {
		if s.form.Kind == "OperatingSystemConfig" && s.known != nil && !s.guessed {
			continue
		}
		minor, ok := minorOf(s.version)
		if !ok || s.garden || o.Generation != contract.Today {
			return ""
		}
		if first == 0 || minor < first {
			first = minor
		}
		last = max(last, minor)
	}
	versions := kubeflags.Versions()
	if first < int(versions[0]) || last > int(versions[len(versions)-1]) {
		return ""
	}
	return fmt.Sprintf(">= 1.%d, < 1.%d", first, last+1)
}

// trial is what a program makes of an object.
type trial struct {
	subject *subject
	got     tree
	denied  error
	differs [][]string
}

// trials takes all objects through a program, or as they are through none.
func (p *proposer) trials(program *mutation.Program) []trial {
	trials := make([]trial, 0, len(p.subjects))
	for _, s := range p.subjects {
		t := trial{subject: s, got: s.before}
		if program != nil {
			result, err := p.admit(program, s, s.raw)
			if t.denied = err; result != nil {
				if t.got, err = decodeTree(result); err != nil {
					t.denied = err
				}
			}
		}
		t.differs = differences(canonical(t.got), canonical(s.after), nil)
		trials = append(trials, t)
	}
	return trials
}

// patch adds patches for what other operations do not make; false where there is nothing that a patch could do.
func (p *proposer) patch(found []*differ, variants []*variant, trials []trial) bool {
	added := false
	for _, t := range trials {
		i := slices.IndexFunc(found, func(d *differ) bool { return d.subject == t.subject })
		harmed := slices.ContainsFunc(variants, func(v *variant) bool { return slices.Contains(v.harms, t.subject) })
		if i < 0 || len(t.differs) == 0 || t.denied != nil || len(found[i].left) > 0 || harmed {
			continue
		}
		for _, steps := range patches(t.got, t.subject.after) {
			if !circumvents(steps, t.subject, variants) && p.patches(t.subject, found[i], steps) {
				added = true
			}
		}
	}
	return added
}

// circumvents says whether a patch would write a command line in which the engine has refused a flag.
func circumvents(steps []any, s *subject, variants []*variant) bool {
	place := textAt(steps[len(steps)-1], "path")
	if !slices.ContainsFunc([]string{"/command", "/args", "/content", "/inline"}, func(end string) bool { return strings.HasSuffix(place, end) }) {
		return false
	}
	return slices.ContainsFunc(variants, func(v *variant) bool { return v.refused != "" && slices.Contains(v.in, s) })
}

// patches adds one patch, if the engine takes it and lets the object pass.
func (p *proposer) patches(s *subject, d *differ, steps []any) bool {
	owner := d.owner
	a := &atom{owner: owner, operation: "patch", value: steps, notes: []string{"no other operation says this"}}
	value := s.expressed(a, s.lookups(), nil)
	if held := p.secrets.heldBy(a, value); held != nil {
		d.leave("what would take a patch holds data of " + held.String())
		return false
	}
	program := p.compile([]*rule{{set: p.setOf(a), variants: []*variant{{atom: a, value: value, purposes: p.purposesFor(s)}}}})
	if program == nil {
		return false
	}
	if result, err := p.admit(program, s, s.raw); err != nil || result == nil {
		return false
	}
	d.atoms = append(d.atoms, a)
	return true
}

func (p *proposer) purposesFor(s *subject) []string {
	if s.purpose == "" {
		return nil
	}
	return []string{s.purpose}
}

// proposal writes down what was found.
func (p *proposer) proposal(found []*differ, variants []*variant, rules []*rule, trials []trial, missed []Missed) (*Proposal, error) {
	out := &Proposal{Objects: len(found), Differences: map[string]int{}, Missed: missed}
	for _, v := range variants {
		if v.refused == "" {
			out.Differences[v.atom.operation]++
		}
	}
	for _, t := range trials {
		i := slices.IndexFunc(found, func(d *differ) bool { return d.subject == t.subject })
		switch {
		case t.denied != nil:
			out.Missed = append(out.Missed, missedIn(t.subject, "is denied under the proposal: "+t.denied.Error()))
		case len(t.differs) == 0 && i >= 0:
			out.Reproduced++
		}
		if t.denied == nil {
			for _, path := range t.differs {
				out.Missed = append(out.Missed, missedIn(t.subject, pathTo(path...).String()+" is not as after"))
			}
		}
		if i >= 0 {
			for _, text := range found[i].left {
				out.Missed = append(out.Missed, missedIn(t.subject, text))
			}
		}
	}
	for i := range out.Missed {
		out.Missed[i].Text = p.secrets.told(out.Missed[i].Text)
	}
	if len(rules) == 0 {
		out.Profile = slices.Concat([]byte("# Proposed by graft convert: no rule.\n"), p.appendix(variants, out.Missed))
		return out, nil
	}
	written, err := p.write(rules, p.kubernetes, p.heading(out)...)
	if err != nil {
		return nil, err
	}
	out.Profile = slices.Concat(written, p.appendix(variants, out.Missed))
	return out, nil
}

func missedIn(s *subject, text string) Missed {
	return Missed{Object: s.object.String(), Case: s.from.Name, Text: text}
}

// heading is the comment at the top.
func (p *proposer) heading(out *Proposal) []string {
	lines := []string{"Proposed by graft convert. It has been tried out on the objects before:"}
	switch {
	case len(out.Missed) > 0:
		return append(lines, fmt.Sprintf("%d of %d that differ come out as they are after; what is missing stands at the end.", out.Reproduced, out.Objects))
	case out.Objects == 1:
		return append(lines, "the one that differs comes out as it is after.")
	}
	return append(lines, fmt.Sprintf("all %d that differ come out as they are after.", out.Objects))
}

// heldComment says of a rule no more than that it would hold what is secret, and where as far as that can be told.
func (p *proposer) heldComment(v *variant) string {
	place := v.atom.operation
	for _, step := range v.atom.path {
		if step == item || p.secrets.holding(step) != nil {
			break
		}
		place += "." + step
	}
	return fmt.Sprintf("#\n# %s %s: %s: %s\n", p.setOf(v.atom), v.atom.owner.Name, place, v.refused)
}

// appendix is what the profile does not do, as a comment behind it.
func (p *proposer) appendix(variants []*variant, missed []Missed) []byte {
	var out strings.Builder
	for _, v := range variants {
		if v.refused == "" {
			continue
		}
		if out.Len() == 0 {
			out.WriteString("\n# Rules that would be refused, and why:\n")
		}
		if v.held != nil {
			out.WriteString(p.heldComment(v))
			continue
		}
		fmt.Fprintf(&out, "#\n# %s %s: %s\n", p.setOf(v.atom), v.atom.owner.Name, v.refused)
		for line := range strings.Lines(p.refusedRule(v)) {
			out.WriteString("# " + line)
		}
	}
	if len(missed) > 0 {
		out.WriteString("\n# What comes out otherwise than it is after:\n#\n")
	}
	for _, m := range missed {
		out.WriteString("# - " + strings.ReplaceAll(m.String(), "\n", "\n#   ") + "\n")
	}
	return []byte(out.String())
}
