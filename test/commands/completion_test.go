// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"testing"
)

// TestCompletion presses the tabulator in bash. The other shells are packages of Debian: test/system/shells.
func TestCompletion(t *testing.T) {
	cases, err := Completions("testdata/completions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := checkout(t)
	for _, test := range cases {
		t.Run(test.Line, func(t *testing.T) {
			screen, err := Bash().Complete(t.Context(), folder, bin, test)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(screen)
		})
	}
}
