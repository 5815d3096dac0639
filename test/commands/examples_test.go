// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
)

// Each line of the examples of each command runs in a copy of the repository, with the ledger of the lines before it. A
// line that ends in `# exit 1` ends with that status.
var _ = Describe("the examples in the help of", func() {
	for _, command := range manual.Commands(app.NewCommand("test", &app.Streams{})) {
		It(command.CommandPath()+" succeed", func(ctx SpecContext) {
			lines := examples(command)
			if command.Runnable() && command.HasParent() {
				Expect(lines).NotTo(BeEmpty(), "examples of the command")
			}
			shell, err := NewShell(checkout(ctx), GinkgoT().TempDir(), "PATH="+bin+":"+os.Getenv("PATH"),
				"KUBECONFIG=/nonexistent")
			Expect(err).NotTo(HaveOccurred())
			for _, line := range lines {
				want := 0
				if at := strings.LastIndex(line, "# exit "); at >= 0 {
					Expect(fmt.Sscanf(line[at:], "# exit %d", &want)).Error().NotTo(HaveOccurred())
				}
				output, status, err := shell.Run(ctx,
					"git checkout --quiet . && git clean --quiet --force -d --exclude /ledger && "+line)
				Expect(err).NotTo(HaveOccurred(), "running %s", line)
				Expect(status).To(Equal(want), "status of %s, which prints\n%s", line, output)
			}
		})
	}
})

// examples returns the command lines of an example. Any other line must be a comment.
func examples(command *cobra.Command) []string {
	GinkgoHelper()
	var out []string
	joined := strings.ReplaceAll(command.Example, "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "graft ") || strings.Contains(line, "| graft "):
			out = append(out, line)
		default:
			Fail("an example begins with `graft `: " + line)
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
