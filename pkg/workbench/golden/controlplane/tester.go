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
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	profiles "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// Tester is the kind of tests for ProviderProfiles.
type Tester struct {
	generator snapshot.Generator
	profiles  []string
	programs  programs
	planes    *planes
}

// New returns the kind. The generator creates control planes for tests without their own; profiles are the paths of the
// tested profiles if a test names none, instead of the nearest profile.yaml.
func New(generator snapshot.Generator, profiles ...string) *Tester {
	return &Tester{generator: generator, profiles: profiles, programs: programs{}, planes: &planes{made: map[string]*plane{}}}
}

// Name implements golden.Kind.
func (t *Tester) Name() string { return v1alpha1.KindProviderProfileTest }

// Prepare compiles the profiles of the cases and generates the control planes, each once. It fails if control planes
// cannot be generated.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	for _, c := range cases {
		if ctx.Err() != nil {
			break
		}
		test := c.Test.(*caseTest)
		test.program = t.programs.load(test.profiles, test.setting.generation(), test.setting.Parameters)
		if test.program.err == nil {
			test.input.Options.Provider = cmp.Or(test.input.Options.Provider, test.program.provider)
			test.planes = t.planes
			test.plan(ctx)
		}
	}
	return t.planes.generate(ctx, t.generator)
}

// errPlanned stops building a snapshot that needs a control plane to be generated.
var errPlanned = errors.New("planned")

// planes holds the control planes of all cases. It is a snapshot.Generator that first records the requested ones, to
// generate all of them in one run.
type planes struct {
	wanted []snapshot.Options
	keys   []string
	// made are the control planes by key; nil until they are generated.
	made map[string]*plane
}

type plane struct {
	snapshot.Generated
	err error
}

// Generate implements snapshot.Generator.
func (p *planes) Generate(_ context.Context, options ...snapshot.Options) ([]snapshot.Generated, error) {
	generated := make([]snapshot.Generated, 0, len(options))
	for _, o := range options {
		raw, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("reading the options of a control plane: %w", err)
		}
		key := string(raw)
		made, known := p.made[key]
		switch {
		case !known:
			p.made[key] = nil
			p.wanted, p.keys = append(p.wanted, o), append(p.keys, key)
		case made == nil:
		case made.err != nil:
			return nil, made.err
		default:
			generated = append(generated, made.Generated)
		}
	}
	if len(generated) < len(options) {
		return nil, errPlanned
	}
	return generated, nil
}

// generate generates the recorded control planes. If that fails, it generates them one by one, and requests for those
// that fail return the error.
func (p *planes) generate(ctx context.Context, generator snapshot.Generator) error {
	if len(p.wanted) == 0 {
		return ctx.Err()
	}
	if generator == nil {
		return snapshot.ErrNoGenerator
	}
	all, failed := generator.Generate(ctx, p.wanted...)
	if ctx.Err() != nil || errors.Is(failed, snapshot.ErrNoGenerator) {
		return cmp.Or(failed, ctx.Err())
	}
	for i, key := range p.keys {
		one, err := all, failed
		if err == nil {
			one = all[i:]
		} else if len(p.wanted) > 1 {
			one, err = generator.Generate(ctx, p.wanted[i])
		}
		if p.made[key] = (&plane{err: err}); err == nil {
			p.made[key].Generated = one[0]
		}
	}
	p.wanted, p.keys = nil, nil
	return ctx.Err()
}

// program are profiles as a test needs them, compiled once for all tests that need them so.
type program struct {
	*mutation.Program
	// provider is the cloud of the first profile.
	provider string
	// rules lists all rules, initially without any test.
	rules []golden.Rule
	// places lists the places that each rule writes.
	places map[source.Position][]operation.Place
	err    error
}

// programs caches programs by their inputs.
type programs map[string]*program

// load compiles the profiles with these parameters, or returns them from the cache.
func (p programs) load(paths []string, g contract.Generation, parameters map[string]source.Node) *program {
	values := map[string]any{}
	for name, node := range parameters {
		values[name] = golden.Plain(node)
	}
	written, err := json.Marshal(values)
	if err != nil {
		return &program{err: err}
	}
	key := fmt.Sprintf("%q %v %s", paths, g, written)
	if p[key] == nil {
		loaded, err := newProgram(paths, g, parameters)
		if err != nil {
			loaded = &program{err: err}
		}
		p[key] = loaded
	}
	return p[key]
}

func newProgram(paths []string, g contract.Generation, parameters map[string]source.Node) (*program, error) {
	if len(paths) == 0 {
		return nil, golden.ErrNoProfile
	}
	files, err := folder.Read(paths...)
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, func(files []source.File) (*program, error) {
		documents, findings := profile.Load(files...)
		if len(findings) == 0 {
			findings = override(documents, parameters)
		}
		if err := findings.Err(); err != nil {
			return nil, err
		}
		compiled, err := profiles.Compile(documents, profiles.Options{Generation: g})
		if err != nil {
			return nil, err
		}
		p := &program{Program: compiled, places: map[source.Position][]operation.Place{}}
		if len(documents) > 0 && len(documents[0].Providers) > 0 {
			p.provider = documents[0].Providers[0]
		}
		p.list()
		return p, nil
	})
}

// override sets the parameters in the profiles that have them.
func override(documents []*profile.Document, parameters map[string]source.Node) source.Findings {
	overrides, unused := profile.Parameters{}, maps.Clone(parameters)
	for _, document := range documents {
		values := map[string]source.Node{}
		for name, value := range parameters {
			if _, ok := document.Parameters[name]; ok || len(documents) == 1 {
				values[name] = value
				delete(unused, name)
			}
		}
		overrides[document.Metadata.Name] = values
	}
	var findings source.Findings
	for name, value := range unused {
		findings = append(findings, value.Finding("parameters."+name, "no profile has such a parameter"))
	}
	return append(findings, overrides.Override(documents)...)
}

// list lists the rules, each once, as never reached, and their places.
func (p *program) list() {
	for _, info := range p.Rules() {
		if p.places[info.Position] == nil {
			name := info.Name
			if !strings.HasPrefix(name, info.Target.Name+"[") { // a rule without a name has its target there
				name = info.Target.Name + ": " + name
			}
			p.rules = append(p.rules, golden.Rule{Name: name, At: info.Position})
			p.places[info.Position] = []operation.Place{}
		}
		p.places[info.Position] = append(p.places[info.Position], info.Places...)
	}
}

// covered returns the rules with those applied that have one of the positions.
func (p *program) covered(applied map[source.Position]bool) []golden.Rule {
	rules := slices.Clone(p.rules)
	for i := range rules {
		rules[i].Applied = applied[rules[i].At]
	}
	return rules
}
