// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
)

// TestCalls checks the calls of a search for drift: a touch is an empty patch, and all other calls only read.
func TestCalls(t *testing.T) {
	var got []string
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %q %q", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body))
	}))
	defer web.Close()
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
	if _, err := connected.Read(t.Context(), "/api/v1/namespaces", url.Values{"limit": {"1"}}); err != nil {
		t.Error(err)
	}
	if _, err := connected.Touch(t.Context(), "/api/v1/namespaces/a"); err != nil {
		t.Error(err)
	}
	want := []string{
		`GET /api/v1/namespaces?limit=1 "" ""`,
		`PATCH /api/v1/namespaces/a?fieldManager=graft-drift "application/merge-patch+json" "{}"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
