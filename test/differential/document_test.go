// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const (
	documentPath = "../../docs/differences.md"
	tableHead    = "| difference | on samples | Gardener's library | Graft | effect |\n|---|---|---|---|---|\n"
)

// TestDocument checks that docs/differences.md ends with the table of the differences.
func TestDocument(t *testing.T) {
	content, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(content), tableHead)
	if !found {
		t.Fatal("docs/differences.md has no table")
	}
	golden.Compare(t, documentPath, before+tableHead+table())
}

// TestNames checks that each difference has a unique name and an explanation.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range differences {
		if d.name == "" || d.library == "" || d.engine == "" || d.why == "" || seen[d.name] {
			t.Errorf("the difference %q is not explained, or is listed twice", d.name)
		}
		seen[d.name] = true
	}
}

func table() string {
	var out strings.Builder
	for _, d := range differences {
		onSamples := "no"
		if d.onSamples {
			onSamples = "yes"
		}
		out.WriteString("| " + strings.Join([]string{d.name, onSamples, d.library, d.engine, d.why}, " | ") + " |\n")
	}
	return out.String()
}
