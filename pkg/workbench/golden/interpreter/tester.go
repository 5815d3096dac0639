// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter tests InterpreterProfiles with tables of the kind InterpreterProfileTest. The engine of the
// webhook answers the requests, and a changed object is sent a second time, which must change nothing.
//
// It reads files but writes none; package golden runs its cases and writes golden files. Start reading at New.
package interpreter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Tester is the kind of tests for InterpreterProfiles.
type Tester struct {
	profiles []string
	programs golden.Cache[*compiledProfiles]
}

// New returns the kind. Profiles are the paths of the tested profiles if a test names none, instead of the nearest
// profile.yaml.
func New(profiles ...string) *Tester {
	return &Tester{profiles: profiles, programs: golden.Cache[*compiledProfiles]{}}
}

// Name implements golden.Tester.
func (t *Tester) Name() string { return v1alpha1.KindInterpreterProfileTest }

// Prepare implements golden.Tester. The first case that runs compiles its profiles.
func (t *Tester) Prepare(ctx context.Context, _ []*golden.Case) error { return ctx.Err() }

// compiledProfiles are profiles as a test needs them, compiled once for all tests that need them so.
type compiledProfiles struct {
	documents []*profile.Interpreter
	*rule.Program
	// places are the positions of rules by their names in traces.
	places map[string]source.Position
}

// newProgram reads and compiles profiles, behind them those of Gardener's kinds if these are wanted.
func newProgram(paths []string, withGardener bool, optional []string) (*compiledProfiles, error) {
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
	p := &compiledProfiles{documents: own, places: map[string]source.Position{}}
	if withGardener {
		embedded, err := gardener.Profiles(optional...)
		if err != nil {
			return nil, err
		}
		p.documents = slices.Concat(own, embedded)
	}
	var findings source.Findings
	p.Program, findings = rule.Compile(p.documents)
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	for _, d := range p.documents {
		for i, kind := range d.Node.Get("kinds").Items() {
			for _, operation := range interpreter.Operations() {
				for j, written := range kind.Get(string(operation)).Items() {
					p.places[fmt.Sprintf("%s: kinds[%d].%s[%d]", d.Metadata.Name, i, operation, j)] = written.Position()
				}
			}
		}
	}
	return p, nil
}

// withoutPositions removes positions in the profiles from a text, because they change with every line inserted above.
func (p *compiledProfiles) withoutPositions(text string) string {
	for _, d := range p.documents {
		text = regexp.MustCompile(regexp.QuoteMeta(d.Node.File)+":[0-9: ]*").ReplaceAllString(text, "")
	}
	return text
}

// caseTest is the test of a case.
type caseTest struct {
	at         source.Node
	program    func() (*compiledProfiles, error)
	object     manifest.Object
	observed   json.RawMessage
	replicas   *int32
	members    []interpreter.Member
	operations []interpreter.Operation
	// want has the expected parts of the answers, and wanted the operations of these parts.
	want   source.Node
	wanted map[interpreter.Operation]bool
	// failure is the expected failure, or nil.
	failure *v1alpha1.InterpreterTestFailure
	// golden means that a golden file contains the remaining results.
	golden bool
}

// Questions returns the profiles and the requests of a case, for another engine. It fails if the profiles do not compile.
func (test *caseTest) Questions() ([]*profile.Interpreter, []interpreter.Request, error) {
	p, err := test.program()
	if err != nil {
		return nil, nil, err
	}
	return p.documents, test.requests(), nil
}

// requests returns the requests of the case.
func (test *caseTest) requests() []interpreter.Request {
	requests := make([]interpreter.Request, len(test.operations))
	for i, o := range test.operations {
		r := interpreter.Request{Operation: o, Kind: interpreter.KindOf(test.object.APIVersion, test.object.Kind), Object: test.object.JSON}
		switch o {
		case interpreter.Retain:
			r.Observed = test.observed
		case interpreter.Aggregate:
			r.Members = test.members
		case interpreter.Revise:
			r.Replicas = *test.replicas
		}
		requests[i] = r
	}
	return requests
}

// Run implements golden.Test.
func (test *caseTest) Run(ctx context.Context) (golden.Outcome, error) {
	p, err := test.program()
	if err != nil {
		return golden.Outcome{}, err
	}
	var outcome golden.Outcome
	answers := map[interpreter.Operation]any{}
	for _, request := range test.requests() {
		trace, err := p.Trace(ctx, request)
		if err != nil {
			return golden.Outcome{}, err
		}
		answer, err := p.answer(request.Operation, trace)
		if err != nil {
			return golden.Outcome{}, err
		}
		answers[request.Operation] = answer
		failures := test.judge(request, trace, answer)
		for i := range failures {
			failures[i].By = p.authors(request.Kind.Kind, trace)
		}
		outcome.Failures = append(append(outcome.Failures, failures...), test.again(ctx, p, request, trace)...)
	}
	if !test.golden {
		return outcome, nil
	}
	text, err := yaml.Marshal(answers)
	if err != nil {
		return golden.Outcome{}, fmt.Errorf("writing the answers: %w", err)
	}
	outcome.Content = append([]byte(head), text...)
	return outcome, nil
}

// authors returns the rules that contribute to the answer.
func (p *compiledProfiles) authors(kind string, t *rule.Trace) []string {
	var by []string
	for i := range t.Rules {
		r := &t.Rules[i]
		place := fmt.Sprintf("%s:%d %s: %s", p.places[r.At].File, p.places[r.At].Line, kind, r.At[strings.LastIndexByte(r.At, '.')+1:])
		switch r.Outcome {
		case rule.Applied, rule.Unchanged:
			by = append(by, place)
		case rule.Refused, rule.Failed:
			by = append(by, place+": "+string(r.Outcome))
		}
	}
	return by
}

// again fails if a repeated request changes the changed object once more: Karmada would write it repeatedly.
func (test *caseTest) again(ctx context.Context, p *compiledProfiles, r interpreter.Request, t *rule.Trace) []golden.Failure {
	if t.Failure != nil || t.Response.Patch == nil || !r.Operation.Patches() {
		return nil
	}
	fail := func(message string) []golden.Failure {
		return []golden.Failure{{At: test.at.Position(), Subject: string(r.Operation), Message: message}}
	}
	var err error
	if r.Object, err = interpret.Patched(r.Object, t.Response.Patch); err != nil {
		return fail(err.Error())
	}
	second, err := p.Trace(ctx, r)
	switch {
	case err != nil: // the context has ended
		return nil
	case second.Failure != nil:
		return fail("fails when it is applied to its own result: " + reason(second.Failure))
	case len(bytes.TrimSpace(second.Response.Patch)) > 0:
		return fail("is not idempotent; its own result changes again by: " + string(second.Response.Patch))
	}
	return nil
}

// head is the beginning of a golden file.
const head = "# The whole answers, by operation. graft test --update writes this file.\n"

// answer returns an answer as decoded JSON, as golden files have it. It names no rules, as their numbers move when one is
// written before them. The lists and the patch are there, maybe empty, where the operation has them.
func (p *compiledProfiles) answer(o interpreter.Operation, t *rule.Trace) (map[string]any, error) {
	var written any = t.Response
	if t.Failure != nil {
		written = map[string]any{"failure": map[string]any{"code": t.Failure.Code, "message": p.withoutPositions(t.Failure.Message)}}
	}
	decoded, err := golden.Canonical(written)
	if err != nil {
		return nil, err
	}
	answer := decoded.(map[string]any)
	delete(answer, "because")
	for field, has := range map[string]bool{
		"components": o == interpreter.Components, "dependencies": o == interpreter.Dependencies, "patch": o.Patches(),
	} {
		if has && answer[field] == nil && t.Failure == nil {
			answer[field] = []any{}
		}
	}
	return answer, nil
}

// judge returns the differences between an answer and the expected one.
func (test *caseTest) judge(q interpreter.Request, t *rule.Trace, answer map[string]any) []golden.Failure {
	var failures []golden.Failure
	fail := func(at source.Node, f golden.Failure) {
		f.At, f.Subject = at.Position(), string(q.Operation)
		failures = append(failures, f)
	}
	switch wanted, failed := test.failure, t.Failure; {
	case wanted != nil && failed == nil:
		fail(wanted.At, golden.Failure{Message: "must fail, but is answered"})
	case wanted != nil:
		if wanted.Code != 0 && int(wanted.Code) != failed.Code {
			fail(wanted.At, golden.Failure{Path: "failure.code", Want: fmt.Sprint(wanted.Code), Got: reason(failed)})
		}
		if part := wanted.Message; !strings.Contains(failed.Message, part.Value) {
			fail(part.At, golden.Failure{Path: "failure.message", Want: "… " + part.Value + " …", Got: failed.Message})
		}
	case failed != nil && (test.wanted[q.Operation] || !test.golden): // otherwise the golden file tells it
		fail(test.at, golden.Failure{Message: "is not answered: " + reason(failed)})
	case failed == nil && test.wanted[q.Operation]:
		view, err := view(q, t, answer)
		if err != nil {
			fail(test.at, golden.Failure{Message: err.Error()})
		}
		for _, m := range golden.Compare(test.want, view) {
			fail(m.At, golden.Failure{Path: strings.Join(m.Keys, "."), Want: m.Want, Got: m.Got})
		}
	}
	return failures
}

// view returns an answer in the form of the expected one. It has the expected parts of other operations.
func view(q interpreter.Request, t *rule.Trace, answer map[string]any) (golden.View, error) {
	var object any
	if q.Operation.Patches() {
		patched, err := interpret.Patched(q.Object, t.Response.Patch)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(patched, &object); err != nil {
			return nil, err
		}
	}
	return func(key string, want source.Node) any {
		switch {
		case !slices.Contains(answers[key], q.Operation):
			return golden.Plain(want)
		case key == "object":
			return object
		case key == "fields":
			return golden.ByPath(object)
		}
		return answer[key]
	}, nil
}

// reason returns a failure in one line: its code and its message.
func reason(f *interpreter.Failure) string { return fmt.Sprintf("%d %s", f.Code, f.Message) }
