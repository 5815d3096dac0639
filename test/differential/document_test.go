// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const (
	documentPath = "../../docs/differences.md"
	listHead     = "\n## Differences\n\n"
)

// TestDocument checks that docs/differences.md ends with the list of the differences.
func TestDocument(t *testing.T) {
	content, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(content), listHead)
	if !found {
		t.Fatal("docs/differences.md has no list")
	}
	golden.Compare(t, documentPath, before+listHead+list())
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

func list() string {
	var out strings.Builder
	for _, d := range differences {
		onSamples := ""
		if d.onSamples {
			onSamples = " (on samples)"
		}
		fmt.Fprintf(&out, "- **%s**%s\n    - Library: %s\n    - Graft: %s\n    - Effect: %s\n", d.name, onSamples,
			d.library, d.engine, d.why)
	}
	return out.String()
}
