// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

// TestCertificateFiles checks that content is offered until it is accepted, and only complete content.
func TestCertificateFiles(t *testing.T) {
	folder := t.TempDir()
	files := CertificateFiles{CertFile: filepath.Join(folder, "crt"), KeyFile: filepath.Join(folder, "key"), CAFile: filepath.Join(folder, "ca")}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offered := 0
	refused := errors.New("refused")
	load := func(answer error) error {
		return files.Load(func(pair tls.Certificate, authorities []byte) error {
			if offered++; pair.Leaf == nil || string(authorities) != "authorities" {
				t.Errorf("got %v with %q", pair.Leaf, authorities)
			}
			return answer
		})
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("a.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := certutil.GenerateSelfSignedCertKey("b.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(files.CertFile, certificate)
	write(files.KeyFile, other)
	if err := load(nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: got %v", err)
	}
	write(files.CAFile, []byte("authorities"))
	if err := load(nil); err == nil || offered > 0 {
		t.Errorf("with the key of another certificate: got %v, offered %d times", err, offered)
	}
	write(files.KeyFile, key)
	if err := load(refused); !errors.Is(err, refused) {
		t.Errorf("got %v, want that of the caller", err)
	}
	for range 2 {
		if err := load(nil); err != nil || offered != 2 {
			t.Errorf("got %v, offered %d times", err, offered)
		}
	}
}
