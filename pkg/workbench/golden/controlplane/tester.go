// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tests ProviderProfiles with tables of the kind ProviderProfileTest. Each object is admitted
// twice by the engine of the webhooks; the second admission must change nothing.
//
// It reads files but writes none; package golden runs its cases and writes golden files. Start reading at New.
package controlplane

import (
	"cmp"
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// Tester is the kind of tests for ProviderProfiles.
type Tester struct {
	generator scene.Generator
	profiles  []string
	programs  programs
	planes    *planes
}

// New returns the kind. The generator creates control planes for tests without their own; profiles are the paths of the
// tested profiles if a test names none, instead of the nearest profile.yaml.
func New(generator scene.Generator, profiles ...string) *Tester {
	return &Tester{generator: generator, profiles: profiles, programs: programs{}, planes: newPlanes()}
}

// Profile implements golden.Kind.
func (t *Tester) Profile() string { return v1alpha1.KindProviderProfile }

// Prepare compiles the profiles of the cases and generates the control planes, each once.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	trials := make([]*trial, 0, len(cases))
	for _, c := range cases {
		trials = append(trials, c.Test.(*trial))
	}
	var compiled []*program
	for _, tr := range trials {
		var fresh bool
		if tr.program, fresh = t.programs.load(tr.profiles, tr.setting.generation(), tr.parameters); fresh {
			compiled = append(compiled, tr.program)
		}
		if tr.program.err == nil {
			tr.input.Options.Provider = cmp.Or(tr.input.Options.Provider, tr.program.provider())
			tr.planes = t.planes
			tr.plan(ctx)
		}
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0) + 1) // the generator is a program of its own
	work.Go(func() error { return t.planes.generate(ctx, t.generator) })
	for _, p := range compiled {
		work.Go(func() error { p.compile(); return nil })
	}
	return work.Wait()
}
