// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
)

// FuzzTable holds that whatever a table says, it becomes cases with names of their own or findings with a place.
func FuzzTable(f *testing.F) {
	for _, pattern := range []string{"controlplane/testdata/*/table.yaml", "controlplane/testdata/wrong/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds: %v", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, findings := source.Parse(source.File{Name: "fuzz/table.yaml", Data: data})
		if len(findings) > 0 {
			return
		}
		for _, node := range nodes {
			suite, findings := controlplane.New(nil, "profile.yaml").Table(node)
			if len(findings) == 0 && len(suite.Cases) == 0 {
				t.Error("neither a case nor a finding")
			}
			for _, finding := range findings {
				if finding.Line == 0 || finding.Message == "" {
					t.Errorf("a finding without a place or a message: %s", finding)
				}
			}
			seen := map[string]bool{}
			for _, c := range suite.Cases {
				if len(findings) == 0 && (seen[c.ID()] || c.Position.Line == 0) {
					t.Errorf("two cases %s, or one without a place", c.ID())
				}
				seen[c.ID()] = true
			}
		}
	})
}
