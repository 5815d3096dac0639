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
		t.Error("the metric of the certificate's expiry is missing")
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
		"a client with a certificate":             {config(clients, 0), "200 OK: x"},
		"a client with a certificate and TLS 1.2": {config(clients, tls.VersionTLS12), "200 OK: x"},
		"a client with TLS 1.1 is rejected":       {config(clients, tls.VersionTLS11), "error"},
		"rejects a client without a certificate":  {config(nil, 0), "error"},
		"a client of another CA is rejected":      {config(servers, 0), "error"},
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

	before := w.places[0].tls.current.Load()
	write(t, in("tls.crt"), []byte("broken"))
	for range 3 {
		w.reloadCertificates()
	}
	if w.places[0].tls.current.Load() != before || ask(config(clients, 0)) != "200 OK: x" {
		t.Error("a broken certificate replaced the active one")
	}
	if n := strings.Count(w.logged(), "Loading certificates failed"); n != 1 {
		t.Errorf("the failure is logged %d times, want once", n)
	}
	put("second")
	write(t, in("ca.crt"), servers.PEM)
	w.reloadCertificates()
	if name := w.places[0].tls.current.Load().Certificates[0].Leaf.Subject.CommonName; name != "second" {
		t.Errorf("the certificate is the %s", name)
	}
	if known, other := ask(config(clients, 0)), ask(config(servers, 0)); known != "error" || other != "200 OK: x" {
		t.Errorf("after a change of the CA: want only its clients accepted, got %s, %s", known, other)
	}
}
