// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestShell checks that a command sees the files and variables of the previous one.
func TestShell(t *testing.T) {
	folder := t.TempDir()
	shell, err := NewShell(folder, t.TempDir(), "GIVEN=it's given")
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		command, want string
		status        int
	}{
		{"pwd", folder + "\n", 0},
		{"mkdir -p 'a b' && cd 'a b' && export MINE='x y'", "", 0},
		{"pwd; echo \"$MINE, $GIVEN\"", filepath.Join(folder, "a b") + "\nx y, it's given\n", 0},
		{"echo out; echo err >&2; exit 7", "out\nerr\n", 7},
		{"echo $?", "7\n", 0},
		{"set -e\nfalse\necho not reached", "", 1},
		{"false | true", "", 1},
	}
	for _, step := range steps {
		output, status, err := shell.Run(t.Context(), step.command)
		if err != nil || output != step.want || status != step.status {
			t.Errorf("%s: got %q with status %d (%v)", step.command, output, status, err)
		}
	}
	if _, _, err := shell.Run(t.Context(), "sleep 100 >/dev/null 2>&1 & echo $! >pid"); err != nil ||
		len(shell.left) != 1 {
		t.Errorf("in the background: %v, %v", shell.left, err)
	}
	shell.Close()
	if output, _, _ := shell.Run(t.Context(),
		"sleep 0.1; kill -0 $(cat pid) 2>/dev/null && cat /proc/$(cat pid)/stat"); strings.Contains(output, "sleep") &&
		!strings.Contains(output, ") Z ") {
		t.Errorf("a background process survived the shell: %s", output)
	}
	output, err := shell.RunUntil(t.Context(), `bash -c 'trap "echo bye; exit 0" INT; echo ready; sleep 100 & wait'`,
		"ready")
	if err != nil || output != "ready\nbye\n" {
		t.Errorf("until: got %q (%v)", output, err)
	}
	if _, err := shell.RunUntil(t.Context(), "echo something else", "ready"); err == nil {
		t.Error("no error for a command that ends before the text, want one")
	}
}
