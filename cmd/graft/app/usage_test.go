// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
)

// TestOutputAfterPanic checks the output after a panic, which no command line can cause on purpose.
func TestOutputAfterPanic(t *testing.T) {
	for name, test := range map[string]struct {
		debug string
		stack bool
	}{
		"a flag of one line":  {"", false},
		"the stack on demand": {"1", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(debugVariable, test.debug)
			var out strings.Builder
			status := (&Streams{Err: &out}).guarded(func() int { panic("index out of range\nwith more") })
			if status != statusFailed {
				t.Errorf("the status is %d", status)
			}
			text := out.String()
			if !strings.HasPrefix(text, "Error: ") || !strings.Contains(text, ": index out of range;") || !strings.Contains(text, "report it") {
				t.Errorf("got %q", text)
			}
			if lines := strings.Count(text, "\n"); (lines > 1) != test.stack {
				t.Errorf("got %d lines: %s", lines, text)
			}
		})
	}
}
