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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestAnswers holds that the questions of testdata/answers are answered as its want.txt says.
func TestAnswers(t *testing.T) {
	data, err := os.ReadFile("testdata/answers/questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var questions []struct {
		Name      string
		Operation interpreter.Operation
		Object    json.RawMessage
		Observed  json.RawMessage
		Replicas  int32
		Members   []interpreter.Member
	}
	if err := yaml.UnmarshalStrict(data, &questions); err != nil {
		t.Fatal(err)
	}
	program := load(t)
	var out strings.Builder
	for _, q := range questions {
		var head struct{ APIVersion, Kind string }
		if err := json.Unmarshal(q.Object, &head); err != nil {
			t.Fatal(err)
		}
		of := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
		response, err := program.Interpret(context.Background(), interpreter.Request{
			Operation: q.Operation, Kind: interpreter.Kind{Group: of.Group, Version: of.Version, Kind: of.Kind},
			Object: q.Object, Observed: q.Observed, Replicas: q.Replicas, Members: q.Members,
		})
		out.WriteString("## " + q.Name + "\n" + describe(t, response, err) + "\n")
	}
	golden.Compare(t, "testdata/answers/want.txt", out.String())
}

// describe writes an answer as JSON, without what is not there.
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
	delete(fields, "Because")
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	if raw, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
