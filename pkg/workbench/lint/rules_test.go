// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestPages checks that the wrong example of each page has only findings of its rule, that the right one has none, and
// that severity and fixes are correct.
func TestPages(t *testing.T) {
	for _, page := range Pages() {
		t.Run(string(page.Rule), func(t *testing.T) {
			bad := Run(Options{}, []Input{page.example(page.Bad)})
			if len(bad.Findings) == 0 {
				t.Error("the wrong example has no finding")
			}
			for _, f := range bad.Findings {
				if f.Rule != page.Rule {
					t.Errorf("of another rule: [%s] %s", f.Rule, f.Error())
				}
				if want := page.Warning; (f.Severity == source.Warning) != want && !page.Both {
					t.Errorf("the finding is of severity %s", f.Severity)
				}
				if f.Fix != nil && page.Fix == "" {
					t.Errorf("the page does not describe the fix: %s", describe(f.Fix))
				}
			}
			for _, f := range Run(Options{}, []Input{page.example(page.Good)}).Findings {
				t.Errorf("in the right example: [%s] %s", f.Rule, f.Error())
			}
			if repaired, left := Repair(Options{}, []Input{page.example(page.Bad)}); len(repaired) > 0 && len(left.Findings) > 0 {
				t.Errorf("a fix leaves %s", left.Findings.Error())
			}
		})
	}
}
