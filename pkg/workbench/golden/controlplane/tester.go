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
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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
	return &Tester{generator: generator, profiles: profiles, programs: programs{}, planes: newPlanes()}
}

// Profile implements golden.Kind.
func (t *Tester) Profile() string { return v1alpha1.KindProviderProfile }

// Prepare compiles the profiles of the cases and generates the control planes, each once. It fails if control planes
// cannot be generated.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	tests := make([]*caseTest, 0, len(cases))
	for _, c := range cases {
		tests = append(tests, c.Test.(*caseTest))
	}
	var compiled []*program
	for _, test := range tests {
		var fresh bool
		if test.program, fresh = t.programs.load(test.profiles, test.setting.generation(), test.parameters); fresh {
			compiled = append(compiled, test.program)
		}
		if test.program.err == nil {
			test.input.Options.Provider = cmp.Or(test.input.Options.Provider, test.program.provider())
			test.planes = t.planes
			test.plan(ctx)
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

// errPlanned stops building a snapshot that needs a control plane to be generated.
var errPlanned = errors.New("planned")

// planes holds the control planes of all cases. It is a snapshot.Generator that first records the requested ones, to
// generate all of them in one run.
type planes struct {
	wanted []snapshot.Options
	keys   []string
	made   map[string]*plane
}

type plane struct {
	snapshot.Generated
	err error
}

func newPlanes() *planes { return &planes{made: map[string]*plane{}} }

// Generate implements snapshot.Generator.
func (p *planes) Generate(_ context.Context, options ...snapshot.Options) ([]snapshot.Generated, error) {
	generated := make([]snapshot.Generated, 0, len(options))
	missing := false
	for _, o := range options {
		key, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("reading the options of a control plane: %w", err)
		}
		made, known := p.made[string(key)]
		switch {
		case !known:
			p.made[string(key)] = nil
			p.wanted, p.keys = append(p.wanted, o), append(p.keys, string(key))
			missing = true
		case made == nil:
			missing = true
		case made.err != nil:
			return nil, made.err
		default:
			generated = append(generated, made.Generated)
		}
	}
	if missing {
		return nil, errPlanned
	}
	return generated, nil
}

// generate generates the recorded control planes. Requests for those that fail return the error.
func (p *planes) generate(ctx context.Context, generator snapshot.Generator) error {
	if len(p.wanted) == 0 {
		return nil
	}
	if generator == nil {
		return snapshot.ErrNoGenerator
	}
	all, err := generator.Generate(ctx, p.wanted...)
	if err == nil {
		for i, key := range p.keys {
			p.made[key] = &plane{Generated: all[i]}
		}
		p.wanted, p.keys = nil, nil
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, snapshot.ErrNoGenerator) || len(p.wanted) == 1 {
		return p.failed(ctx, err)
	}
	// One by one, to tell which of them cannot be made.
	for i, key := range p.keys {
		one, err := generator.Generate(ctx, p.wanted[i])
		if p.made[key] = (&plane{err: err}); err == nil {
			p.made[key].Generated = one[0]
		}
	}
	p.wanted, p.keys = nil, nil
	return ctx.Err()
}

func (p *planes) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, snapshot.ErrNoGenerator) {
		return err
	}
	p.made[p.keys[0]] = &plane{err: err}
	p.wanted, p.keys = nil, nil
	return nil
}

// program are profiles as a test needs them, compiled once for all tests that need them so.
type program struct {
	documents  []*profile.Document
	generation contract.Generation
	*mutation.Program
	// rules lists all rules, initially without any test.
	rules []golden.Rule
	// places lists the places that each rule writes.
	places map[source.Position][]operation.Place
	err    error
}

// programs caches programs by their inputs.
type programs map[string]*program

// load reads the profiles with these parameters; fresh reports that they are still to be compiled.
func (p programs) load(paths []string, g contract.Generation, parameters map[string]source.Node) (loaded *program, fresh bool) {
	values, err := json.Marshal(plainValues(parameters))
	key := fmt.Sprintf("%s\x00%v\x00%s", strings.Join(paths, "\x00"), g, values)
	if known := p[key]; known != nil {
		return known, false
	}
	loaded = &program{generation: g}
	p[key] = loaded
	if err != nil {
		loaded.err = fmt.Errorf("reading parameters: %w", err)
		return loaded, false
	}
	loaded.documents, loaded.err = loadProfiles(paths, parameters)
	return loaded, loaded.err == nil
}

func loadProfiles(paths []string, parameters map[string]source.Node) ([]*profile.Document, error) {
	if len(paths) == 0 {
		return nil, golden.ErrNoProfile
	}
	files, err := folder.Read(paths...)
	if err != nil {
		return nil, err
	}
	documents, err := profile.Guard(files, func(files []source.File) ([]*profile.Document, error) {
		documents, findings := profile.Load(files...)
		return documents, findings.Err()
	})
	if err != nil {
		return nil, err
	}
	var findings source.Findings
	overrides := profile.Parameters{}
	for name, value := range parameters {
		known := false
		for _, document := range documents {
			if _, ok := document.Parameters[name]; ok || len(documents) == 1 {
				if overrides[document.Metadata.Name] == nil {
					overrides[document.Metadata.Name] = map[string]source.Node{}
				}
				overrides[document.Metadata.Name][name], known = value, true
			}
		}
		if !known {
			findings = append(findings, value.Finding("parameters."+name, "no profile has such a parameter"))
		}
	}
	findings = append(findings, overrides.Override(documents)...)
	return documents, findings.Err()
}

// provider returns the cloud of the first profile.
func (p *program) provider() string {
	if len(p.documents) == 0 || len(p.documents[0].Providers) == 0 {
		return ""
	}
	return p.documents[0].Providers[0]
}

func (p *program) compile() {
	p.Program, p.err = profile.Guard(p.files(), func(files []source.File) (*mutation.Program, error) {
		return profiles.Compile(slices.DeleteFunc(slices.Clone(p.documents), func(d *profile.Document) bool {
			return !slices.ContainsFunc(files, func(f source.File) bool { return f.Name == d.Node.File })
		}), profiles.Options{Generation: p.generation})
	})
	if p.err == nil {
		p.rules = p.listRules()
	}
}

// files name the files of the profiles, each once.
func (p *program) files() []source.File {
	var files []source.File
	for _, d := range p.documents {
		if !slices.ContainsFunc(files, func(f source.File) bool { return f.Name == d.Node.File }) {
			files = append(files, source.File{Name: d.Node.File})
		}
	}
	return files
}

// listRules returns the rules, each once, as never reached.
func (p *program) listRules() []golden.Rule {
	var rules []golden.Rule
	seen := map[source.Position]bool{}
	p.places = map[source.Position][]operation.Place{}
	for _, info := range p.Rules() {
		p.places[info.Position] = append(p.places[info.Position], info.Places...)
		if !seen[info.Position] {
			seen[info.Position] = true
			rules = append(rules, golden.Rule{Document: info.Profile, Name: ruleTitle(info), At: info.Position})
		}
	}
	return rules
}

// ruleTitle names a rule with its target, which a rule without a name has in its name already.
func ruleTitle(info mutation.RuleInfo) string {
	if strings.HasPrefix(info.Name, info.Target.Name+"[") {
		return info.Name
	}
	return info.Target.Name + ": " + info.Name
}

// covered returns the rules with those applied that have one of the positions.
func (p *program) covered(applied map[source.Position]bool) []golden.Rule {
	rules := slices.Clone(p.rules)
	for i := range rules {
		rules[i].Applied = applied[rules[i].At]
	}
	return rules
}
