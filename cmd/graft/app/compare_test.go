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

// comparisonManifests are a Cluster and one object of its control plane.
const comparisonManifests = `apiVersion: extensions.gardener.cloud/v1alpha1
kind: Cluster
metadata: {name: shoot--a--b}
spec:
  shoot:
    apiVersion: core.gardener.cloud/v1beta1
    kind: Shoot
    metadata: {name: b, namespace: garden-a}
    spec: {kubernetes: {version: 1.33.1}, provider: {type: acme, workers: [{name: w}]}}
  cloudProfile: {apiVersion: core.gardener.cloud/v1beta1, kind: CloudProfile, metadata: {name: c}}
  seed: {apiVersion: core.gardener.cloud/v1beta1, kind: Seed, metadata: {name: s}, spec: {provider: {type: acme}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kube-scheduler, namespace: shoot--a--b}
spec: {template: {spec: {containers: [{name: kube-scheduler, command: [/kube-scheduler, --v=2]}]}}}
`

// TestCompareCommand checks the output and the exit status of graft compare.
func TestCompareCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	const head = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: p}\nproviders: [acme]\ncontrolplane:\n  kube-scheduler:\n"
	for name, text := range map[string]string{
		"manifests.yaml": comparisonManifests,
		"two.yaml":       head + "  - flags: {set: {v: \"2\"}}\n",
		"three.yaml":     head + "  - flags: {set: {v: \"3\"}}\n",
		"denies.yaml":    head + "  - flags: {set: {v: \"${ shoot.spec.nothing }\"}}\n",
		"wrong.yaml":     head + "  - flag: {}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, arguments string
		status          int
		// out and err are expected parts of the output.
		out, err string
	}{
		{"the same", "two.yaml two.yaml --exit-code", 0, "nothing changes", ""},
		{"a different flag", "two.yaml three.yaml", 0, "+ --v=3", ""},
		{"a different flag, with --exit-code", "two.yaml three.yaml --exit-code", 1, "Pod template changes", ""},
		{"newly denied", "two.yaml denies.yaml", 1, "newly denied", "1 object is newly denied"},
		{"denied before", "denies.yaml two.yaml", 0, "no longer denied", ""},
		{"denied by both", "denies.yaml denies.yaml", 0, "denied by both", ""},
		{"as a document", "two.yaml three.yaml -o json", 0, `"note": "Pod template changes"`, ""},
		{"into a file", "two.yaml three.yaml --output-file out/result", 2, "", "writing out/result"},
		{"a wrong profile", "two.yaml wrong.yaml", 2, "", `wrong.yaml:7:5: `},
		{"no such profile", "none.yaml two.yaml", 2, "", "reading OLD: "},
		{"no such format", "two.yaml two.yaml -o patch", 2, "", "--output patch: must be one of text, json, markdown, html"},
		{"one argument", "two.yaml", 2, "", "give two versions of profiles"},
		{"no such variant", "two.yaml two.yaml --variants hibernate", 2, "", `(did you mean "hibernated"?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			arguments := strings.Fields("compare " + c.arguments)
			if !strings.Contains(c.arguments, "--variants") {
				arguments = append(arguments, "-f", "manifests.yaml")
			}
			var out, problems strings.Builder
			status := Main("test", arguments, &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
			if status != c.status || !strings.Contains(out.String(), c.out) || !strings.Contains(problems.String(), c.err) {
				t.Errorf("status %d, want %d; standard output:\n%s\nstandard error:\n%s", status, c.status, &out, &problems)
			}
		})
	}
	if found, _ := filepath.Glob("out*"); found != nil {
		t.Errorf("%v is left", found)
	}
	var out strings.Builder
	arguments := []string{"compare", "two.yaml", "three.yaml", "-f", "manifests.yaml", "--output-file", "result.html", "-o", "html"}
	if status := Main("test", arguments, &Streams{Out: &out, Err: &out}); status != 0 || out.Len() > 0 {
		t.Errorf("status %d: %s", status, &out)
	}
	if page, err := os.ReadFile("result.html"); err != nil || !strings.Contains(string(page), "Pod template changes") {
		t.Errorf("the page is %q, %v", page, err)
	}
}
