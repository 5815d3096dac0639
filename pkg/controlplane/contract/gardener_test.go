// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
)

// TestGenerationFor checks the generations of a profile with a Gardener constraint.
func TestGenerationFor(t *testing.T) {
	for constraint, want := range map[string][2]bool{
		"": {true, true}, "< 1.96": {false, true}, ">= 1.96": {true, false}, ">= 1.90": {true, true}, ">= 1.90, < 1.100": {true, true}, "today": {false, false},
	} {
		t.Run(constraint, func(t *testing.T) {
			if got := [2]bool{contract.Today.For(constraint), contract.Labelled.For(constraint)}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
