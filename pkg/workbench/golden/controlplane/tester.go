// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tests ProviderProfiles with tables of the kind ProviderProfileTest. Each object is admitted
// twice by the engine of the webhooks; the second admission must change nothing.
//
// It reads files but writes none; package golden runs its cases and writes golden files. Start reading at New.
package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	profiles "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// Tester is the kind of tests for ProviderProfiles.
type Tester struct {
	generator snapshot.Generator
	profiles  []string
	programs  golden.Cache[*compiledProfiles]
	planes    planes
}

// New returns the kind. The generator creates control planes for tests without their own; profiles are the paths of the
// tested profiles if a test names none, instead of the nearest profile.yaml.
func New(generator snapshot.Generator, profiles ...string) *Tester {
	return &Tester{generator: generator, profiles: profiles, programs: golden.Cache[*compiledProfiles]{}, planes: planes{generated: map[string]snapshot.Generated{}}}
}

// Name implements golden.Tester.
func (t *Tester) Name() string { return v1alpha1.KindProviderProfileTest }

// Prepare compiles the profiles of the cases and generates the control planes, each once. It fails if control planes
// cannot be generated.
func (t *Tester) Prepare(ctx context.Context, cases []*golden.Case) error {
	var compiling errgroup.Group
	compiling.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range cases {
		compiling.Go(func() error {
			if ctx.Err() == nil {
				_, _ = c.Test.(*caseTest).program() // Run reports errors
			}
			return ctx.Err()
		})
	}
	if err := compiling.Wait(); err != nil {
		return err
	}
	for _, c := range cases {
		test := c.Test.(*caseTest)
		if program, err := test.program(); err == nil {
			test.input.Options.Provider = cmp.Or(test.input.Options.Provider, program.provider)
			_, _ = snapshot.Build(ctx, test.input, &t.planes) // it records the control planes; Run reports errors
		}
	}
	if len(t.planes.options) == 0 {
		return ctx.Err()
	}
	all, err := t.generator.Generate(ctx, t.planes.options...)
	if err != nil {
		return err
	}
	for i, o := range t.planes.options {
		key, _ := json.Marshal(o) // Generate has encoded it
		t.planes.generated[string(key)] = all[i]
	}
	return nil
}

// planes holds the control planes of all cases. It is a snapshot.Generator that first records the options of the
// requested ones, to generate all of them in one run.
type planes struct {
	options []snapshot.Options
	// generated has the control planes by their options in JSON. Before the run they have the error that stops a Build.
	generated map[string]snapshot.Generated
}

// Generate implements snapshot.Generator. It fails if options cannot be encoded.
func (p *planes) Generate(_ context.Context, options ...snapshot.Options) ([]snapshot.Generated, error) {
	all := make([]snapshot.Generated, len(options))
	for i, o := range options {
		key, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("reading the options of a control plane: %w", err)
		}
		if _, known := p.generated[string(key)]; !known {
			p.generated[string(key)], p.options = snapshot.Generated{Error: "not generated yet"}, append(p.options, o)
		}
		all[i] = p.generated[string(key)]
	}
	return all, nil
}

// compiledProfiles are profiles as a test needs them, compiled once for all tests that need them so.
type compiledProfiles struct {
	*mutation.Program
	// provider is the cloud of the first profile.
	provider string
}

// program returns a function that compiles profiles with these parameters, for Gardener of today or the older generation.
func (t *Tester) program(paths []string, legacy bool, parameters map[string]source.Node) func() (*compiledProfiles, error) {
	values := map[string]any{}
	for name, node := range parameters {
		values[name] = golden.Plain(node)
	}
	key := fmt.Sprintf("%q %v %#v", paths, legacy, values) // maps are printed in the order of their keys
	options := profiles.Options{Generation: contract.Today}
	if legacy {
		options.Generation = contract.Labelled
	}
	return t.programs.Once(key, func() (*compiledProfiles, error) { return newProgram(paths, options, parameters) })
}

func newProgram(paths []string, options profiles.Options, parameters map[string]source.Node) (*compiledProfiles, error) {
	if len(paths) == 0 {
		return nil, golden.ErrNoProfile
	}
	files, err := folder.Read(paths...)
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, func(files []source.File) (*compiledProfiles, error) {
		documents, findings := profile.Load(files...)
		if len(findings) == 0 {
			findings = override(documents, parameters)
		}
		if err := findings.Err(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(documents, func(d *profile.Document) bool { return options.Generation.For(d.Gardener) }) {
			options.Generation = contract.Labelled
		}
		compiled, err := profiles.Compile(documents, options)
		if err != nil {
			return nil, err
		}
		p := &compiledProfiles{Program: compiled}
		if len(documents) > 0 && len(documents[0].Providers) > 0 {
			p.provider = documents[0].Providers[0]
		}
		return p, nil
	})
}

// override sets the parameters in the profiles that have them.
func override(documents []*profile.Document, parameters map[string]source.Node) source.Findings {
	overrides := profile.Parameters{}
	var findings source.Findings
	for name, value := range parameters {
		if err := overrides.Set(documents, name, value); err != nil {
			findings = append(findings, value.Finding("parameters."+name, "%s", err))
		}
	}
	return append(findings, overrides.Override(documents)...)
}

// caseTest is the test of a case with one shoot of one Kubernetes version.
type caseTest struct {
	at source.Node
	// written is the setting.
	written source.Place
	program func() (*compiledProfiles, error)
	planes  *planes
	input   snapshot.Input
	// more are further objects for the webhooks, in addition to those of the input.
	more     []manifest.Object
	edits    []edit
	expected []expectation
	// golden means that a golden file contains the differences of all objects.
	golden bool
}

// Run implements golden.Test.
func (test *caseTest) Run(ctx context.Context) (golden.Outcome, error) {
	program, err := test.program()
	if err != nil {
		return golden.Outcome{}, err
	}
	snapshots, err := snapshot.Build(ctx, test.input, test.planes)
	if f, ok := errors.AsType[source.Finding](err); ok && strings.Contains(f.Path, ".") {
		dot := strings.LastIndex(f.Path, ".")
		f.Position = test.written.Walk(f.Path[:dot]).Key(f.Path[dot+1:]).Node.Position()
		err = f
	}
	if err != nil {
		return golden.Outcome{}, err
	}
	r := &run{caseTest: test, program: program}
	for _, s := range snapshots {
		if err := r.admit(ctx, s); err != nil {
			return golden.Outcome{}, err
		}
	}
	r.checkUnexpected()
	for i := range test.expected {
		r.expect(ctx, &test.expected[i])
	}
	if test.golden {
		text, err := r.diff(ctx)
		if err != nil {
			return golden.Outcome{}, err
		}
		r.outcome.Content = []byte(text)
	}
	return r.outcome, ctx.Err()
}

// run is the state of a caseTest while it runs.
type run struct {
	*caseTest

	program *compiledProfiles
	objects []*admittedObject
	outcome golden.Outcome
}

// fail adds a failure about a subject. It combines the same failure of several subjects.
func (r *run) fail(at source.Node, subject string, f golden.Failure) {
	f.At = at.Position()
	same := slices.IndexFunc(r.outcome.Failures, func(known golden.Failure) bool {
		known.Subject = ""
		return reflect.DeepEqual(known, f)
	})
	if same >= 0 {
		r.outcome.Failures[same].Subject += ", " + subject
		return
	}
	f.Subject = subject
	r.outcome.Failures = append(r.outcome.Failures, f)
}

// admit calls the webhooks for the objects of a snapshot, and then again for the results.
func (r *run) admit(ctx context.Context, s *snapshot.Snapshot) error {
	objects := slices.Concat(s.Objects, r.more)
	for i, m := range objects {
		o := &admittedObject{Object: m, snapshot: s, program: r.program.Program, old: s.Old[snapshot.OldKey(m)]}
		if i >= len(s.Objects) && o.Namespace == "" {
			o.Namespace = s.Namespace().Name
		}
		if o.Kind == "OperatingSystemConfig" {
			parsed, err := document.Parse(o.JSON)
			if err != nil {
				return fmt.Errorf("reading %s: %w", o, err)
			}
			o.purpose, _ = parsed.Original().Find("spec", "purpose").Text()
		}
		if err := r.edit(o); err != nil {
			return err
		}
		if err := o.admit(ctx); err != nil {
			return err
		}
		if o.denied == nil {
			r.again(ctx, o)
		}
		r.objects = append(r.objects, o)
	}
	return nil
}

// edit applies the edits for the object.
func (r *run) edit(o *admittedObject) error {
	original := o.JSON
	for i := range r.edits {
		e := &r.edits[i]
		if !e.matches(o) {
			continue
		}
		into := &o.JSON
		if e.ofOld {
			if into = &o.old; o.old == nil {
				o.old = original
			}
		}
		edited, err := e.patch.Apply(*into)
		if err != nil {
			return source.Findings{e.at.Finding("", "editing %s: %s", o.Object, err)}
		}
		*into, e.used = edited, true
	}
	return nil
}

// again checks that a second admission, as a creation and as an update, changes nothing.
func (r *run) again(ctx context.Context, o *admittedObject) {
	if len(o.applied) == 0 {
		return
	}
	for _, second := range []struct {
		what string
		old  []byte
		skip bool
	}{
		{"the webhooks are called a second time", o.old, !o.changed()},
		{"it is updated without changes", o.result, false},
	} {
		if second.skip {
			continue
		}
		result, _, err := o.snapshot.Result(ctx, o.program, o.Object, o.result, second.old)
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil:
			r.fail(r.at, o.String(), golden.Failure{Message: "is denied when " + second.what + ": " + err.Error()})
		case !bytes.Equal(result, o.result):
			var difference strings.Builder
			_ = render.Style{Context: 1}.Patched(&difference, o.result, result, "  ") // both are objects
			r.fail(r.at, o.String(), golden.Failure{Message: "changes once more when " + second.what, Diff: difference.String()})
		}
	}
}

// checkUnexpected reports edits of missing objects, and denied objects that no expectation and no golden file is about.
func (r *run) checkUnexpected() {
	for _, e := range r.edits {
		if !e.used {
			r.fail(e.at, e.title, golden.Failure{Message: r.noMatch(e.selector)})
		}
	}
	for _, o := range r.objects {
		if o.denied != nil && !r.golden && !slices.ContainsFunc(r.expected, func(e expectation) bool { return r.concerns(&e, o) }) {
			r.fail(r.at, o.String(), golden.Failure{Message: "is denied: " + o.reason()})
		}
	}
}

// noMatch returns the message for a selector that matches no object, with the names of similar objects.
func (r *run) noMatch(s selector) string {
	text := "the control plane has no such object"
	if s.target != nil {
		return text + " (the word absent expects that)"
	}
	var names []string
	for _, o := range r.objects {
		if o.Kind == s.kind {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return text + ", and none of kind " + s.kind
	}
	return fmt.Sprintf("%s; of kind %s are %s", text, s.kind, strings.Join(names, ", "))
}

// admittedObject is an object of a case with its result.
type admittedObject struct {
	manifest.Object

	snapshot *snapshot.Snapshot
	program  *mutation.Program
	purpose  string
	old      []byte

	result   []byte
	applied  []mutation.Applied
	denied   *mutation.Failure
	rendered *render.Change
}

func (o *admittedObject) garden() bool { return o.snapshot.Namespace().Name == target.GardenNamespace }

func (o *admittedObject) changed() bool { return !bytes.Equal(o.result, o.JSON) }

// reason returns the reason of the denial.
func (o *admittedObject) reason() string { return string(o.denied.Reason) + ": " + o.denied.Error() }

// admit calls the webhooks for the object. It fails if there is no result; a denial is a result.
func (o *admittedObject) admit(ctx context.Context) error {
	var err error
	o.result, o.applied, err = o.snapshot.Result(ctx, o.program, o.Object, o.JSON, o.old)
	if err == nil || errors.As(err, &o.denied) {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w", o, err)
}

// change admits the object again and records the author of each line. It is slower, and only for output.
func (o *admittedObject) change(ctx context.Context) (*render.Change, error) {
	if o.rendered != nil {
		return o.rendered, nil
	}
	change, err := render.NewChange(o.JSON)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	var failure *mutation.Failure
	if err := change.Admit(ctx, o.program, o.snapshot.Admission(o.old), o.snapshot.Source()); err != nil && !errors.As(err, &failure) {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	change.Reveal() // the test invents these Secrets
	o.rendered = change
	return change, nil
}

// diff returns the results for the changed objects. Identical results of several objects of a kind are written once,
// below all their names.
func (r *run) diff(ctx context.Context) (string, error) {
	type key struct{ kind, text string }
	var order []key
	names := map[key]string{}
	for _, o := range r.objects {
		text, err := o.difference(ctx)
		switch {
		case o.denied != nil:
			text = "  denied: " + string(o.denied.Reason) + "\n"
		case err != nil:
			return "", err
		case text == "":
			continue
		}
		k := key{o.Kind, text}
		if names[k] == "" {
			order = append(order, k)
		}
		names[k] += o.String() + "\n"
	}
	if len(order) == 0 {
		return "no object changes\n", nil
	}
	blocks := make([]string, len(order))
	for i, k := range order {
		blocks[i] = names[k] + k.text
	}
	return strings.Join(blocks, "\n"), nil
}

// margin is the column of rule names. It is constant, so that a change does not move other lines.
const margin = 60

// difference returns the effect of rules line by line, with the name of the rule after the first of its lines. It omits
// line numbers of the profile, because they change with every line inserted above.
func (o *admittedObject) difference(ctx context.Context) (string, error) {
	change, err := o.change(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, section := range render.Sections(change.Edits(), 1) {
		out.WriteString("  " + section.Heading() + "\n")
		for _, run := range section.Runs() {
			if run.Rows[0].Gap {
				out.WriteString("    ⋮\n")
			}
			for i, row := range run.Rows {
				line := fmt.Sprintf("  %c %s", row.Op, row)
				if i == 0 && run.By != nil {
					line += strings.Repeat(" ", max(2, margin-utf8.RuneCountInString(line))) + "# " + run.By.Rule
				}
				out.WriteString(strings.TrimRight(line, " ") + "\n")
			}
		}
	}
	return out.String(), nil
}
