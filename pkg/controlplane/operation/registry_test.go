// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestRegistry checks that each operation has its own name and a summary, that its examples compile to complete
// writes, and that its targets are exactly those of its examples.
func TestRegistry(t *testing.T) {
	bench := newBench(t)
	seen := map[string]bool{}
	for _, definition := range operation.All() {
		t.Run(definition.Name, func(t *testing.T) {
			if seen[definition.Name] {
				t.Error("two operations have this name")
			}
			seen[definition.Name] = true
			if definition.Summary == "" || definition.Parts == 0 {
				t.Error("summary or parts are missing")
			}
			used := map[string]bool{}
			for _, text := range append([]string{definition.Example}, definition.Examples...) {
				e := bench.example(t, definition, text)
				for _, on := range e.targets {
					used[on.Name] = true
					writes, _ := bench.compile(definition, on, e.arguments)
					for _, write := range writes {
						if write.Apply == nil || write.Place.Name == "" || write.At.Node == nil || write.Path == "" {
							t.Errorf("a write of %s lacks a function, name, node or path: %+v", text, write.Place)
						}
					}
				}
			}
			for _, name := range target.Names() {
				if on, _ := target.Lookup(name); definition.On(on) != used[name] {
					t.Errorf("%s: in the definition %t, in the examples %t", name, definition.On(on), used[name])
				}
			}
		})
	}
	if _, ok := operation.Lookup("nothing"); ok {
		t.Error("an unknown operation is found")
	}
}
