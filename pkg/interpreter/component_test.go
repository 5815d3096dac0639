// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// TestNameLengthCountsCharacters checks that the length of names is counted in characters, as Karmada does.
func TestNameLengthCountsCharacters(t *testing.T) {
	for name, want := range map[string]bool{"": false, "a": true, strings.Repeat("é", 32): true, strings.Repeat("é", 33): false} {
		if got := (interpreter.Component{Name: name}).Named(); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
