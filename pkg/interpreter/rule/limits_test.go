// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestLimits checks that all expressions that are evaluated for one question share one limit. Each of the ten expressions computes a
// value of 1 MiB, which is allowed; all together exceed the limit.
func TestLimits(t *testing.T) {
	var text strings.Builder
	text.WriteString(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: InterpreterProfile
metadata: {name: limits}
kinds:
- apiVersion: acme.com/v1
  kind: Queue
  dependencies:
`)
	for i := range 10 {
		fmt.Fprintf(&text, "  - {when: '${ (object.spec.text + \"%d\").size() > 5 }', apiVersion: v1, kind: Secret, name: s%d}\n", i, i)
	}
	program := load(t, source.File{Name: "limits.yaml", Data: []byte(text.String())})
	ask := func(size int) string {
		object := json.RawMessage(`{"metadata":{"namespace":"n"},"spec":{"text":"` + strings.Repeat("a", size) + `"}}`)
		response, err := program.Interpret(t.Context(), asked{Operation: interpreter.Dependencies, Object: object}.request())
		return describe(response, err)
	}
	if got := ask(10); strings.Count(got, `"Secret"`) != 10 {
		t.Errorf("of a short text: %s", got)
	}
	if got := ask(1 << 20); !strings.Contains(got, "too large together") || !strings.Contains(got, "limits.yaml:") {
		t.Errorf("of a long text: got %.300s, want an exceeded limit with its place", got)
	}
}
