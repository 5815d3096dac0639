// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestNetworkExamples checks that the examples of network profiles have no findings, alone and together, except for the
// Docker example: it is for another machine and reuses names.
func TestNetworkExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "example", "network", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing found (%v)", err)
	}
	var inputs []Input
	for _, path := range paths {
		inputs = append(inputs, Input{File: golden.Read(t, path)})
	}
	for _, together := range []bool{false, true} {
		if together {
			inputs = slices.DeleteFunc(inputs, func(i Input) bool { return filepath.Base(i.File.Name) == "docker.yaml" })
		}
		report := Run(Options{Together: together}, inputs)
		if len(report.Findings) > 0 || report.Documents != len(inputs) {
			t.Errorf("%d documents: %s", report.Documents, report.Findings.Error())
		}
	}
}
