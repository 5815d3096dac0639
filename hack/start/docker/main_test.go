// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// TestSplit holds that command lines are read as a shell does.
func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                  nil,
		"network rm  blue":                  {"network", "rm", "blue"},
		"inspect --format '{{json .X}}' it": {"inspect", "--format", "{{json .X}}", "it"},
	} {
		if diff := cmp.Diff(want, split(line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

// TestWrongFlag holds the status of a wrong command line.
func TestWrongFlag(t *testing.T) {
	if status := console.Run(t.Context(), "test", "", profile, []string{"-what"}, show); status != 2 {
		t.Errorf("status %d", status)
	}
}
