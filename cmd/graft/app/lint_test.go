// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const profileWithWarning = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-controller-manager:
  - when: ${ true }
    env: {set: {A: a}}
`

// TestLint checks the exit status of graft lint: results are on standard output, fixed findings on standard error.
func TestLint(t *testing.T) {
	wrong := strings.Replace(profileWithWarning, "env:", "evn:", 1)
	tests := []struct {
		name, text  string
		arguments   []string
		status      int
		out, errors string
		after       string
	}{
		{"a warning", profileWithWarning, nil, 0, "1 warning in 1 document", "", profileWithWarning},
		{"a warning that counts", profileWithWarning, []string{"--fail-on", "warning"}, 1, "[always-true]", "", profileWithWarning},
		{"an error", wrong, nil, 1, `unknown operation "evn" (did you mean "env"?) [unknown-operation]`, "", wrong},
		{"an error that is fixed", wrong, []string{"--fix"}, 0, "1 warning in 1 document", "fixed ", profileWithWarning},
		{"an error that would be fixed", wrong, []string{"--fix", "--dry-run"}, 1, "+    env: {set: {A: a}}", "", wrong},
		{"no such file", wrong, []string{"nowhere.yaml"}, 2, "", "nowhere.yaml: no such file", wrong},
		{"no such format", wrong, []string{"-o", "xml"}, 2, "", "--output xml: must be one of text, json, sarif", wrong},
		{"no such severity", wrong, []string{"--fail-on", "info"}, 2, "", "--fail-on info: must be one of error, warning", wrong},
		{"no constraint", wrong, []string{"--kubernetes", "new"}, 2, "", "--kubernetes new: must be a constraint", wrong},
		{"a difference of nothing", wrong, []string{"--dry-run"}, 2, "", "--dry-run needs --fix", wrong},
		{"the standard input is no file", wrong, []string{"--fix", "-"}, 2, "", "--fix needs files", wrong},
		{"a rule", wrong, []string{"--explain", "conflict"}, 0, "conflict (error)", "", wrong},
		{"no such rule", wrong, []string{"--explain", "conflicts"}, 2, "", `did you mean "conflict"?`, wrong},
		{"all rules", wrong, []string{"--rules"}, 0, "wrong-type ", "", wrong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "profile.yaml")
			if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errors strings.Builder
			status := Main("test", append([]string{"lint", name}, test.arguments...), &Streams{In: strings.NewReader(""), Out: &out, Err: &errors})
			if status != test.status || !strings.Contains(out.String(), test.out) || !strings.Contains(errors.String(), test.errors) {
				t.Errorf("status %d, want %d\n%s\n%s", status, test.status, out.String(), errors.String())
			}
			if after, err := os.ReadFile(name); err != nil || string(after) != test.after {
				t.Errorf("the file is %q, %v", after, err)
			}
		})
	}
	t.Run("nothing in a folder", func(t *testing.T) {
		var out, errors strings.Builder
		status := Main("test", []string{"lint", t.TempDir()}, &Streams{Out: &out, Err: &errors})
		if status != 2 || !strings.Contains(errors.String(), "no document was found") {
			t.Errorf("status %d: %s", status, errors.String())
		}
	})
}

// TestLintExamples checks that the example profiles have no findings, each for its generation of Gardener.
func TestLintExamples(t *testing.T) {
	const examples = "../../../example/profiles"
	today, err := filepath.Glob(filepath.Join(examples, "*", "profile.yaml"))
	if err != nil || len(today) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for name, arguments := range map[string][]string{
		"all, for the current generation": today, "all, for the older generation": {examples, "--gardener-version", "1.95", "--fail-on", "warning"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errors strings.Builder
			status := Main("test", append([]string{"lint"}, arguments...), &Streams{In: strings.NewReader(""), Out: &out, Err: &errors})
			if status != 0 {
				t.Errorf("got status %d: %s%s", status, out.String(), errors.String())
			}
		})
	}
}
