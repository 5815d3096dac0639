// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a control plane with a rule that writes a Secret's value.
const world = "../../../pkg/workbench/snapshot/testdata/"

// graft runs a command on the world.
func graft(t *testing.T, command string, arguments ...string) (out, err string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	arguments = append([]string{command, "-p", world + "profile.yaml", world + "cluster.yaml", world + "scheduler.yaml", "--present", world + "secret.yaml"}, arguments...)
	status = Main("test", arguments, &Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), status
}

// TestOutput checks that each format is written to standard output and to a file, without Secret values by default.
func TestOutput(t *testing.T) {
	for command, formats := range map[string][]string{
		"diff":   {"text", "json", "markdown", "html"},
		"render": {"yaml", "json"},
	} {
		for _, format := range formats {
			t.Run(command+"/"+format, func(t *testing.T) {
				out, errors, status := graft(t, command, "-o", format)
				if status != 0 || strings.Contains(out, "scheduler=4") || !strings.Contains(out, "(from Secret cloudprovider)") {
					t.Errorf("got status %d, %s:\n%s", status, errors, out)
				}
				shown, _, _ := graft(t, command, "-o", format, "--show-secrets")
				if !strings.Contains(shown, "scheduler=4") {
					t.Errorf("the Secret is not shown:\n%s", shown)
				}
				path := filepath.Join(t.TempDir(), "out")
				if rest, _, status := graft(t, command, "-o", format, "--output-file", path); status != 0 || rest != "" {
					t.Errorf("got status %d, and on standard output %q", status, rest)
				}
				written, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if string(written) != out {
					t.Errorf("the file holds something else:\n%s", written)
				}
			})
		}
	}
}

// TestOutputFileFails checks that a failed write leaves no file behind.
func TestOutputFileFails(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(path, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, errors, status := graft(t, "diff", "--output-file", path)
	if status != statusFailed || !strings.Contains(errors, "Error: "+path+": is a directory") {
		t.Errorf("got status %d: %s", status, errors)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("want one file, got %v, %v", left, err)
	}
}

// TestObjectsOutsideControlPlanesAreIgnored checks that objects outside of control planes are ignored with a message.
func TestObjectsOutsideControlPlanesAreIgnored(t *testing.T) {
	alone, _, _ := graft(t, "diff")
	out, errors, status := graft(t, "diff", world+"foreign.yaml")
	if status != 0 || out != alone || errors != "left out: objects of namespaces without a control plane: default, kube-system\n" {
		t.Errorf("got status %d, %s:\n%s", status, errors, out)
	}
}

// TestDenialSuggestsPresent checks that a denial because of a missing lookup object suggests --present, and other
// denials do not.
func TestDenialSuggestsPresent(t *testing.T) {
	const hint = "Pass the objects that lookups read"
	for _, command := range []string{"diff", "diff -o json", "render", "render -o json"} {
		words := strings.Fields(command)
		if _, errors, status := graft(t, words[0], words[1:]...); status != 0 || strings.Contains(errors, hint) {
			t.Errorf("%s: got status %d: %s", command, status, errors)
		}
		var out, errors strings.Builder
		arguments := slices.Concat(words, []string{"-p", world + "profile.yaml", world + "cluster.yaml", world + "scheduler.yaml", world + "scheduler.yaml"})
		status := Main("test", arguments, &Streams{In: strings.NewReader(""), Out: &out, Err: &errors})
		if status != statusFound || strings.Count(errors.String(), hint) != 1 {
			t.Errorf("%s: got status %d: %s", command, status, errors.String())
		}
	}
}
