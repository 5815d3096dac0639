// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// TestChecks holds that answers which are not as they should be are found.
func TestChecks(t *testing.T) {
	k := &known{}
	const first = `{"interface":{"addresses":["10.0.0.1/24"]}}`
	if err := k.learn(first); err != nil || k.address != "10.0.0.1/24" || k.same(first) != nil {
		t.Errorf("learned %+v, %v", k, err)
	}
	for name, err := range map[string]error{
		"no JSON": k.learn("x"), "no address": k.learn(`{"interface":{}}`), "another answer": k.same("x"),
		"not there": has("a", "b")("a"), "still there": lacks("abc", "b"),
	} {
		if err == nil {
			t.Errorf("%s: nobody says so", name)
		}
	}
	if status := console.Run(t.Context(), "test", "", profile, []string{"-what"}, show); status != 2 {
		t.Errorf("a wrong flag: %d", status)
	}
}
