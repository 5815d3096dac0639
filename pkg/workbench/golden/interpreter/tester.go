// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter tests InterpreterProfiles with tables of the kind InterpreterProfileTest. The engine of the
// webhook answers the requests, and a changed object is sent a second time, which must change nothing.
//
// It reads files but writes none; package golden runs its cases and writes golden files. Start reading at New.
package interpreter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// Tester is the kind of tests for InterpreterProfiles.
type Tester struct {
	profiles []string
	programs programs
}

// New returns the kind. Profiles are the paths of the tested profiles if a test names none, instead of the nearest
// profile.yaml.
func New(profiles ...string) *Tester { return &Tester{profiles: profiles, programs: programs{}} }

// Name implements golden.Kind.
func (t *Tester) Name() string { return v1alpha1.KindInterpreterProfileTest }

// Prepare compiles the profiles of the cases, each once. It fails if the context ends.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	for _, c := range cases {
		test := c.Test.(*caseTest)
		test.program = t.programs.load(test.profiles, test.gardener, test.optional)
	}
	return ctx.Err()
}

// program are profiles as a test needs them, compiled once for all tests that need them so.
type program struct {
	documents []*profile.Interpreter
	*rule.Program
	// rules lists all rules, initially without any test; index maps their names in traces and answers to their
	// positions in it.
	rules []golden.Rule
	index map[string]int
	err   error
}

// programs caches programs by their inputs.
type programs map[string]*program

// load reads and compiles profiles, behind them those of Gardener's kinds if these are wanted.
func (p programs) load(paths []string, withGardener bool, optional []source.Text) *program {
	names := make([]string, len(optional))
	for i, name := range optional {
		names[i] = name.Value
	}
	key := fmt.Sprintf("%t\x00%q\x00%q", withGardener, names, paths)
	if p[key] == nil {
		loaded, err := newProgram(paths, withGardener || len(names) > 0, names)
		if err != nil {
			loaded = &program{err: err}
		}
		p[key] = loaded
	}
	return p[key]
}

func newProgram(paths []string, withGardener bool, optional []string) (*program, error) {
	if len(paths) == 0 && !withGardener {
		return nil, golden.ErrNoProfile
	}
	files, err := folder.Read(paths...)
	if err != nil {
		return nil, err
	}
	own, err := profile.Guard(files, func(files []source.File) ([]*profile.Interpreter, error) {
		documents, findings := profile.LoadInterpreters(files...)
		return documents, findings.Errors().Err()
	})
	if err != nil {
		return nil, err
	}
	p := &program{documents: own, index: map[string]int{}}
	if withGardener {
		embedded, err := gardener.Profiles(optional...)
		if err != nil {
			return nil, err
		}
		if p.documents = slices.Concat(own, embedded); len(own) == 0 {
			own = embedded
		}
	}
	var findings source.Findings
	p.Program, findings = rule.Compile(p.documents)
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	for _, d := range own {
		p.list(d)
	}
	return p, nil
}

// list adds the rules of a document as never reached. It lists those of Gardener's kinds only if there are no others,
// because tests of a profile need not cover them.
func (p *program) list(d *profile.Interpreter) {
	for i, kind := range d.Kinds {
		at := d.Node.Get("kinds").Items()[i]
		for _, operation := range interpreter.Operations() {
			for j, written := range at.Get(string(operation)).Items() {
				p.index[fmt.Sprintf("%s: kinds[%d].%s[%d]", d.Metadata.Name, i, operation, j)] = len(p.rules)
				p.rules = append(p.rules, golden.Rule{
					Name: fmt.Sprintf("%s: %s[%d]", kinds(kind), operation, j), At: written.Position(),
				})
			}
		}
	}
}

// kinds names the kinds of an entry, of many the first.
func kinds(k v1alpha1.InterpretedKind) string {
	switch len(k.Kinds) {
	case 0:
		return k.Kind.Value
	case 1:
		return k.Kinds[0].Value
	}
	return fmt.Sprintf("%s and %d more", k.Kinds[0].Value, len(k.Kinds)-1)
}

// place returns the position of a rule with its name, or only the name of an unlisted one.
func (p *program) place(at string) string {
	if i, ok := p.index[at]; ok {
		r := p.rules[i]
		return fmt.Sprintf("%s:%d %s", r.At.File, r.At.Line, r.Name)
	}
	return at
}

// cut takes places in the profiles out of a text, which move whenever anything is written above them.
func (p *program) cut(text string) string {
	for _, d := range p.documents {
		for {
			before, behind, found := strings.Cut(text, d.Node.File+":")
			if !found {
				break
			}
			text = before + strings.TrimLeft(behind, "0123456789: ")
		}
	}
	return text
}

// tally marks the rules that had an effect. A rule with a true condition that refuses the object has one.
func (p *program) tally(into []golden.Rule, t *rule.Trace) {
	for i := range t.Rules {
		r := &t.Rules[i]
		refused := r.Outcome == rule.Failed && r.Held && r.Failure.Code == interpreter.CodeUnfit
		if at, listed := p.index[r.At]; listed && (refused || r.Outcome == rule.Applied || r.Outcome == rule.Refused || r.Outcome == rule.Unchanged) {
			into[at].Applied = true
		}
	}
}
