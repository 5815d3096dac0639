// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestFindings compares the findings of each profile in testdata/findings with its want.txt. A policy is returned only
// without errors.
func TestFindings(t *testing.T) {
	folders, err := filepath.Glob("testdata/findings/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(folder, "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: data})
			compiled, more := policy.Compile(documents)
			findings = append(findings, more...)
			findings.Sort()
			if (compiled == nil) != (len(findings.Errors()) > 0) {
				t.Errorf("Compile returned a policy: %t, want one only without errors", compiled != nil)
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), describe(findings))
		})
	}
}

// describe writes findings with their severities and rules.
func describe(findings source.Findings) string {
	var out strings.Builder
	for _, f := range findings {
		out.WriteString(f.Error() + " [" + f.Severity.String() + " " + string(f.Rule) + "]\n")
	}
	return out.String()
}
