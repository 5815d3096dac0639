// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
)

// signer is a certificate with its key.
type signer struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// sign makes a certificate that holds from one hour to another; a nil signer signs itself.
func (s *signer) sign(t *testing.T, name string, from, to int) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	hour := func(n int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name}, NotBefore: hour(from), NotAfter: hour(to),
		IsCA: name != "leaf", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"a.example.com"},
	}
	parent, parentKey := template, key
	if s != nil {
		parent, parentKey = s.Certificate, s.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{made, key}
}

// TestOutlived holds that a certificate of files may outlive what signed it, ends with that, and must have lived beside it.
func TestOutlived(t *testing.T) {
	var nobody *signer
	root, late := nobody.sign(t, "root", 0, 100), nobody.sign(t, "late", 300, 400)
	short, ended := root.sign(t, "short", 0, 20), root.sign(t, "ended", 0, 5)
	for name, c := range map[string]struct {
		chain []*signer // the certificate first, and its authority last
		ends  *signer
	}{
		"the first that ends is the certificate":    {[]*signer{root.sign(t, "leaf", 0, 50), root}, nil},
		"it outlives its authority":                 {[]*signer{root.sign(t, "leaf", 10, 200), root}, root},
		"it outlives what is between":               {[]*signer{short.sign(t, "leaf", 10, 50), short, root}, short},
		"what is between had ended before it began": {[]*signer{ended.sign(t, "leaf", 10, 50), ended, root}, late},
		"its authority began when it had ended":     {[]*signer{late.sign(t, "leaf", 0, 200), late}, late},
		"it is of another authority":                {[]*signer{root.sign(t, "leaf", 0, 50), late}, late},
	} {
		t.Run(name, func(t *testing.T) {
			folder, leaf, authority := t.TempDir(), c.chain[0], c.chain[len(c.chain)-1]
			key, err := x509.MarshalECPrivateKey(leaf.key)
			if err != nil {
				t.Fatal(err)
			}
			var served []byte
			for _, s := range c.chain[:len(c.chain)-1] {
				served = append(served, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Raw})...)
			}
			for file, data := range map[string][]byte{
				"tls.crt": served, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}),
				"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}),
			} {
				if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files := certificate.NewFiles(certificate.FilesOptions{
				CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"), CAFile: filepath.Join(folder, "ca.crt"),
				Clock: clocktesting.NewFakePassiveClock(leaf.NotBefore.Add(time.Hour)), Log: logr.Discard(),
			})
			err = files.Refresh(t.Context())
			if c.ends == late {
				if err == nil {
					t.Error("it is served")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ends := leaf.NotAfter
			if c.ends != nil {
				ends = c.ends.NotAfter
			}
			if held := files.Held(); !held.Ends.Equal(ends) || !held.AuthorityEnds.Equal(root.NotAfter) || !held.Covers(held.Bundle) {
				t.Errorf("it ends at %s, and its authority at %s", held.Ends, held.AuthorityEnds)
			}
		})
	}
}
