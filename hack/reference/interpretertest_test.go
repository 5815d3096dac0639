// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
)

const interpreterTestdata = "pkg/workbench/golden/interpreter/testdata/"

// TestInterpreterTables checks that the schema accepts the tables that graft test runs, and marks mistakes in them.
func TestInterpreterTables(t *testing.T) {
	table := compiled(t, interpreterProfileTest)
	for _, pattern := range []string{"example/interpreter/tests/*.yaml", "example/interpreter/library/*/tests/*.yaml", interpreterTestdata + "passing/table.yaml", interpreterTestdata + "failing/table.yaml"} {
		for _, path := range glob(t, pattern) {
			for _, document := range documents(t, path) {
				if err := table.Validate(document); err != nil {
					t.Errorf("%s: %s", path, err)
				}
			}
		}
	}
	for _, name := range []string{"no-apiversion", "no-cases", "questions", "types", "unknown-fields"} {
		for _, document := range documents(t, filepath.Join(root, interpreterTestdata, "wrong", name+".yaml")) {
			if table.Validate(document) == nil {
				t.Errorf("%s is valid", name)
			}
		}
	}
}
