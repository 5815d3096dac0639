// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
)

// caseTest is the test of a case.
type caseTest struct {
	asked

	profiles []string
	gardener bool
	optional []source.Text
	// failure is the expected failure, or nil.
	failure *v1alpha1.InterpreterTestFailure

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
func (test *caseTest) Run(ctx context.Context) (golden.Outcome, error) {
	if test.program.err != nil {
		return golden.Outcome{}, test.program.err
	}
	outcome := golden.Outcome{Rules: slices.Clone(test.program.rules)}
	content := bytes.NewBufferString(head)
	requests := test.requests()
	for _, request := range requests {
		trace, err := test.program.Trace(ctx, request)
		if err != nil {
			return golden.Outcome{}, err
		}
		test.program.tally(outcome.Rules, trace)
		answer := test.program.written(request.Operation, trace)
		if err := write(content, request.Operation, answer); err != nil {
			return golden.Outcome{}, err
		}
		failures := test.judge(request, trace.Failure, answer)
		for i := range failures {
			failures[i].By, failures[i].NotBy = test.authors(trace)
		}
		outcome.Failures = append(append(outcome.Failures, failures...), test.again(ctx, request, trace)...)
	}
	if len(requests) == 0 {
		outcome.Failures = []golden.Failure{{
			At: test.at.Position(), Subject: test.object.String(), Message: "no profile has a rule for " + test.kind().String() + " that could be asked",
		}}
	}
	if test.golden {
		outcome.Content = content.Bytes()
	}
	return outcome, nil
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
func (test *caseTest) again(ctx context.Context, r interpreter.Request, t *rule.Trace) []golden.Failure {
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
	second, err := test.program.Trace(ctx, r)
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

// write writes an answer as YAML below its operation.
func write(out *bytes.Buffer, o interpreter.Operation, answer written) error {
	text, err := yaml.Marshal(answer)
	if err != nil {
		return fmt.Errorf("writing the answer of %s: %w", o, err)
	}
	fmt.Fprintf(out, "%s:\n", o)
	for line := range bytes.Lines(text) {
		out.WriteString("  ")
		out.Write(line)
	}
	return nil
}

func (p *program) written(o interpreter.Operation, t *rule.Trace) written {
	if t.Failure != nil {
		return written{Failure: &failure{t.Failure.Code, p.cut(t.Failure.Message)}}
	}
	r := &t.Response
	w := written{Replicas: r.Replicas, Requirements: r.Requirements, Status: r.Status, Healthy: r.Healthy, Patch: r.Patch}
	switch {
	case o == interpreter.Components:
		w.Components = &r.Components
	case o == interpreter.Dependencies:
		w.Dependencies = &r.Dependencies
	case o.Patches() && r.Patch == nil:
		w.Patch = json.RawMessage("[]")
	}
	return w
}

// part is a part of an answer that is wanted.
type part struct {
	// name is the name of the expectation, and path that of the value in the answer.
	name   string
	path   fieldpath.Path
	wanted source.Node
	// of lists the operations with this part in their answers.
	of []interpreter.Operation
}

// edits are the operations that change objects.
var edits = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool { return !o.Patches() })

// partsOf returns the wanted parts of an answer. To add one: a field in v1alpha1.InterpreterTestWant, a line here, and
// the value in written.
func partsOf(w *v1alpha1.InterpreterTestWant, path string) ([]part, source.Findings) {
	var (
		parts    []part
		findings source.Findings
	)
	for _, p := range []struct {
		name   string
		wanted source.Node
		of     []interpreter.Operation
	}{
		{"replicas", w.Replicas, []interpreter.Operation{interpreter.Replicas}},
		{"requirements", w.Requirements, []interpreter.Operation{interpreter.Replicas}},
		{"components", w.Components, []interpreter.Operation{interpreter.Components}},
		{"dependencies", w.Dependencies, []interpreter.Operation{interpreter.Dependencies}},
		{"status", w.Status, []interpreter.Operation{interpreter.Status}},
		{"healthy", w.Healthy, []interpreter.Operation{interpreter.Health}},
		{changedObject, w.Object, edits},
		{"patch", w.Patch, edits},
	} {
		if p.wanted.Node != nil {
			parts = append(parts, part{p.name, fieldpath.Path{{Key: p.name}}, p.wanted, p.of})
		}
	}
	for _, text := range slices.Sorted(maps.Keys(w.Fields)) {
		node := w.Fields[text]
		steps, err := fieldpath.Parse(text)
		if err != nil {
			findings = append(findings, node.Finding(path+"want.fields", "%q is not a path: %s", text, err))
			continue
		}
		parts = append(parts, part{"fields." + text, append(fieldpath.Path{{Key: changedObject}}, steps...), node, edits})
	}
	return parts, findings
}

// changedObject is the member of an answer that golden files leave out.
const changedObject = "object"

// judge returns the differences between an answer and the expected one.
func (test *caseTest) judge(q interpreter.Request, failed *interpreter.Failure, answer written) []golden.Failure {
	var failures []golden.Failure
	fail := func(at source.Node, f golden.Failure) {
		f.At, f.Subject = at.Position(), string(q.Operation)
		failures = append(failures, f)
	}
	parts := slices.DeleteFunc(slices.Clone(test.parts), func(p part) bool { return !slices.Contains(p.of, q.Operation) })
	switch wanted := test.failure; {
	case wanted != nil && failed == nil:
		fail(wanted.At, golden.Failure{Message: "must fail, but is answered"})
	case wanted != nil:
		if wanted.Code != 0 && int(wanted.Code) != failed.Code {
			fail(wanted.At, golden.Failure{Path: "failure.code", Want: fmt.Sprint(wanted.Code), Got: reason(failed)})
		}
		if part := wanted.Message; !strings.Contains(failed.Message, part.Value) {
			fail(part.At, golden.Failure{Path: "failure.message", Want: "… " + part.Value + " …", Got: failed.Message})
		}
	case failed != nil && (len(parts) > 0 || !test.golden): // otherwise the golden file tells it
		fail(test.at, golden.Failure{Message: "is not answered: " + reason(failed)})
	case failed == nil && len(parts) > 0:
		value, err := values(q, answer)
		if err != nil {
			fail(test.at, golden.Failure{Message: err.Error()})
			return failures
		}
		for _, p := range parts {
			for _, m := range golden.Compare(p.wanted, golden.Follow(value, p.path), p.name) {
				fail(m.At, golden.Failure{Path: strings.Join(m.Keys, "."), Want: m.Want, Got: m.Got})
			}
		}
	}
	return failures
}

// values returns an answer as decoded JSON, with the changed object.
func values(q interpreter.Request, answer written) (any, error) {
	var (
		changed json.RawMessage
		err     error
	)
	if q.Operation.Patches() {
		if changed, err = interpret.Patched(q.Object, answer.Patch); err != nil {
			return nil, err
		}
	}
	return golden.Canonical(struct {
		written

		Object json.RawMessage `json:"object,omitempty"`
	}{answer, changed})
}

// reason returns a failure in one line: its code and its message.
func reason(f *interpreter.Failure) string { return fmt.Sprintf("%d %s", f.Code, f.Message) }
