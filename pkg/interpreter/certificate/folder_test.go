// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/certificatetest"
)

func TestFolder(t *testing.T) {
	certificatetest.Suite(t, func(t *testing.T) func() certificate.Store {
		path := filepath.Join(t.TempDir(), "new")
		return func() certificate.Store { return &certificate.Folder{Path: path} }
	})
}

// TestFolderFiles checks the files in the folder, and that invalid files are not replaced automatically, because
// callers would not trust the new CA.
func TestFolderFiles(t *testing.T) {
	folder := &certificate.Folder{Path: t.TempDir()}
	made := func() *certificate.Issued {
		i, err := certificate.NewIssued(certificate.Options{
			Store: folder, Clock: clocktesting.NewFakePassiveClock(time.Now()), Log: logr.Discard(),
			Policy: certificate.Policy{Addresses: []string{"127.0.0.1"}, Authority: 9 * time.Hour, Certificate: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	one := made()
	if err := one.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(filepath.Join(folder.Path, "ca.crt"))
	if err != nil || !bytes.Equal(bundle, one.Held().Bundle) {
		t.Errorf("want the bundle for callers in the folder, got %v", err)
	}
	if info, err := os.Stat(filepath.Join(folder.Path, "certificates.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys: %v, %v", info, err)
	}
	again := made()
	if err := again.Refresh(t.Context()); err != nil || !again.Held().Certificate.Leaf.Equal(one.Held().Certificate.Leaf) {
		t.Errorf("after a restart: %v", err)
	}
	for _, text := range []string{"{", `{"state.json":"YQ=="}`} {
		if err := os.WriteFile(filepath.Join(folder.Path, "certificates.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := again.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "is damaged; delete it to issue new certificates") || again.Held() == nil {
			t.Errorf("a damaged file: %v", err)
		}
		if err := made().Refresh(t.Context()); err == nil {
			t.Error("a new certificate replaces a damaged file")
		}
	}
}

// TestFolderOrder checks that no certificate is stored or served before callers can trust its CA.
func TestFolderOrder(t *testing.T) {
	folder := &certificate.Folder{Path: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(folder.Path, "ca.crt", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(t.Context(), map[string][]byte{"ca.crt": []byte("1")}, ""); err == nil {
		t.Error("no error although ca.crt cannot be written, want one")
	}
	if kept, err := folder.Read(t.Context()); err != nil || len(kept.Data) > 0 {
		t.Errorf("want no stored certificate, got %v, %v", kept.Data, err)
	}
	if err := os.RemoveAll(filepath.Join(folder.Path, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(t.Context(), map[string][]byte{"ca.crt": []byte("1")}, ""); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder.Path, "ca.crt")); err != nil || string(text) != "1" {
		t.Errorf("want an unchanged ca.crt, got %q, %v", text, err)
	}
}

func TestFolderWithoutNames(t *testing.T) {
	for _, p := range []certificate.Policy{{}, {Addresses: []string{"a"}}} {
		if _, err := certificate.NewIssued(certificate.Options{Policy: p}); err == nil {
			t.Errorf("%+v is a policy", p)
		}
	}
}
