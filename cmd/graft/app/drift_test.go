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

// TestDriftRefuses holds which command lines are refused, and that nobody is touched where nobody is asked.
func TestDriftRefuses(t *testing.T) {
	profile := world + "profile.yaml"
	for arguments, want := range map[string]string{
		"-o yaml":                         "--output must be one of text, json",
		"--rate 0":                        "--rate must be more than 0, and 50 at most",
		"--rate 51":                       "--rate must be more than 0, and 50 at most",
		"--limit -1":                      "--limit must be 0 or more",
		"--rbac":                          "--rbac is for profiles: name them with --profile",
		"--kubeconfig none -p " + profile: "reading the kubeconfig",
		"something":                       "no argument",
	} {
		t.Run(arguments, func(t *testing.T) {
			var out, errors bytes.Buffer
			s := &Streams{In: strings.NewReader(""), Out: &out, Err: &errors}
			status := Main("test", append([]string{"drift"}, strings.Fields(arguments)...), s)
			if status != statusFailed || !strings.Contains(errors.String(), want) {
				t.Errorf("got status %d: %s", status, errors.String())
			}
		})
	}
}

// TestDriftPermissions holds that the values of the chart name what the profiles have rules for, and nothing else.
func TestDriftPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.yaml")
	const text = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane:
  kube-apiserver: [{labels: {set: {a: b}}}]
  kubelet: [{configuration: {set: {failSwapOn: false}}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errors bytes.Buffer
	status := Main("test", []string{"drift", "--rbac", "-p", path}, &Streams{In: strings.NewReader(""), Out: &out, Err: &errors})
	const want = `drift:
  objects:
  - {group: "apps", resource: deployments, names: [kube-apiserver]}
  - {group: "extensions.gardener.cloud", resource: operatingsystemconfigs}
`
	if status != 0 || out.String() != want {
		t.Errorf("status %d: %s\n%s", status, out.String(), errors.String())
	}
}
