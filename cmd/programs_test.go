// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cmd_test checks that the three server programs are wiring on one server shell. `make check` runs it.
package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// servers are the programs that serve.
var servers = []string{"gardener-extension-provider-graft", "graft-network-provider", "graft-resource-interpreter"}

const (
	// maximumLines bounds a program's folder app, and maximumRun is the number of equal lines in a row that two programs may not share.
	maximumLines = 600
	maximumRun   = 12
)

// linesOf returns the lines of each production file of a program's folder app.
func linesOf(t *testing.T, program string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(program, "app", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files in app: %v", program, err)
	}
	lines := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines[file] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	return lines
}

func TestSize(t *testing.T) {
	for _, program := range servers {
		t.Run(program, func(t *testing.T) {
			total := 0
			for _, lines := range linesOf(t, program) {
				total += len(lines)
			}
			if total > maximumLines {
				t.Errorf("app has %d lines, more than %d: move what is not wiring to pkg", total, maximumLines)
			}
		})
	}
}

func TestNoEqualRuns(t *testing.T) {
	for i, one := range servers {
		for _, other := range servers[i+1:] {
			t.Run(one+" "+other, func(t *testing.T) {
				for first, a := range linesOf(t, one) {
					for second, b := range linesOf(t, other) {
						if run := equalRun(a, b); run != nil {
							t.Errorf("%s and %s share %d lines, which belong to pkg/serving:\n%s", first, second, len(run), strings.Join(run, "\n"))
						}
					}
				}
			})
		}
	}
}

// equalRun returns the first run of maximumRun equal lines in both, or nil.
func equalRun(a, b []string) []string {
	for i := 0; i+maximumRun <= len(a); i++ {
		run := a[i : i+maximumRun]
		for j := 0; j+maximumRun <= len(b); j++ {
			if slices.Equal(run, b[j:j+maximumRun]) {
				return run
			}
		}
	}
	return nil
}

func TestEqualRun(t *testing.T) {
	lines := strings.Split(strings.Repeat("x\n", maximumRun-1)+"y", "\n")
	if run := equalRun(append([]string{"a"}, lines...), append([]string{"b", "c"}, lines...)); run == nil {
		t.Error("twelve equal lines are not found")
	}
	if run := equalRun(lines[1:], lines); run != nil {
		t.Errorf("eleven equal lines are found: %q", run)
	}
}

// TestRequirements checks that the first block of go.mod has exactly the direct requirements, each with its reason.
func TestRequirements(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "require (\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("go.mod has %d blocks of requirements", len(blocks))
	}
	for i, block := range blocks {
		lines, _, _ := strings.Cut(block, "\n)")
		for line := range strings.SplitSeq(lines, "\n") {
			requirement, comment, _ := strings.Cut(strings.TrimSpace(line), " // ")
			if direct := comment != "indirect"; direct != (i == 0) {
				t.Errorf("%s: direct requirements belong to the first block, others to the second", requirement)
			} else if direct && comment == "" {
				t.Errorf("%s: write the reason behind it, as // …", requirement)
			}
		}
	}
}
