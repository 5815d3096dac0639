// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// echo answers with what it is asked, as no success.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusConflict)
	_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body)+"\nline\n")
}

// TestCaller holds that curl and this program ask the same, and read the same: at a socket, and over TLS by a certificate.
func TestCaller(t *testing.T) {
	folder := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(folder, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	_ = local.Listener.Close()
	local.Listener = listener
	local.Start()
	t.Cleanup(local.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(secure.Close)
	authority := filepath.Join(folder, "ca.crt")
	if err := os.WriteFile(authority, signing.PEM(secure.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, c := range map[string]Caller{"http://localhost": {Socket: listener.Addr().String()}, secure.URL: {Authority: authority}} {
		with, _ := c.WithCurl()
		for name, c := range map[string]Caller{"curl, if it is there": with, "itself": c} {
			for body, want := range map[string]string{"": "GET /x  \nline", "{}": "POST /x application/json {}\nline"} {
				if status, answer, err := c.Ask(t.Context(), url+"/x", body); err != nil || status != "409" || answer != want {
					t.Errorf("%s at %s: %s %q, %v", name, url, status, answer, err)
				}
			}
		}
	}
	if _, answer, err := (Caller{}).Ask(t.Context(), secure.URL, ""); err == nil {
		t.Errorf("an unknown certificate is trusted; the answer is %s", answer)
	}
}

// TestCommand holds what is shown for people to type.
func TestCommand(t *testing.T) {
	for want, got := range map[string]string{
		"curl --unix-socket /s http://localhost/x":                 Caller{Socket: "/s"}.Command("http://localhost/x", ""),
		`curl --cacert /ca https://127.0.0.1:1/x --json '{"a":1}'`: Caller{Authority: "/ca"}.Command("https://127.0.0.1:1/x", `{"a":1}`),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
