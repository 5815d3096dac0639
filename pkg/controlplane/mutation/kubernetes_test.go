// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestVersions checks the errors and warnings about Kubernetes versions of each profile in testdata/versions.
func TestVersions(t *testing.T) {
	folders, err := filepath.Glob("testdata/versions/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			program, err := compileWith(t, compiler.Options{}, filepath.Join(folder, "profile.yaml"))
			var (
				findings source.Findings
				out      strings.Builder
			)
			switch {
			case errors.As(err, &findings):
				out.WriteString("refused\n" + findings.Error() + "\n")
			case err != nil:
				t.Fatal(err)
			default:
				out.WriteString("accepted\n")
				for _, warning := range program.Warnings() {
					out.WriteString("warning: " + warning.Error() + "\n")
				}
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), out.String())
		})
	}
}

// TestVersionsOfLabelled checks that there are none for the older generation of Gardener, because its Kubernetes
// versions are older than the table.
func TestVersionsOfLabelled(t *testing.T) {
	for _, name := range []string{"flags", "gates"} {
		program, err := compileWith(t, compiler.Options{Generation: contract.Labelled}, filepath.Join("testdata", "versions", name, "profile.yaml"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if warnings := program.Warnings(); len(warnings) > 0 {
			t.Errorf("%s: warnings: %v", name, warnings)
		}
	}
}
