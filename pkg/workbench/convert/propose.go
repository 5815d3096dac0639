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

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// ErrNoDifference means that no object differs in anything that rules could write.
var ErrNoDifference = errors.New("before and after are the same: there is nothing to propose rules for")

// Options are the settings of a proposal.
type Options struct {
	// Name is the name of the profile, and Provider the provider that it serves.
	Name, Provider string
	// Generation is that of the Gardener which wrote the objects.
	Generation contract.Generation
}

// Proposal is a profile, and how far it goes.
type Proposal struct {
	// Profile is the profile as YAML; it has only comments where no rule could be proposed.
	Profile []byte
	// Missed are the differences that the profile does not make, each with the name of its object.
	Missed []string
	// Objects is the number of objects that differ, Reproduced the number of those that the profile makes equal.
	Objects, Reproduced int
	// Arguments is the number of arguments in all rules.
	Arguments int
}

// Propose returns a profile with rules that turn the objects before into those after, which are matched by kind,
// namespace and name. The error wraps ErrNoDifference if nothing differs.
func Propose(ctx context.Context, before, after []manifest.Object, o Options) (*Proposal, error) {
	subjects, missed := match(before, after)
	out := &Proposal{Missed: missed}
	var all []*entry
	for _, s := range subjects {
		found := differences(s.before, s.after, s)
		if s.secret {
			out.Missed = append(out.Missed, s.String()+": data of a Secret differs; rules read it with a lookup")
			out.Objects++
			continue
		}
		if len(found) > 0 {
			s.differs = true
			out.Objects++
		}
		all = merge(all, found)
	}
	if out.Objects == 0 && len(missed) == 0 {
		return nil, ErrNoDifference
	}
	p := &proposer{options: o, subjects: subjects, kubernetes: constraint(subjects, o)}
	program, _, err := p.accept(all)
	if err != nil {
		return nil, fmt.Errorf("compiling the proposal: %w", err)
	}
	// An operation may write more than its arguments, such as a whole container: propose the remaining differences as
	// well.
	for _, s := range subjects {
		if got, err := p.admit(ctx, program, s); err == nil {
			all = merge(all, differences(got, s.after, s))
		}
	}
	keepSidecars(all)
	program, rules, err := p.accept(all)
	if err != nil {
		return nil, fmt.Errorf("compiling the proposal: %w", err)
	}
	for _, s := range subjects {
		left, err := p.remaining(ctx, program, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		out.Missed = append(out.Missed, left...)
		if s.differs && len(left) == 0 {
			out.Reproduced++
		}
	}
	for _, r := range rules {
		out.Arguments += len(r.entries)
	}
	out.Profile, err = p.document(rules, all, out)
	return out, err
}

// keepSidecars refuses changes of the container that a proposed sidecar makes: a rule of containers would replace it.
func keepSidecars(all []*entry) {
	for _, e := range all {
		if e.operation != "containers" || len(e.path) < 3 {
			continue
		}
		made := func(other *entry) bool {
			return other.owner == e.owner && other.operation == "machineControllerManagerProvider" &&
				sidecarPrefix+textAt(other.value, "provider") == e.path[1]
		}
		if slices.ContainsFunc(all, made) {
			e.refused = "it would replace the sidecar that machineControllerManagerProvider makes"
		}
	}
}

// proposer holds the common data of the steps of one proposal.
type proposer struct {
	options  Options
	subjects []*subject
	// kubernetes is the profile's constraint on versions; empty for none.
	kubernetes string
}

// accept compiles the entries, and leaves out those that the engine refuses, until it takes the rest.
func (p *proposer) accept(all []*entry) (*mutation.Program, []*rule, error) {
	for range 2*len(all) + 2 {
		rules := arrange(all)
		if len(rules) == 0 {
			return nil, nil, nil
		}
		program, findings, err := p.compile(rules)
		if err != nil || program != nil && !together(all) {
			return program, rules, err
		}
		if program == nil && !refuse(rules, findings) {
			return nil, nil, findings
		}
	}
	return nil, nil, errors.New("the engine refuses every rule")
}

// compile returns the program of the rules, or the engine's findings.
func (p *proposer) compile(rules []*rule) (*mutation.Program, source.Findings, error) {
	written, err := p.write(rules)
	if err != nil {
		return nil, nil, err
	}
	documents, findings := profile.Load(source.File{Name: "proposal", Data: written})
	if len(findings) > 0 || len(documents) != 1 {
		return nil, findings, nil
	}
	i := 0
	for _, targets := range slices.Concat(documents[0].ControlPlane, documents[0].ControlPlaneExposure, documents[0].ControlPlaneBackup) {
		for _, r := range targets.Rules {
			rules[i].path = r.Path
			i++
		}
	}
	program, err := mutation.Compile(documents, mutation.Options{Generation: p.options.Generation})
	if errors.As(err, &findings) {
		return nil, findings.Errors(), nil
	}
	return program, nil, err
}

// refuse marks the entries that findings name. Where a finding does not tell the entries of a rule apart, each gets a rule of its
// own. It reports whether anything changed.
func refuse(rules []*rule, findings source.Findings) bool {
	changed := false
	for _, finding := range findings {
		for _, r := range rules {
			rest, ok := strings.CutPrefix(finding.Path, r.path)
			if !ok || rest != "" && rest[0] != '.' {
				continue
			}
			blamed := r.blamed(rest, finding.Message)
			for _, e := range blamed {
				e.refused = finding.Message
			}
			for _, e := range r.entries {
				e.alone = e.alone || len(blamed) == 0
			}
			changed = true
		}
	}
	return changed
}

// together moves entries with separate rules into common ones. It reports whether there were any.
func together(all []*entry) bool {
	found := false
	for _, e := range all {
		found, e.alone = found || e.alone && e.refused == "", false
	}
	return found
}

// remaining returns the differences that are left when the program was applied to the object before.
func (p *proposer) remaining(ctx context.Context, program *mutation.Program, s *subject) ([]string, error) {
	got, err := p.admit(ctx, program, s)
	if failure, ok := errors.AsType[*mutation.Failure](err); ok {
		return []string{fmt.Sprintf("%s: the proposal is denied: %v", s, failure)}, nil
	}
	if err != nil {
		return nil, err
	}
	var left []string
	for _, e := range differences(got, s.after, s) {
		left = append(left, s.String()+": "+e.String()+" is missing")
	}
	return left, nil
}

// admit applies the program, which may be nil, to the object before.
func (p *proposer) admit(ctx context.Context, program *mutation.Program, s *subject) (tree, error) {
	if program == nil {
		return s.before, nil
	}
	object := s.raw
	for _, registration := range program.Registrations() {
		if registration.Garden != s.garden || !registration.Has(s.form.Group, s.form.Kind, s.object.Name) {
			continue
		}
		result, err := program.Admit(ctx, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: "CREATE",
			Namespace: s.object.Namespace, Name: s.object.Name, Group: s.form.Group, Version: s.form.Version, Kind: s.form.Kind,
			Object: object,
		}, s.facts(p.options.Provider, p.subjects))
		if err != nil {
			return nil, err
		}
		if result.Patch == nil {
			continue
		}
		patch, err := jsonpatch.DecodePatch(result.Patch)
		if err != nil {
			return nil, err
		}
		if object, err = patch.Apply(object); err != nil {
			return nil, err
		}
	}
	return decodeTree(object)
}

// document returns the profile with a comment at the top and, after the rules, the refused entries and missing objects.
func (p *proposer) document(rules []*rule, all []*entry, out *Proposal) ([]byte, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "# Proposed by graft convert; it reproduces %d of %s.\n", out.Reproduced, counted(out.Objects))
	if len(rules) > 0 {
		written, err := p.write(rules)
		if err != nil {
			return nil, err
		}
		text.Write(written)
	}
	refused := slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return e.refused == "" })
	if len(refused) > 0 {
		text.WriteString("\n# Refused by the engine:\n")
	}
	for _, e := range refused {
		fmt.Fprintf(&text, "# - %s: %s: %s\n", e.owner.Name, e, strings.ReplaceAll(e.refused, "\n", "\n#   "))
	}
	if len(out.Missed) > 0 {
		text.WriteString("\n# Not reproduced:\n")
	}
	for _, missed := range out.Missed {
		text.WriteString("# - " + strings.ReplaceAll(missed, "\n", "\n#   ") + "\n")
	}
	return []byte(text.String()), nil
}

func counted(objects int) string {
	if objects == 1 {
		return "1 object that differs"
	}
	return fmt.Sprintf("%d objects that differ", objects)
}
