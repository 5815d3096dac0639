// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
)

// TestKinds checks that every schema in this folder is of a kind, under its name.
func TestKinds(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]schema.Kind{}
	for _, kind := range schema.Kinds() {
		known[kind.File] = kind
		if kind.Name == "" || kind.Documents == "" {
			t.Errorf("%s is not described", kind.File)
		}
	}
	if len(known) != len(schema.Kinds()) {
		t.Error("two kinds have the same file")
	}
	for _, file := range files {
		kind, ok := known[file]
		if !ok {
			t.Errorf("%s is of no kind", file)
			continue
		}
		delete(known, file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, kind.Schema) || !json.Valid(kind.Schema) {
			t.Errorf("%s is not its schema", kind.Name)
		}
	}
	for file := range known {
		t.Errorf("the schema %s was not found", file)
	}
}

var modeline = regexp.MustCompile(`(?m)^# yaml-language-server: \$schema=(\S+)$`)

// TestExamples checks that the examples name their schema for editors, and that it is there.
func TestExamples(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"profiles/*/profile.yaml", "profiles/*/legacy.yaml", "profiles/*/tests/*.yaml", "network/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "example", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: nothing found (%v)", pattern, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line := modeline.FindSubmatch(data)
		if line == nil {
			t.Errorf("%s names no schema", path)
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), string(line[1]))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
