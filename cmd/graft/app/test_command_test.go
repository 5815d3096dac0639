// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTest checks the exit status and the output of graft test, with cases that need no generated control plane.
func TestTest(t *testing.T) {
	folders, err := filepath.Abs(filepath.Join("..", "..", "..", "pkg", "workbench", "golden", "controlplane", "testdata", "goldens"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS("tests", os.DirFS(folders)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		arguments string
		status    int
		// out and err are expected parts of the output.
		out, err string
	}{
		{"test tests/diff.yaml", 1, "FAIL tests/diff.yaml/differs\n    tests/diff/differs.diff: the result differs", ""},
		{"test tests/diff.yaml --update", 0, "1 passed", "wrote tests/diff/differs.diff\n"},
		{"test tests/diff.yaml --update", 0, "1 passed", ""},
		{"test tests/diff.yaml tests/diff.yaml -v", 0, "ok   tests/diff.yaml/differs (", ""},
		{"test tests/diff.yaml -p tests/profile.yaml", 0, "1 passed", ""},
		{"test tests/diff.yaml -p tests/objects/in.yaml", 1, "apiVersion: unknown apiVersion", ""},
		{"test tests/diff.yaml --junit report/junit.xml", 0, "1 passed", ""},
		{"test tests --run ^tests/diff.yaml", 0, "1 passed", ""},
		{"test tests --run nothing", 2, "", `no tests match "nothing"; there are 4, such as tests/diff.yaml/differs`},
		{"test tests --run [", 2, "", "--run: error parsing regexp"},
		{"test tests/profile.yaml", 2, "", "no tests in tests/profile.yaml"},
		{"test nowhere", 2, "", "no such file or directory"},
	} {
		t.Run(step.arguments, func(t *testing.T) {
			var out, problems bytes.Buffer
			status := Main("test", strings.Fields(step.arguments), &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
			if status != step.status || !strings.Contains(out.String(), step.out) || !strings.Contains(problems.String(), step.err) {
				t.Errorf("status %d, want %d\n%s\n%s", status, step.status, out.String(), problems.String())
			}
			if step.err == "" && problems.Len() > 0 {
				t.Errorf("standard error has %s", problems.String())
			}
		})
	}
	if report, err := os.ReadFile("report/junit.xml"); err != nil || !bytes.HasPrefix(report, []byte("<?xml")) {
		t.Errorf("the report is %q: %v", report, err)
	}
}
