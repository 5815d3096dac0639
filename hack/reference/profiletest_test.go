// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
)

const testdata = "pkg/workbench/golden/controlplane/testdata/"

// TestTables checks that the schema accepts the tables that graft test runs, and marks mistakes in them.
func TestTables(t *testing.T) {
	table := compiled(t, providerProfileTest)
	for _, pattern := range []string{"example/profiles/*/tests/*.yaml", testdata + "passing/table.yaml", testdata + "failing/table.yaml"} {
		for _, path := range glob(t, pattern) {
			for _, document := range documents(t, path) {
				if err := table.Validate(document); err != nil {
					t.Errorf("%s: %s", path, err)
				}
			}
		}
	}
	for _, name := range []string{"expectations-types", "expectations", "names", "no-apiversion", "other-apiversion", "unknown-fields", "versions-types"} {
		for _, document := range documents(t, filepath.Join(root, testdata, "wrong", name+".yaml")) {
			if table.Validate(document) == nil {
				t.Errorf("%s is valid", name)
			}
		}
	}
}
