// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestAnswers compares the answers to the questions of testdata/answers with want.txt.
func TestAnswers(t *testing.T) {
	programs := map[string]*rule.Program{}
	var out strings.Builder
	for _, q := range questions(t) {
		key := strings.Join(q.Optional, ",")
		if programs[key] == nil {
			programs[key] = load(t, q.Optional...)
		}
		r := q.request(t)
		response, err := programs[key].Interpret(context.Background(), r)
		out.WriteString("## " + q.Name + "\n" + describe(t, response, err) + "\n")
		accept(t, r, response, err)
		fits(t, r, response)
	}
	golden.Compare(t, "testdata/answers/want.txt", out.String())
}

// fits checks that Gardener's types have all aggregated fields.
func fits(t *testing.T, r interpreter.Request, got interpreter.Response) {
	t.Helper()
	if r.Operation != interpreter.Aggregate || got.Patch == nil {
		return
	}
	for _, kind := range kinds() {
		if kind.Kind != r.Kind {
			continue
		}
		strict, err := kjson.UnmarshalStrict(patched(t, r.Object, got.Patch), kind.newObject())
		if err != nil || len(strict) > 0 {
			t.Errorf("%s: %s does not fit its type: %v %v", r.Kind, got.Patch, err, strict)
		}
	}
}

// asked is a question of testdata/answers, and the optional profiles that are active.
type asked struct {
	Name      string
	Optional  []string
	Operation interpreter.Operation
	Object    json.RawMessage
	Observed  json.RawMessage
	Replicas  int32
	Members   []interpreter.Member
}

// questions returns the requests of testdata/answers.
func questions(t testing.TB) []asked {
	t.Helper()
	data, err := os.ReadFile("testdata/answers/questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []asked
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// request is the question, for the kind that the object says.
func (q asked) request(t testing.TB) interpreter.Request {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(q.Object, &head); err != nil {
		t.Fatal(err)
	}
	return interpreter.Request{
		Operation: q.Operation, Kind: interpreter.KindOf(head.APIVersion, head.Kind), Object: q.Object, Observed: q.Observed, Replicas: q.Replicas,
		Members: q.Members,
	}
}

// describe writes an answer as JSON, without absent fields.
func describe(t *testing.T, r interpreter.Response, err error) string {
	t.Helper()
	var failure *interpreter.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("%d %s", failure.Code, failure.Message)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "because")
	// An empty list is an answer, too.
	if r.Dependencies != nil && len(r.Dependencies) == 0 {
		fields["dependencies"] = json.RawMessage("[]")
	}
	if r.Components != nil && len(r.Components) == 0 {
		fields["components"] = json.RawMessage("[]")
	}
	if raw, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
