// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDriftRefuses checks which command lines are rejected, and that no object is touched without --touch.
func TestDriftRefuses(t *testing.T) {
	profile := world + "profile.yaml"
	for arguments, want := range map[string]string{
		"-o yaml":                         "--output yaml: must be one of text, json",
		"--rate 0":                        "--rate must be more than 0 and at most 50",
		"--rate 51":                       "--rate must be more than 0 and at most 50",
		"--limit -1":                      "--limit must be 0 or more",
		"--rbac":                          "no profile: there is no profile.yaml here",
		"--kubeconfig none -p " + profile: "reading the kubeconfig",
		"an-argument":                     "no argument",
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

// TestDriftFindsProfiles checks the search for profiles without --profile: profiles in images are never ignored
// silently.
func TestDriftFindsProfiles(t *testing.T) {
	profile, err := os.ReadFile(world + "profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(string(profile))
	if err != nil {
		t.Fatal(err)
	}
	const configMaps, deployments, namespaces = "/api/v1/configmaps", "/apis/apps/v1/deployments", "/api/v1/namespaces"
	inConfigMap := fmt.Sprintf(`{"items":[{"metadata":{"namespace":"n","name":"c"},"data":{"profile.yaml":%s}}]}`, text)
	const (
		none    = `{"items":[]}`
		mounted = `{"items":[{"spec":{"template":{"spec":{"volumes":[{"name":"config"},
			{"name":"profiles-image-0","image":{"reference":"registry.example.com/acme:v1"}},
			{"name":"profiles-image-1","image":{"reference":"registry.example.com/acme:v2"}}]}}}}]}`
		images = "(registry.example.com/acme:v1, registry.example.com/acme:v2): "
		looked = "no namespace of the seed has a provider of the profiles"
	)
	for name, c := range map[string]struct {
		answers map[string]string
		named   bool
		want    string
	}{
		"a seed without ConfigMaps with profiles":  {map[string]string{configMaps: none, deployments: none}, false, "has no ConfigMap with profiles"},
		"profiles in images":                       {map[string]string{configMaps: none, deployments: mounted}, false, images},
		"profiles in images and a ConfigMap":       {map[string]string{configMaps: inConfigMap, deployments: mounted}, false, images},
		"profiles in images, named with --profile": {map[string]string{namespaces: none}, true, looked},
		"profiles in a ConfigMap":                  {map[string]string{configMaps: inConfigMap, deployments: none, namespaces: none}, false, looked},
		"listing Deployments is forbidden":         {map[string]string{configMaps: inConfigMap}, false, "listing Deployments of the extension"},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer, ok := c.answers[r.URL.Path]
				if !ok {
					w.WriteHeader(http.StatusForbidden)
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer web.Close()
			config := filepath.Join(t.TempDir(), "kubeconfig")
			content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"this","clusters":[{"name":"c","cluster":{"server":%q}}],
				"contexts":[{"name":"this","context":{"cluster":"c"}}]}`, web.URL)
			if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			arguments := []string{"drift", "--kubeconfig", config}
			if c.named {
				arguments = append(arguments, "-p", world+"profile.yaml")
			}
			var out, problems bytes.Buffer
			status := Main("test", arguments, &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
			if status != statusFailed || !strings.Contains(problems.String(), c.want) {
				t.Errorf("got status %d, want 2 and %q: %s%s", status, c.want, out.String(), problems.String())
			}
		})
	}
}

// TestDriftPermissions checks that the rules name exactly the objects with rules.
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
	const want = `rules:
- {apiGroups: ["apps"], resources: [deployments], resourceNames: [kube-apiserver], verbs: [get]}
- {apiGroups: ["extensions.gardener.cloud"], resources: [operatingsystemconfigs], verbs: [list]}
`
	if status != 0 || out.String() != want {
		t.Errorf("status %d: %s\n%s", status, out.String(), errors.String())
	}
}
