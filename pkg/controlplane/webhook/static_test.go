// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStatic checks that the API server trusts a certificate without a namespace for exactly its host, now and for some years.
func TestStatic(t *testing.T) {
	now := time.Now()
	for host, other := range map[string]string{"127.0.0.1": "127.0.0.2", "fd00::1": "fd00::2", "graft.example.com": "example.com"} {
		folder := filepath.Join(t.TempDir(), "new")
		trust, err := AddCertificates(t.Context(), nil, Certificates{Component: "provider-graft", Mode: ModeURL, URL: net.JoinHostPort(host, "443")}, folder)
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := trust.ReadBundle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.LoadX509KeyPair(CertificateFile(folder), filepath.Join(folder, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(bundle) {
			t.Fatal("the bundle has no certificate")
		}
		for _, at := range []time.Time{now.Add(-30 * time.Second), now, now.AddDate(9, 0, 0)} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: at}); err != nil {
				t.Errorf("%s at %s: %v", host, at, err)
			}
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: other, CurrentTime: now}); err == nil {
			t.Errorf("that for %s is trusted for %s", host, other)
		}
		if err := (Expiry{File: CertificateFile(folder), Bundle: trust}).Check(t.Context(), now); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := AddCertificates(t.Context(), nil, Certificates{Mode: ModeURL, URL: "127.0.0.1:443"}, "/dev/null/x"); err == nil {
		t.Error("no error for a folder that cannot be created, want one")
	}
}

// TestPairIsWrittenToNewPrivateFiles checks that key and certificate are new private files each time, the key first, and that a failed
// write leaves no file behind.
func TestPairIsWrittenToNewPrivateFiles(t *testing.T) {
	folder := t.TempDir()
	key, certificate := filepath.Join(folder, "tls.key"), CertificateFile(folder)
	for _, path := range []string{key, certificate} {
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path, path+".old"); err != nil {
			t.Fatal(err)
		}
	}
	if err := writePair(folder, []byte("key"), []byte("certificate")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{key, certificate} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v: %v", info, err)
		}
		// Who reads the old one still has it as a whole.
		if old, err := os.ReadFile(path + ".old"); err != nil || string(old) != "old" {
			t.Errorf("the old file holds %q: %v", old, err)
		}
	}
	blocked := t.TempDir()
	if err := os.MkdirAll(filepath.Join(blocked, "tls.key", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writePair(blocked, []byte("key"), []byte("certificate")); err == nil {
		t.Error("no error for a key that cannot be written, want one")
	}
	if left, err := os.ReadDir(blocked); err != nil || len(left) != 1 {
		t.Errorf("want no new files after the failed write, got %v (%v)", left, err)
	}
}
