// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// runs are tests that are run.
type runs func() int

func (r runs) Run() int { return r() }

// TestMainOfSuite checks the order of the steps, and that a failed preparation leaves nothing behind.
func TestMainOfSuite(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"right": {nil, 3, "prepared, run, second, first"},
		"wrong": {errors.New("as it should in this test"), 1, "prepared, second, first"},
	} {
		t.Run(name, func(t *testing.T) {
			var done []string
			note := func(what string) { done = append(done, what) }
			folder := ""
			status := Main(runs(func() int { note("run"); return 3 }), func(_ context.Context, s *Suite) error {
				folder = s.Folder
				if _, err := os.Stat(folder); err != nil {
					t.Error(err)
				}
				s.Cleanup(func() { note("first") })
				s.Cleanup(func() { note("second") })
				note("prepared")
				return test.err
			})
			if got := strings.Join(done, ", "); got != test.want || status != test.status {
				t.Errorf("%s, %d; not %s, %d", got, status, test.want, test.status)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("the folder is left")
			}
		})
	}
}
