// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestUnacceptableResultsAreFailures tests that results of rules which no client would accept are failures of the object, and never answers.
func TestUnacceptableResultsAreFailures(t *testing.T) {
	data, err := os.ReadFile("testdata/lacking.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		About     string                `json:"about"`
		Operation interpreter.Operation `json:"operation"`
		Rule      json.RawMessage       `json:"rule"`
		Spec      json.RawMessage       `json:"spec"`
		Status    json.RawMessage       `json:"status"`
		Message   string                `json:"message"`
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.About, func(t *testing.T) {
			kind := map[string]any{"apiVersion": "acme.com/v1", "kind": "Queue", string(c.Operation): []json.RawMessage{c.Rule}}
			document := marshal(t, map[string]any{
				"apiVersion": "graft.provider.extensions.gardener.cloud/v1alpha1", "kind": "InterpreterProfile",
				"metadata": map[string]any{"name": "acme"}, "kinds": []any{kind},
			})
			program := load(t, source.File{Name: "profile.yaml", Data: document})
			object := map[string]any{"apiVersion": "acme.com/v1", "kind": "Queue", "metadata": map[string]any{"name": "a"}, "spec": c.Spec}
			if c.Status != nil {
				object["status"] = c.Status
			}
			response, err := program.Interpret(t.Context(), asked{Operation: c.Operation, Object: marshal(t, object)}.request())
			failure, ok := errors.AsType[*interpreter.Failure](err)
			if !ok || failure.Code != interpreter.CodeUnfit || !strings.HasSuffix(failure.Message, c.Message) {
				t.Errorf("got %s", describe(response, err))
			}
		})
	}
}
