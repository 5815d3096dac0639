// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// mounted is a folder as the kubelet mounts a Secret: a symbolic link is swapped.
type mounted struct {
	t      *testing.T
	folder string
	count  int
}

func (m *mounted) put(files map[string][]byte) {
	m.t.Helper()
	m.count++
	version := "..version" + string(rune('a'+m.count))
	if err := os.Mkdir(filepath.Join(m.folder, version), 0o700); err != nil {
		m.t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(m.folder, version, name), data, 0o600); err != nil {
			m.t.Fatal(err)
		}
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(m.folder, name)) // it is there from the second time on
	}
	if err := os.Symlink(version, filepath.Join(m.folder, "..new")); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(m.folder, "..new"), filepath.Join(m.folder, "..data")); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mounted) issue(a *env.Authority) {
	m.t.Helper()
	certificate, key := a.Issue("interpreter")
	m.put(map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": a.PEM})
}

func (m *mounted) source(told bool, clock *clocktesting.FakePassiveClock) *certificate.Files {
	return certificate.NewFiles(certificate.FilesOptions{
		CertFile: filepath.Join(m.folder, "tls.crt"), KeyFile: filepath.Join(m.folder, "tls.key"), CAFile: filepath.Join(m.folder, "ca.crt"),
		Told: told, Overlap: 10 * time.Minute, Clock: clock, Log: logr.Discard(),
	})
}

// TestFiles checks that a certificate of the same CA is served at once, that one of another CA waits until callers
// trust it, and that invalid files change nothing.
func TestFiles(t *testing.T) {
	m, clock := &mounted{t: t, folder: t.TempDir()}, clocktesting.NewFakePassiveClock(time.Now())
	old, young := env.NewAuthority(t), env.NewAuthority(t)
	f := m.source(true, clock)
	if err := f.Refresh(t.Context()); err == nil || f.Held() != nil {
		t.Fatalf("without files: want an error and no certificate, got %v", err)
	}
	step := func(served *env.Authority, bundle string) {
		t.Helper()
		if err := f.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if held := f.Held(); !held.Covers(served.PEM) || string(held.Bundle) != bundle {
			t.Errorf("another certificate is served, or the bundle has %d bytes, want %d", len(held.Bundle), len(bundle))
		}
	}
	tell := func(bundle []byte) {
		t.Helper()
		if err := f.Registered(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
	}
	m.issue(old)
	step(old, string(old.PEM))
	tell(old.PEM)
	clock.SetTime(clock.Now().Add(11 * time.Minute))
	first := f.Held().Certificate.Leaf
	m.issue(old)
	if step(old, string(old.PEM)); f.Held().Certificate.Leaf.Equal(first) {
		t.Error("a certificate of the registered CA is not served")
	}
	m.put(map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("x"), "ca.crt": young.PEM})
	if err := f.Refresh(t.Context()); err == nil || !f.Held().Covers(old.PEM) {
		t.Errorf("with a broken certificate: want an error and the earlier one served, got %v", err)
	}
	certificate, key := old.Issue("interpreter")
	m.put(map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": young.PEM})
	if err := f.Refresh(t.Context()); err == nil || !f.Held().Covers(old.PEM) {
		t.Errorf("with a certificate of another CA: want an error and the earlier one served, got %v", err)
	}
	m.issue(young)
	both := string(young.PEM) + string(old.PEM)
	step(old, both)
	clock.SetTime(clock.Now().Add(11 * time.Minute))
	step(old, both)
	tell([]byte(both))
	clock.SetTime(clock.Now().Add(9 * time.Minute))
	tell([]byte(both))
	step(old, both)
	clock.SetTime(clock.Now().Add(time.Minute))
	step(young, both)
	m.issue(old)
	step(old, string(old.PEM)+string(young.PEM))
}

// TestFilesWithoutRegistration checks that there is no wait without a registration, and that expired certificates are not served.
func TestFilesWithoutRegistration(t *testing.T) {
	for _, told := range []bool{false, true} {
		m, clock := &mounted{t: t, folder: t.TempDir()}, clocktesting.NewFakePassiveClock(time.Now())
		old, young := env.NewAuthority(t), env.NewAuthority(t)
		f := m.source(told, clock)
		m.issue(old)
		if err := f.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told {
			clock.SetTime(clock.Now().Add(2 * time.Hour))
		}
		m.issue(young)
		if err := f.Refresh(t.Context()); err != nil || !f.Held().Covers(young.PEM) {
			t.Errorf("registered %t: the new certificate is not served: %v", told, err)
		}
	}
}

// TestFilesRestart checks that a restarted leader keeps the CAs of the other replicas registered, and removes them in
// the end.
func TestFilesRestart(t *testing.T) {
	m, clock := &mounted{t: t, folder: t.TempDir()}, clocktesting.NewFakePassiveClock(time.Now())
	old, young := env.NewAuthority(t), env.NewAuthority(t)
	var registered []byte
	look := func(f *certificate.Files, leads bool) {
		t.Helper()
		if err := errors.Join(f.Refresh(t.Context()), f.Registered(t.Context(), registered)); err != nil {
			t.Fatal(err)
		}
		if leads {
			registered = f.Held().Bundle
		}
	}
	m.issue(old)
	leader, other := m.source(true, clock), m.source(true, clock)
	for range 12 {
		look(leader, true)
		look(other, false)
		clock.SetTime(clock.Now().Add(time.Minute))
	}
	m.issue(young)
	look(other, false)
	leader = m.source(true, clock)
	for minute := range 25 {
		look(leader, true)
		for name, f := range map[string]*certificate.Files{"the leader": leader, "the other one": other} {
			if !f.Held().Covers(registered) {
				t.Fatalf("after %d minutes callers do not trust %s", minute, name)
			}
		}
		look(other, false)
		clock.SetTime(clock.Now().Add(time.Minute))
	}
	if !other.Held().Covers(young.PEM) || !bytes.Equal(registered, young.PEM) {
		t.Errorf("the old CA is still registered: the bundle has %d bytes", len(registered))
	}
}

// TestFilesSigner checks that the registered CA is the signer, at any position in the file.
func TestFilesSigner(t *testing.T) {
	m, clock := &mounted{t: t, folder: t.TempDir()}, clocktesting.NewFakePassiveClock(time.Now())
	first, err := certificate.NewIssued(certificate.Options{
		Store: &certificate.Folder{Path: t.TempDir()}, Clock: clock, Log: logr.Discard(),
		Policy: certificate.Policy{DNSNames: []string{"localhost"}, Authority: 100 * time.Hour, Certificate: time.Hour, Overlap: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	signer := env.NewAuthority(t)
	cert, key := signer.Issue("interpreter")
	m.put(map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": append(first.Held().Bundle, signer.PEM...)})
	f := m.source(false, clock)
	if err := f.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ends := f.Held().AuthorityEnds; ends.After(time.Now().Add(2 * time.Hour)) {
		t.Errorf("the CA's expiry is %s, want the one of the serving chain", ends)
	}
}
