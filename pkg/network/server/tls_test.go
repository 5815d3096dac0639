// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// TestTLS checks which clients are accepted before and after the files change.
func TestTLS(t *testing.T) {
	folder, servers, clients := t.TempDir(), env.NewAuthority(t), env.NewAuthority(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	put := func(name string) {
		certificate, key := servers.Issue(name)
		write(t, in("tls.crt"), certificate)
		write(t, in("tls.key"), key)
	}
	put("first")
	write(t, in("ca.crt"), clients.PEM)
	w := newWorld(t, Listener{Network: "tcp", Address: "127.0.0.1:0", TLS: &TLS{in("tls.crt"), in("tls.key"), in("ca.crt")}}, echo)
	if w.count(t, "graft_network_certificate_expiry_timestamp_seconds", map[string]string{"listener": "tcp://127.0.0.1:0"}) == 0 {
		t.Error("nobody knows when the certificate ends")
	}
	config := func(of *env.Authority, version uint16) *tls.Config {
		c := &tls.Config{RootCAs: servers.Pool(), ServerName: "localhost", MaxVersion: version}
		if of != nil {
			c.Certificates = []tls.Certificate{of.Pair("client")}
		}
		return c
	}
	ask := func(c *tls.Config) string { return w.ask(t, w.client(c), "https", "/do", "x") }
	for name, test := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"known":                {config(clients, 0), "200 OK: x"},
		"known, TLS 1.2":       {config(clients, tls.VersionTLS12), "200 OK: x"},
		"TLS 1.1":              {config(clients, tls.VersionTLS11), "error"},
		"no certificate":       {config(nil, 0), "error"},
		"of another authority": {config(servers, 0), "error"},
	} {
		if got := ask(test.config); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	second := w.client(config(clients, 0))
	second.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	second.Transport.(*http.Transport).DisableKeepAlives = false
	for range 3 {
		if got := w.ask(t, second, "https", "/do", "x"); got != "200 OK: x" {
			t.Errorf("by HTTP/2: %s", got)
		}
	}
	second.CloseIdleConnections()
	if got := w.ask(t, w.client(nil), "http", "/do", "x"); strings.HasPrefix(got, "200") {
		t.Errorf("without TLS: %s", got)
	}

	before := w.places[0].tls.get()
	write(t, in("tls.crt"), []byte("broken"))
	for range 3 {
		w.look()
	}
	if w.places[0].tls.get() != before || ask(config(clients, 0)) != "200 OK: x" {
		t.Error("a broken certificate was taken")
	}
	if n := strings.Count(w.logged(), "Loading certificates failed"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
	put("second")
	write(t, in("ca.crt"), servers.PEM)
	w.look()
	if name := w.places[0].tls.get().Certificates[0].Leaf.Subject.CommonName; name != "second" {
		t.Errorf("the certificate is the %s", name)
	}
	if known, other := ask(config(clients, 0)), ask(config(servers, 0)); known != "error" || other != "200 OK: x" {
		t.Errorf("after the authority has changed: %s, %s", known, other)
	}
}

func TestTokens(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "tokens"), []byte("\nfirst-token-of-some-length\n  second-token-of-some-length \r\n"))
	w := newWorld(t, Listener{Network: "tcp", Address: "127.0.0.1:0", TokenFile: path}, echo)
	ask := func(header string) string {
		return w.ask(t, w.client(nil), "http", "/do", "x", "Authorization", header)
	}
	const no = "401 Unauthorized: a bearer token is needed that the server knows"
	for header, want := range map[string]string{
		"":                                   no,
		"Bearer":                             no,
		"Bearer ":                            no,
		"Bearer x":                           no,
		"Basic first-token-of-some-length":   no,
		"Bearer first-token-of-some-length":  "200 OK: x",
		"bearer second-token-of-some-length": "200 OK: x",
		"Bearer first-token-of-some-length second-token-of-some-length": no,
	} {
		if got := ask(header); got != want {
			t.Errorf("%q: %s", header, got)
		}
	}
	if n := w.count(t, "graft_network_requests_refused_total", map[string]string{"reason": "token"}); n != 6 {
		t.Errorf("%v were refused", n)
	}
	for _, wrong := range []string{"", "short\n"} {
		write(t, path, []byte(wrong))
		w.look()
		if got := ask("Bearer first-token-of-some-length"); got != "200 OK: x" {
			t.Errorf("after %q: %s", wrong, got)
		}
	}
	write(t, path, []byte("third-token-of-some-length"))
	w.look()
	if first, third := ask("Bearer first-token-of-some-length"), ask("Bearer third-token-of-some-length"); first != no || third != "200 OK: x" {
		t.Errorf("after the tokens have changed: %s, %s", first, third)
	}
	if strings.Contains(w.logged(), "-token-") {
		t.Error("the log has a token")
	}
}
