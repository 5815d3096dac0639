// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter tests InterpreterProfiles with tables of the kind InterpreterProfileTest. The engine of the
// webhook answers the requests, and a changed object is sent a second time, which must change nothing.
//
// It reads files but writes none; package golden runs its cases and writes golden files. Start reading at New, or at
// Questions for another engine.
package interpreter

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
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

// Profile implements golden.Kind.
func (t *Tester) Profile() string { return v1alpha1.KindInterpreterProfile }

// Prepare compiles the profiles of the cases, each once.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	for _, c := range cases {
		tr := c.Test.(*trial)
		tr.program = t.programs.load(tr.profiles, tr.gardener, tr.optional)
	}
	return ctx.Err()
}

// Question is a question of a case.
type Question struct {
	// Case is the case with the operation, and Position where it is written.
	Case     string
	Position source.Position
	// Documents are the profiles that are active.
	Documents []*profile.Interpreter
	Request   interpreter.Request
}

// Questions returns the requests of all cases below paths, for another engine. The error wraps golden.ErrNoTests, is
// source.Findings about tests or profiles, or one of the file system.
func Questions(ctx context.Context, paths ...string) ([]Question, error) {
	found, err := golden.Find([]golden.Kind{New()}, paths...)
	if err != nil {
		return nil, err
	}
	if err := golden.Prepare(ctx, found.Cases); err != nil {
		return nil, err
	}
	var all []Question
	for _, c := range found.Cases {
		tr := c.Test.(*trial)
		if tr.program.err != nil {
			return nil, fmt.Errorf("loading the profiles of %s: %w", c.ID(), tr.program.err)
		}
		for _, request := range tr.requests() {
			all = append(all, Question{
				Case: c.ID() + ", " + string(request.Operation), Position: c.Position, Documents: tr.program.documents, Request: request,
			})
		}
	}
	return all, nil
}
