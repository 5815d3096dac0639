// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
)

// caseTest is the test of a case.
type caseTest struct {
	asked

	profiles []string
	gardener bool
	optional []source.Text
	want     want
	// holds reports whether the case has a golden file.
	holds bool

	program *program
}

// Questions returns the profiles and the requests of a prepared case, for another engine. It fails if the profiles do
// not compile.
func (test *caseTest) Questions() ([]*profile.Interpreter, []interpreter.Request, error) {
	if test.program.err != nil {
		return nil, nil, test.program.err
	}
	return test.program.documents, test.requests(), nil
}

// requests returns the requests of the case. The profiles must be compiled.
func (test *caseTest) requests() []interpreter.Request {
	operations := test.operations
	if len(operations) == 0 {
		operations = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool {
			return test.lacks(o) != "" || o == interpreter.Aggregate && !test.hasMembers || !test.program.Supports(test.kind(), o)
		})
	}
	requests := make([]interpreter.Request, len(operations))
	for i, o := range operations {
		requests[i] = test.request(o)
	}
	return requests
}

// Run implements golden.Test.
func (test *caseTest) Run(ctx context.Context) golden.Outcome {
	if test.program.err != nil {
		return golden.Outcome{Err: test.program.err}
	}
	outcome := golden.Outcome{Rules: slices.Clone(test.program.rules)}
	var answers []answer
	for _, request := range test.requests() {
		trace, err := test.program.Trace(ctx, request)
		if err != nil {
			return golden.Outcome{Err: err}
		}
		test.program.tally(outcome.Rules, trace)
		answers = append(answers, answer{request, trace})
		failures := test.want.judge(request, trace.Response, failed(trace))
		for i := range failures {
			failures[i].By, failures[i].NotBy = test.authors(trace)
		}
		outcome.Failures = append(outcome.Failures, failures...)
		if again := test.again(ctx, request, trace); again != nil {
			outcome.Failures = append(outcome.Failures, *again)
		}
	}
	if len(answers) == 0 {
		outcome.Failures = append(outcome.Failures, golden.Failure{
			At: test.want.at, Subject: test.object.String(), Message: "no profile has a rule for " + test.kind().String() + " that could be asked",
		})
	}
	if !test.holds {
		return outcome
	}
	var err error
	if outcome.Content, err = test.program.write(answers); err != nil {
		return golden.Outcome{Err: err}
	}
	return outcome
}

// failed returns the failure of a trace as an error, or nil if there is an answer.
func failed(t *rule.Trace) error {
	if t.Failure == nil {
		return nil
	}
	return t.Failure
}

// authors returns the rules that contribute to the answer, and the skipped ones.
func (test *caseTest) authors(t *rule.Trace) (by, not []string) {
	why := "another rule had decided"
	for i := range t.Rules {
		r := &t.Rules[i]
		place := test.program.place(r.At)
		switch r.Outcome {
		case rule.Applied, rule.Unchanged:
			by = append(by, place)
		case rule.Refused, rule.Failed:
			by = append(by, place+": "+string(r.Outcome))
			why = "a rule before it " + string(r.Outcome)
		case rule.Skipped:
			not = append(not, place+": skipped, its condition is false")
			if !r.Missed {
				not[len(not)-1] = place + ": skipped, there is no item"
			}
		case rule.NotAsked:
			not = append(not, place+": not asked, as "+why)
		}
	}
	return by, not
}

// again fails if a repeated request changes the changed object once more: Karmada would write it repeatedly.
func (test *caseTest) again(ctx context.Context, r interpreter.Request, t *rule.Trace) *golden.Failure {
	if t.Failure != nil || t.Response.Patch == nil || !r.Operation.Patches() {
		return nil
	}
	failure := &golden.Failure{At: test.want.at, Subject: string(r.Operation)}
	object, err := interpret.Patched(r.Object, t.Response.Patch)
	if err != nil {
		failure.Message = err.Error()
		return failure
	}
	r.Object = object
	second, err := test.program.Interpret(ctx, r)
	switch {
	case err != nil && ctx.Err() == nil:
		failure.Message = "fails when it is applied to its own result: " + reason(err)
	case err == nil && len(bytes.TrimSpace(second.Patch)) > 0:
		failure.Message = "is not idempotent; its own result changes again by: " + string(second.Patch)
	default:
		return nil
	}
	return failure
}

// answer is an answer to a question.
type answer struct {
	request interpreter.Request
	trace   *rule.Trace
}

// written is an answer as golden files have it. It names no rules, as their numbers move when one is written before
// them.
type written struct {
	Replicas     *int32                    `json:"replicas,omitempty"`
	Requirements *interpreter.Requirements `json:"requirements,omitempty"`
	// The lists and the patch are there, maybe empty, where the operation has them.
	Components   *[]interpreter.Component  `json:"components,omitempty"`
	Dependencies *[]interpreter.Dependency `json:"dependencies,omitempty"`
	Status       json.RawMessage           `json:"status,omitempty"`
	Healthy      *bool                     `json:"healthy,omitempty"`
	Patch        json.RawMessage           `json:"patch,omitempty"`
	Failure      *failure                  `json:"failure,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// head is the beginning of a golden file.
const head = "# The whole answers, by operation. graft test --update writes this file.\n"

// write writes the answers as YAML, by operation in the order of the requests.
func (p *program) write(answers []answer) ([]byte, error) {
	out := bytes.NewBufferString(head)
	for _, a := range answers {
		text, err := yaml.Marshal(p.written(a))
		if err != nil {
			return nil, fmt.Errorf("writing the answer of %s: %w", a.request.Operation, err)
		}
		fmt.Fprintf(out, "%s:\n", a.request.Operation)
		for line := range bytes.Lines(text) {
			out.WriteString("  ")
			out.Write(line)
		}
	}
	return out.Bytes(), nil
}

func (p *program) written(a answer) written {
	t := a.trace
	if t.Failure != nil {
		return written{Failure: &failure{t.Failure.Code, p.cut(t.Failure.Message)}}
	}
	r := &t.Response
	w := written{Replicas: r.Replicas, Requirements: r.Requirements, Status: r.Status, Healthy: r.Healthy, Patch: r.Patch}
	switch {
	case a.request.Operation == interpreter.Components:
		w.Components = &r.Components
	case a.request.Operation == interpreter.Dependencies:
		w.Dependencies = &r.Dependencies
	case a.request.Operation.Patches() && r.Patch == nil:
		w.Patch = json.RawMessage("[]")
	}
	return w
}

// part is a part of an answer that can be wanted.
type part struct {
	name   string
	wanted source.Node
	// of lists the operations with this part in their answers.
	of []interpreter.Operation
	// got returns the part of an answer.
	got func(object []byte, r *interpreter.Response) (any, error)
}

// edits are the operations that change objects.
var edits = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return !o.Patches() })

// parts returns all parts of an answer. To add one: a field in v1alpha1.InterpreterTestWant, and a line here.
func parts(w *v1alpha1.InterpreterTestWant) []part {
	one := func(o interpreter.Operation) []interpreter.Operation { return []interpreter.Operation{o} }
	plain := func(of func(*interpreter.Response) any) func([]byte, *interpreter.Response) (any, error) {
		return func(_ []byte, r *interpreter.Response) (any, error) { return comparison.Canonical(of(r)) }
	}
	return []part{
		{"replicas", w.Replicas, one(interpreter.Replicas), plain(func(r *interpreter.Response) any { return r.Replicas })},
		{"requirements", w.Requirements, one(interpreter.Replicas), plain(func(r *interpreter.Response) any { return r.Requirements })},
		{"components", w.Components, one(interpreter.Components), plain(func(r *interpreter.Response) any { return r.Components })},
		{"dependencies", w.Dependencies, one(interpreter.Dependencies), plain(func(r *interpreter.Response) any { return r.Dependencies })},
		{"status", w.Status, one(interpreter.Status), plain(func(r *interpreter.Response) any { return r.Status })},
		{"healthy", w.Healthy, one(interpreter.Health), plain(func(r *interpreter.Response) any { return r.Healthy })},
		{"object", w.Object, edits, changed},
		{"patch", w.Patch, edits, plain(func(r *interpreter.Response) any {
			if r.Patch == nil {
				return []any{}
			}
			return r.Patch
		})},
	}
}

// changed returns the changed object.
func changed(object []byte, r *interpreter.Response) (any, error) {
	raw, err := interpret.Patched(object, r.Patch)
	if err != nil {
		return nil, err
	}
	return comparison.Canonical(json.RawMessage(raw))
}

// want holds the expected results of a case.
type want struct {
	at     source.Position
	spec   v1alpha1.InterpreterTestWant
	fields []field
	// golden means that a golden file contains the remaining results.
	golden bool
}

// field is a field of the object that comes out.
type field struct {
	text   string
	path   fieldpath.Path
	wanted source.Node
}

// newWant parses the paths of the expected results.
func newWant(at source.Node, spec v1alpha1.InterpreterTestWant, path string, hasGolden bool) (want, source.Findings) {
	w := want{at: at.Position(), spec: spec, golden: hasGolden}
	var findings source.Findings
	for _, text := range slices.Sorted(maps.Keys(spec.Fields)) {
		node := spec.Fields[text]
		steps, err := fieldpath.Parse(text)
		if err != nil {
			findings = append(findings, node.Finding(path+"want.fields", "%q is not a path: %s", text, err))
			continue
		}
		w.fields = append(w.fields, field{text, steps, node})
	}
	return w, findings
}

// judge returns the differences between an answer and the expected one.
func (w *want) judge(q interpreter.Request, r interpreter.Response, err error) []golden.Failure {
	if w.spec.Failure != nil {
		return w.judgeFailure(q, err)
	}
	subject := string(q.Operation)
	if err != nil {
		if w.golden && !w.wants(q.Operation) {
			return nil // the golden file tells it
		}
		return []golden.Failure{{At: w.at, Subject: subject, Message: "is not answered: " + reason(err)}}
	}
	var failures []golden.Failure
	for _, p := range parts(&w.spec) {
		if p.wanted.Node == nil || !slices.Contains(p.of, q.Operation) {
			continue
		}
		got, err := p.got(q.Object, &r)
		failures = append(failures, mismatches(subject, p.name, p.wanted, got, got != nil, err)...)
	}
	if len(w.fields) == 0 || !q.Operation.Patches() {
		return failures
	}
	object, err := changed(q.Object, &r)
	for _, f := range w.fields {
		got, there := comparison.Follow(object, f.path)
		failures = append(failures, mismatches(subject, "fields."+f.text, f.wanted, got, there, err)...)
	}
	return failures
}

// wants reports whether there are expected results for an operation.
func (w *want) wants(o interpreter.Operation) bool {
	return len(w.fields) > 0 && o.Patches() ||
		slices.ContainsFunc(parts(&w.spec), func(p part) bool { return p.wanted.Node != nil && slices.Contains(p.of, o) })
}

func mismatches(subject, path string, wanted source.Node, got any, there bool, err error) []golden.Failure {
	if err != nil {
		return []golden.Failure{{At: wanted.Position(), Subject: subject, Path: path, Message: err.Error()}}
	}
	var failures []golden.Failure
	for _, m := range comparison.Differences("", comparison.Plain(wanted), got, there) {
		failures = append(failures, golden.Failure{At: wanted.Position(), Subject: subject, Path: path + m.Path, Want: m.Want, Got: m.Got})
	}
	return failures
}

// judgeFailure holds that there is no answer, and why.
func (w *want) judgeFailure(q interpreter.Request, err error) []golden.Failure {
	wanted, subject := w.spec.Failure, string(q.Operation)
	if err == nil {
		return []golden.Failure{{At: wanted.At.Position(), Subject: subject, Message: "must fail, but is answered"}}
	}
	var (
		failure  *interpreter.Failure
		failures []golden.Failure
	)
	code := 0
	if errors.As(err, &failure) {
		code = failure.Code
	}
	if wanted.Code != 0 && int(wanted.Code) != code {
		failures = append(failures, golden.Failure{
			At: wanted.At.Position(), Subject: subject, Path: "failure.code", Want: fmt.Sprint(wanted.Code), Got: reason(err),
		})
	}
	if part := wanted.Message; !strings.Contains(err.Error(), part.Value) {
		failures = append(failures, golden.Failure{
			At: part.At.Position(), Subject: subject, Path: "failure.message", Want: "… " + part.Value + " …", Got: err.Error(),
		})
	}
	return failures
}

// reason returns a failure in one line: its code and its message.
func reason(err error) string {
	var failure *interpreter.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("%d %s", failure.Code, failure.Message)
	}
	return err.Error()
}
