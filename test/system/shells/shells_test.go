// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

// Package shells_test tries the completion of graft in the shells that people use. The
// shells are packages of Debian, so it is run by `make test-system`; bash alone is tried by test/commands, too.
package shells_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

var (
	root = filepath.Join("..", "..", "..")
	bin  string
)

func TestMain(m *testing.M) {
	var err error
	if bin, err = env.Programs(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestCompletion presses the tabulator in each shell.
func TestCompletion(t *testing.T) {
	cases, err := commands.Completions(filepath.Join(root, "test", "commands", "testdata", "completions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := commands.Checkout(t.Context(), root, folder); err != nil {
		t.Fatal(err)
	}
	for name, shell := range map[string]commands.Interactive{
		"bash with bash-completion": commands.BashCompletion(), "zsh": commands.Zsh(), "fish": commands.Fish(),
	} {
		t.Run(name, func(t *testing.T) {
			for _, test := range cases {
				t.Run(test.Line, func(t *testing.T) {
					if _, err := shell.Complete(t.Context(), folder, bin, test); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// TestPowerShell reads the script for PowerShell with a grammar of that language. PowerShell itself is neither a
// package of Debian nor in the npm registry, so nothing here presses a tabulator in it.
func TestPowerShell(t *testing.T) {
	t.Log("PowerShell is not to be had from Debian or npm: the syntax of its completion is checked, and no PowerShell runs it")
	folder := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "check.mjs"} {
		content, err := os.ReadFile(filepath.Join("powershell", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := run(t, folder, filepath.Join(bin, "graft"), "completion", "powershell")
	run(t, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	for name, test := range map[string]struct {
		script string
		ok     bool
	}{
		"the script":                {script, true},
		"one without its last line": {strings.Replace(script, "if ($Directive", "if ((($Directive", 1), false},
	} {
		path := filepath.Join(folder, "script.ps1")
		if err := os.WriteFile(path, []byte(test.script), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), "node", "check.mjs", path)
		check.Dir = folder
		if output, err := check.CombinedOutput(); (err == nil) != test.ok {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

// run runs a program that must succeed.
func run(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = folder
	var errors strings.Builder
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(arguments, " "), err, output, errors.String())
	}
	return string(output)
}
