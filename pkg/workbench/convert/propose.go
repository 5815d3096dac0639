// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert proposes rules for the differences between objects before and after a webhook. One walk over the two
// states of an object turns each difference into an argument of the most specific operation; arguments of the same
// operation become one rule. The package then applies the proposal to the objects before, and reports remaining
// differences.
//
// It finds no conditions and no expressions, and it reads no files. Start reading at Propose, and at compareOwn for the walk.
package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
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

// Proposal is a profile with the differences that it reproduces and misses.
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
	differing := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool {
		return len(differences(s.before, s.after, s)) == 0
	})
	out := &Proposal{Missed: missed, Objects: len(differing)}
	if out.Objects == 0 && len(missed) == 0 {
		return nil, ErrNoDifference
	}
	p := &proposer{options: o}
	p.kubernetes, p.version = versions(subjects)
	// An operation may write more than its arguments, such as a whole container: the second time proposes the remaining
	// differences as well.
	for range 2 {
		for _, s := range subjects {
			if got, err := p.admit(ctx, s); err == nil {
				p.entries = merge(p.entries, differences(got, s.after, s))
			}
		}
		if err := p.accept(); err != nil {
			return nil, fmt.Errorf("compiling the proposal: %w", err)
		}
	}
	for _, s := range subjects {
		left, err := p.remaining(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		out.Missed = append(out.Missed, left...)
		if len(left) == 0 && slices.Contains(differing, s) {
			out.Reproduced++
		}
	}
	for _, rule := range p.rules {
		out.Arguments += len(rule)
	}
	out.Profile = p.document(out)
	return out, nil
}

// proposer holds the common data of the steps of one proposal.
type proposer struct {
	options Options
	// kubernetes is the profile's constraint on versions, empty for none; version is one that the objects may have.
	kubernetes, version string
	// entries are those of all objects; rules has the accepted ones. They are written as a profile, and compiled to the
	// program, which is nil at first.
	entries []*entry
	rules   [][]*entry
	written []byte
	program *mutation.Program
}

// accept makes the program of all entries that the engine accepts together: it tries all at once, then one by one, and
// marks each refused entry.
func (p *proposer) accept() error {
	open := slices.DeleteFunc(slices.Clone(p.entries), func(e *entry) bool { return e.refused != "" })
	if findings, err := p.use(open); err != nil || len(findings) == 0 {
		return err
	}
	var accepted []*entry
	for _, e := range open {
		switch findings, err := p.use(append(accepted, e)); {
		case err != nil:
			return err
		case len(findings) > 0:
			e.refused = findings[0].Message
		default:
			accepted = append(accepted, e)
		}
	}
	return nil
}

// use makes the rules and the program of entries, or returns the engine's findings.
func (p *proposer) use(entries []*entry) (source.Findings, error) {
	rules := arrange(entries)
	written, err := p.write(rules)
	if err != nil {
		return nil, err
	}
	documents, findings := profile.Load(source.File{Name: "proposal", Data: written})
	if len(findings) > 0 {
		return findings, nil
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: p.options.Generation})
	if errors.As(err, &findings) {
		return findings.Errors(), nil
	}
	p.rules, p.written, p.program = rules, written, program
	return nil, err
}

// remaining returns the differences that are left when the program was applied to the object before.
func (p *proposer) remaining(ctx context.Context, s *subject) ([]string, error) {
	got, err := p.admit(ctx, s)
	if failure, ok := errors.AsType[*mutation.Failure](err); ok {
		return []string{fmt.Sprintf("%s: the proposal is denied: %v", s, failure)}, nil
	}
	if err != nil {
		return nil, err
	}
	var left []string
	for _, e := range differences(got, s.after, s) {
		line := s.String() + ": " + e.String() + " is missing"
		if known := knownAs(p.entries, e); known != nil && known.refused != "" {
			line += ": " + known.refused
		}
		left = append(left, line)
	}
	return left, nil
}

// admit applies the program to the object before.
func (p *proposer) admit(ctx context.Context, s *subject) (tree, error) {
	if p.program == nil {
		return s.before, nil
	}
	known, err := p.factsOf(s)
	if err != nil {
		return nil, err
	}
	admitted, _, err := (&snapshot.Snapshot{Facts: known}).Result(ctx, p.program, s.Object, s.JSON, nil)
	if err != nil {
		return nil, err
	}
	return decodeObject(admitted)
}

// document returns the profile with a comment at the top and, after the rules, the differences that it misses.
func (p *proposer) document(out *Proposal) []byte {
	var text strings.Builder
	differ := "objects that differ"
	if out.Objects == 1 {
		differ = "object that differs"
	}
	fmt.Fprintf(&text, "# Proposed by graft convert; it reproduces %d of %d %s.\n", out.Reproduced, out.Objects, differ)
	text.Write(p.written)
	if len(out.Missed) > 0 {
		text.WriteString("\n# Not reproduced:\n")
	}
	for _, line := range out.Missed {
		text.WriteString("# - " + strings.ReplaceAll(line, "\n", "\n#   ") + "\n")
	}
	return []byte(text.String())
}
