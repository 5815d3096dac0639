// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// sign makes a certificate that holds from one hour to another; a nil signer signs itself.
func sign(t *testing.T, signer *signing.Pair, name string, from, to int) *signing.Pair {
	t.Helper()
	hour := func(n int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
	}
	made, err := signing.New(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: hour(from), NotAfter: hour(to),
		IsCA: name != "leaf", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"a.example.com"},
	}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestCertificateExpiresWithItsAuthority checks that a certificate that outlives its CA expires with it, and that their validities must overlap.
func TestCertificateExpiresWithItsAuthority(t *testing.T) {
	root, late := sign(t, nil, "root", 0, 100), sign(t, nil, "late", 300, 400)
	short, ended := sign(t, root, "short", 0, 20), sign(t, root, "ended", 0, 5)
	for name, c := range map[string]struct {
		chain []*signing.Pair // the certificate first, and its authority last
		ends  *signing.Pair
	}{
		"the first that ends is the certificate":    {[]*signing.Pair{sign(t, root, "leaf", 0, 50), root}, nil},
		"it outlives its authority":                 {[]*signing.Pair{sign(t, root, "leaf", 10, 200), root}, root},
		"it outlives the intermediate CA":           {[]*signing.Pair{sign(t, short, "leaf", 10, 50), short, root}, short},
		"the intermediate CA expired before it":     {[]*signing.Pair{sign(t, ended, "leaf", 10, 50), ended, root}, late},
		"its authority is valid only after its end": {[]*signing.Pair{sign(t, late, "leaf", 0, 200), late}, late},
		"another authority signed it":               {[]*signing.Pair{sign(t, root, "leaf", 0, 50), late}, late},
	} {
		t.Run(name, func(t *testing.T) {
			folder, leaf, authority := t.TempDir(), c.chain[0], c.chain[len(c.chain)-1]
			key, err := leaf.KeyPEM()
			if err != nil {
				t.Fatal(err)
			}
			var served []byte
			for _, s := range c.chain[:len(c.chain)-1] {
				served = append(served, signing.PEM(s.Certificate)...)
			}
			for file, data := range map[string][]byte{
				"tls.crt": served, "tls.key": key,
				"ca.crt": signing.PEM(authority.Certificate),
			} {
				if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files := certificate.NewFiles(certificate.FilesOptions{
				CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"), CAFile: filepath.Join(folder, "ca.crt"),
				Clock: clocktesting.NewFakePassiveClock(leaf.Certificate.NotBefore.Add(time.Hour)), Log: logr.Discard(),
			})
			err = files.Refresh(t.Context())
			if c.ends == late {
				if err == nil {
					t.Error("an incomplete chain is served, want an error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ends := leaf.Certificate.NotAfter
			if c.ends != nil {
				ends = c.ends.Certificate.NotAfter
			}
			if held := files.Held(); !held.Ends.Equal(ends) || !held.AuthorityEnds.Equal(root.Certificate.NotAfter) || !held.Covers(held.Bundle) {
				t.Errorf("unexpected expiry of the certificate %s or its CA %s", held.Ends, held.AuthorityEnds)
			}
		})
	}
}
