// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"strings"
	"testing"
)

// TestInterpreterWebhookOmitsOperations checks that operations are left out, and the messages about unknown operations and
// about operations that the proposal lacks.
func TestInterpreterWebhookOmitsOperations(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: InterpreterProfile
metadata: {name: acme}
kinds:
- apiVersion: acme.com/v1
  kind: Queue
  components: [{name: all, count: 1}]
  health: [{healthy: "${ true }"}]
  dependencies: [{apiVersion: v1, kind: Secret, labelSelector: {matchLabels: {a: b}}}]
  aggregate: [{field: status.healthy, value: "${ members.all(m, m.health == 'Healthy') }"}]
- apiVersion: acme.com/v1
  kind: Stack
  dependencies: [{apiVersion: v1, kind: Secret, name: a}]
  aggregate: [{field: status.ready, sum: ready}]
`
	if err := os.WriteFile("profile.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const command = "interpreter webhook -p profile.yaml --gardener=false --url https://a.example.com/x "
	for _, c := range []struct{ flags, has, hasNot, err string }{
		{"", "InterpretComponent", "nothing else", ""},
		{"--without components --without health", "InterpretDependency", "InterpretComponent", ""},
		{"--without component", "", "Interpret", `(did you mean "components"?)`},
		{"--dialect proposal", "ExploreDependencies", "InterpretDependency", ""},
	} {
		t.Run(c.flags, func(t *testing.T) {
			step := runStep(command + c.flags)
			if !strings.Contains(step.Out, c.has) || strings.Contains(step.Out, c.hasNot) || !strings.Contains(step.Err, c.err) || c.err == "" && step.Err != "" {
				t.Errorf("status %d\n%s%s", step.Status, step.Out, step.Err)
			}
		})
	}
}
