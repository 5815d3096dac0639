// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package shells

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

var root = filepath.Join("..", "..", "..")

func TestShells(t *testing.T) { suite.Run(t, "shells") }

// bin is the folder of the programs. checkout is a copy of the project's files, in which the shells run.
var bin, checkout string

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	bin, err = env.Programs(root)
	Expect(err).NotTo(HaveOccurred())
	checkout = GinkgoT().TempDir()
	Expect(commands.Checkout(ctx, root, checkout)).To(Succeed())
}, NodeTimeout(time.Minute))

var _ = Describe("the Tab key", func() {
	cases, err := commands.Completions(filepath.Join(root, "test", "commands", "testdata", "completions.yaml"))
	if err != nil {
		panic(err)
	}
	for name, shell := range map[string]commands.Interactive{
		"bash with bash-completion": commands.BashCompletion(), "zsh": commands.Zsh(), "fish": commands.Fish(),
	} {
		Context("in "+name, func() {
			for _, c := range cases {
				It("completes "+c.Line, func(ctx context.Context) {
					_, err := shell.Complete(ctx, checkout, bin, c)
					Expect(err).NotTo(HaveOccurred())
				}, NodeTimeout(time.Minute))
			}
		})
	}
})

// Neither Debian nor npm has PowerShell. Only the syntax of its script is checked, with a grammar.
var _ = Describe("the script for PowerShell", func() {
	It("has no syntax errors, which the check would find", func(ctx context.Context) {
		folder := GinkgoT().TempDir()
		for _, name := range []string{"package.json", "package-lock.json", "check.mjs"} {
			content, err := os.ReadFile(filepath.Join("powershell", name))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
		}
		script := run(ctx, folder, filepath.Join(bin, "graft"), "completion", "powershell")
		run(ctx, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		path := filepath.Join(folder, "script.ps1")
		Expect(os.WriteFile(path, []byte(script), 0o600)).To(Succeed())
		run(ctx, folder, "node", "check.mjs", path)

		broken := strings.Replace(script, "if ($Directive", "if ((($Directive", 1)
		Expect(os.WriteFile(path, []byte(broken), 0o600)).To(Succeed())
		check := exec.CommandContext(ctx, "node", "check.mjs", path)
		check.Dir = folder
		Expect(check.Run()).NotTo(Succeed(), "the check of a broken script")
	}, NodeTimeout(5*time.Minute))
})

// run runs a program and returns its output.
func run(ctx context.Context, folder, name string, arguments ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = folder
	var errors strings.Builder
	command.Stderr = &errors
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "%s %s: %s%s", name, strings.Join(arguments, " "), output, &errors)
	return string(output)
}
