// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
)

// TestProfileImages checks that graft drift finds exactly the images with profiles in the installed chart of the
// extension.
func TestProfileImages(t *testing.T) {
	const name = "gardener-extension-provider-graft"
	both := []string{
		"registry.example.com/graft/profiles@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"registry.example.com:5000/team/profiles:v1.2.3",
	}
	for title, c := range map[string]struct {
		values string
		garden bool
		want   []string
	}{
		"in a seed":             {"profile-images", false, both},
		"with a virtual garden": {"profile-images", true, both},
		"only in ConfigMaps":    {"everything", false, nil},
	} {
		t.Run(title, func(t *testing.T) {
			values := cases(t, name)[c.values]
			values["gardener"] = map[string]any{"runtimeCluster": map[string]any{"enabled": c.garden}}
			manifests, err := render(load(t, name), values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := deployed(t, manifests).ProfileImages(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v; images (-want +got):\n%s", err, diff)
			}
		})
	}
}

// deployed is a seed that lists the Deployments among manifests.
func deployed(t *testing.T, manifests []string) *seed.Seed {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil || r.URL.Path != "/apis/apps/v1/deployments" {
			t.Errorf("unexpected request to %s: %v", r.URL, err)
		}
		list := appsv1.DeploymentList{}
		for _, manifest := range manifests {
			var one appsv1.Deployment
			if err := sigsyaml.Unmarshal([]byte(manifest), &one); err == nil && one.Kind == "Deployment" && selector.Matches(labels.Set(one.Labels)) {
				list.Items = append(list.Items, one)
			}
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(web.Close)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"this","clusters":[{"name":"c","cluster":{"server":%q}}],
		"contexts":[{"name":"this","context":{"cluster":"c"}}]}`, web.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	connected, err := seed.Connect(seed.Connection{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	return connected
}
