// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
)

// authority signs certificates.
type authority struct {
	*testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	return key
}

// issue makes a certificate and its key, both in PEM.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.Helper()
	own := a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key)
	if err != nil {
		a.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		a.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// TestFiles holds that the cloud is asked with the certificates and the token that the files have at the time.
func TestFiles(t *testing.T) {
	ca, folder := newAuthority(t), t.TempDir()
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exchange := func(name string) {
		certificate, key := ca.issue(name)
		write("cert", certificate)
		write("key", key)
	}
	var seen []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"mac": "", "cidrs": ["10.0.0.10/24"], "id": 1}`)
	}))
	certificate, key := ca.issue("server")
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(ca.certificate)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)

	files := strings.ReplaceAll("url: "+server.URL+"/v1\ncaFile: @/ca\ncertFile: @/cert\nkeyFile: @/key\ntokenFile: @/token", "@", folder)
	definition, findings := compile(t, "document.yaml", "url: https://fabric.example.com/v1", files)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	options := web.Options{Timeout: time.Minute, Clock: clock.RealClock{}}
	write("ca", ca.pem)
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
	// While the files do not fit together, what was before them holds.
	certificate, key = ca.issue("second")
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
	write("ca", newAuthority(t).pem)
	if err := bind(); err == nil || strings.Contains(err.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "asking the cloud to bind: tls: failed to verify") {
		t.Errorf("with another authority: %v", err)
	}
}
