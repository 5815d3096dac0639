// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// TestFiles checks that calls use the current certificates and token of the files.
func TestFiles(t *testing.T) {
	ca, folder := env.NewAuthority(t), t.TempDir()
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exchange := func(name string) {
		certificate, key := ca.Issue(name)
		write("cert", certificate)
		write("key", key)
	}
	var seen []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"mac": "", "cidrs": ["10.0.0.10/24"], "id": 1}`)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Pair("server")}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)

	files := strings.ReplaceAll("url: "+server.URL+"/v1\ncaFile: @/ca\ncertFile: @/cert\nkeyFile: @/key\ntokenFile: @/token", "@", folder)
	definition, findings := compile(t, "document.yaml", "url: https://fabric.example.com/v1", files)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	options := web.Options{Timeout: time.Minute, Clock: clock.RealClock{}}
	write("ca", ca.PEM)
	exchange("first")
	if _, err := web.New(definition, options); err == nil || !strings.Contains(err.Error(), "token: no such file") {
		t.Errorf("without the token: %v", err)
	}
	write("token", []byte("one\n"))
	made, err := web.New(definition, options)
	if err != nil {
		t.Fatal(err)
	}
	bind := func() error {
		_, err := made.Bind(t.Context(), intent())
		return err
	}
	if err := bind(); err != nil {
		t.Fatal(err)
	}
	// While the files do not match, the previous ones stay active.
	certificate, key := ca.Issue("second")
	write("cert", certificate)
	if err := bind(); err != nil {
		t.Fatal(err)
	}
	write("key", key)
	write("token", []byte("two"))
	if err := bind(); err != nil {
		t.Fatal(err)
	}
	if want := "first Bearer one, first Bearer one, second Bearer two"; strings.Join(seen, ", ") != want {
		t.Errorf("the cloud has seen %q, want %q", seen, want)
	}
	write("token", []byte("secret secret"))
	if err := bind(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("with two tokens: %v", err)
	}
	write("token", []byte("two"))
	write("ca", env.NewAuthority(t).PEM)
	if err := bind(); err == nil || strings.Contains(err.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "asking the cloud to bind: tls: failed to verify") {
		t.Errorf("want a certificate error without the address for another CA, got %v", err)
	}
}
