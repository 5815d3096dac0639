// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
)

// TestExamples runs each line of the examples of each command, in a copy of the repository. A line that ends in `# exit 1` ends with
// that status.
func TestExamples(t *testing.T) {
	folder := checkout(t)
	count := 0
	for _, command := range manual.Commands(app.NewCommand("test", &app.Streams{})) {
		t.Run(strings.ReplaceAll(command.CommandPath(), " ", "-"), func(t *testing.T) {
			lines := examples(t, command)
			if len(lines) == 0 {
				if command.Runnable() && command.HasParent() {
					t.Error("the command has no example")
				}
				return
			}
			shell, err := NewShell(folder, t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG=/nonexistent")
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				count++
				want := 0
				if at := strings.LastIndex(line, "# exit "); at >= 0 {
					if _, err := fmt.Sscanf(line[at:], "# exit %d", &want); err != nil {
						t.Fatal(err)
					}
				}
				// Each line finds the repository as it is.
				output, status, err := shell.Run(t.Context(), "git checkout --quiet . && git clean --quiet --force -d && "+line)
				if err != nil || status != want {
					t.Errorf("%s: status %d, want %d (%v)\n%s", line, status, want, err, output)
				}
			}
		})
	}
	if count < 10 {
		t.Errorf("only %d examples were found", count)
	}
}

// examples returns the command lines of an example. Any other line must be a comment.
func examples(t *testing.T, command *cobra.Command) []string {
	t.Helper()
	var out []string
	joined := strings.ReplaceAll(command.Example, "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "graft ") || strings.Contains(line, "| graft "):
			out = append(out, line)
		default:
			t.Errorf("an example begins with `graft `: %s", line)
		}
	}
	return out
}

// TestHelp checks that each command has a description, in lines that fit a terminal.
func TestHelp(t *testing.T) {
	for _, command := range manual.Commands(app.NewCommand("test", &app.Streams{})) {
		t.Run(strings.ReplaceAll(command.CommandPath(), " ", "-"), func(t *testing.T) {
			if command.Short == "" || strings.HasSuffix(command.Short, ".") || len(command.Short) > 80 {
				t.Errorf("the short text is a phrase of up to 80 characters without a full stop: %q", command.Short)
			}
			for line := range strings.Lines(command.Long + "\n" + command.Example) {
				if len([]rune(line)) > 140 {
					t.Errorf("this line is longer than 140 characters: %s", line)
				}
			}
		})
	}
}
