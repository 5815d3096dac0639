// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// served is the certificate that a program serves, for callers who trust the authorities of a file.
func (m *machine) served(t *testing.T, bundle string) *x509.Certificate {
	t.Helper()
	trusted, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	connection, err := tls.Dial("tcp", m.address(t, "Listening"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}

// TestSharedFolder checks that programs with different names on the same folder serve one certificate with all names,
// and that callers trust both programs at any time.
func TestSharedFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "certificate")
	bundle := filepath.Join(folder, "ca.crt")
	named := func(name string) *machine {
		m := newMachine(t, "--gardener=false", "--certificate-folder="+folder, "--dns-name="+name, "--ip-address=127.0.0.1")
		m.write(t, "config.yaml", "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ResourceInterpreterConfiguration\n"+
			"shutdown: {delay: 0s}\n")
		m.profile(t, "3")
		return m
	}
	one, two := named("one.example.com"), named("two.example.com")
	one.start(t)
	two.start(t)
	both := func() {
		t.Helper()
		for _, m := range []*machine{one, two} {
			if got := m.ask(t, bundle); got != `"replicas":3` {
				t.Error(got)
			}
		}
		one.Eventually(t, func() bool {
			a, b := one.served(t, bundle), two.served(t, bundle)
			return a.Equal(b) && slices.Contains(a.DNSNames, "one.example.com") && slices.Contains(a.DNSNames, "two.example.com")
		})
	}
	both()
	known := two.served(t, bundle)
	one.Stop(t)
	if got := two.ask(t, bundle); got != `"replicas":3` {
		t.Error(got)
	}
	one.start(t)
	if both(); !two.served(t, bundle).Equal(known) {
		t.Error("a restarted program does not serve the certificate of the folder")
	}
	one.Stop(t)
	two.Stop(t)
}
