// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestRegistry holds that each operation has a file of its own, a name of its own, a summary, and an example that compiles.
func TestRegistry(t *testing.T) {
	environment, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, definition := range operation.All() {
		t.Run(definition.Name, func(t *testing.T) {
			if seen[definition.Name] {
				t.Error("the name is taken")
			}
			seen[definition.Name] = true
			if _, err := os.Stat(strings.ToLower(definition.Name) + ".go"); err != nil {
				t.Error(err)
			}
			if definition.Summary == "" || definition.Parts == 0 {
				t.Error("summary or parts are missing")
			}
			nodes, findings := source.Parse(source.File{Name: "example", Data: []byte(definition.Example)})
			if len(findings) > 0 || len(nodes) != 1 || len(nodes[0].Fields()) != 1 || nodes[0].Fields()[0].Key.Value != definition.Name {
				t.Fatalf("the example is no rule of this operation: %v", findings)
			}
			context := &operation.Context{Target: targetFor(t, definition.Parts), Expressions: environment}
			writes, findings := definition.Compile(context, nodes[0].Fields()[0].Value, definition.Name)
			if len(findings) > 0 || len(writes) == 0 {
				t.Errorf("the example yields %d writes and %v", len(writes), findings)
			}
			for _, write := range writes {
				if write.Apply == nil || write.Place.Name == "" || write.At.Node == nil || write.Path == "" {
					t.Errorf("the write is not whole: %+v", write.Place)
				}
			}
		})
	}
	if _, ok := operation.Lookup("nothing"); ok {
		t.Error("an operation that does not exist is found")
	}
}

// targetFor is the first target that has the parts.
func targetFor(t *testing.T, parts target.Part) *target.Target {
	t.Helper()
	for _, name := range append([]string{"kube-apiserver", "node"}, target.Names()...) {
		if found, _ := target.Lookup(name); found.Has(parts) {
			return found
		}
	}
	t.Fatal("no target has the parts")
	return nil
}
