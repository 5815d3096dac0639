// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestUsability runs commands as users type them, and checks for expected parts of the output.
func TestUsability(t *testing.T) {
	const (
		head  = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: NAME}\nproviders: [acme]\n"
		rules = "controlplane:\n  kube-scheduler:\n  - flags: {set: {v: \"3\"}}\n"
		older = "gardener: \"< 1.96\"\ncontrolplaneexposure:\n  kube-apiserver:\n  - flags: {set: {advertise-address: 10.0.0.1}}\n"
	)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"manifests.yaml": comparisonManifests,
		"a/profile.yaml": strings.Replace(head, "NAME", "a", 1) + rules,
		"b/profile.yaml": strings.Replace(head, "NAME", "b", 1) + strings.Replace(rules, "kube-scheduler", "cluster-autoscaler", 1),
		"a/legacy.yaml":  strings.Replace(head, "NAME", "a-older", 1) + older,
		"wrong.yaml":     strings.Replace(head, "NAME", "w", 1) + "gardener: today\n" + rules,
		"profile.yaml":   strings.Replace(head, "NAME", "p", 1) + rules,
	} {
		if err := os.MkdirAll("a", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("b", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, arguments string
		status          int
		out, err        string
	}{
		{"diff of one object", "diff deployment/kube-scheduler -p profile.yaml manifests.yaml", 0, "1 object changed", ""},
		{"diff of an object that is not there", "diff deployment/kube-schedular -p profile.yaml manifests.yaml", 2, "", `(did you mean "kube-scheduler"?)`},
		{"diff ends with a summary", "diff -p profile.yaml manifests.yaml", 0, "\n1 object changed\n", ""},
		{"a folder with a profile for an older Gardener", "diff -p a manifests.yaml", 0, "+ --v=3", ""},
		{"lint of a profile for an older Gardener", "lint a", 0, "no findings", ""},
		{"today's Gardener is tried where it is named", "lint wrong.yaml", 1, `gardener: "today" is not a version constraint`, ""},
		{"packing profiles of one file name", "pack a/profile.yaml b/profile.yaml --output-file both.tar", 0, "sha256:", "packed 2 files"},
		{"packing a folder", "pack a --output-file a.tar", 0, "sha256:", "packed 2 files"},
		{"drift --rbac with the default profile", "drift --rbac", 0, "rules", ""},
		{"a control plane without a profile", "render --without-profile manifests.yaml", 0, "--v=2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, problems bytes.Buffer
			status := Main("test", strings.Fields(c.arguments), &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
			if status != c.status || !strings.Contains(out.String(), c.out) || !strings.Contains(problems.String(), c.err) {
				t.Errorf("status %d, want %d; standard output:\n%s\nstandard error:\n%s", status, c.status, &out, &problems)
			}
		})
	}
}

// TestTopLevelCommands bounds the number of commands.
func TestTopLevelCommands(t *testing.T) {
	const most = 16
	if all := NewCommand("test", &Streams{}).Commands(); len(all) > most {
		t.Errorf("there are %d top-level commands, more than %d", len(all), most)
	}
}
