// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// template is a certificate that holds around 2026.
func template(name string, authority bool) *x509.Certificate {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: start, NotAfter: start.Add(time.Hour), DNSNames: []string{name},
		IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if authority {
		c.KeyUsage |= x509.KeyUsageCertSign
	}
	return c
}

func made(t *testing.T, c *x509.Certificate, signer *Pair) *Pair {
	t.Helper()
	pair, err := New(c, signer)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestNew checks that a certificate has the values of its template and its own P-256 key, and is trusted by its signer
// only.
func TestNew(t *testing.T) {
	root, other := made(t, template("root", true), nil), made(t, template("root", true), nil)
	between := made(t, template("between", true), root)
	for name, c := range map[string]struct {
		pair  *Pair
		leads bool
	}{
		"signed by the root":           {made(t, template("leaf", false), root), true},
		"signed by an intermediate CA": {made(t, template("leaf", false), between), true},
		"the root itself":              {root, true},
		"signed by another CA":         {made(t, template("leaf", false), other), false},
		"without a signer":             {made(t, template("leaf", false), nil), false},
	} {
		roots, all := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(root.Certificate)
		all.AddCert(between.Certificate)
		its := c.pair.Certificate
		_, err := its.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: all, CurrentTime: its.NotAfter, DNSName: its.Subject.CommonName, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		if (err == nil) != c.leads {
			t.Errorf("%s: %v", name, err)
		}
		if c.pair.Key.Curve != elliptic.P256() || !c.pair.Key.PublicKey.Equal(its.PublicKey) {
			t.Errorf("%s: the certificate does not match its key", name)
		}
	}
	if root.Key.Equal(other.Key) || root.Certificate.SerialNumber.Cmp(other.Certificate.SerialNumber) == 0 {
		t.Error("two certificates share a key or a serial number")
	}
}

// TestSerialNumber checks that the serial number comes from the template, which stays unchanged.
func TestSerialNumber(t *testing.T) {
	c := template("a", true)
	if got := made(t, c, nil).Certificate.SerialNumber; got.Sign() <= 0 || got.BitLen() > 127 || c.SerialNumber != nil {
		t.Errorf("got the serial number %s; in the template is %s now", got, c.SerialNumber)
	}
	c.SerialNumber = big.NewInt(7)
	if got := made(t, c, nil).Certificate.SerialNumber; got.Cmp(c.SerialNumber) != 0 {
		t.Errorf("got the serial number %s, want that of the template", got)
	}
}

// TestPEM checks that a certificate and a key in PEM are read back unchanged.
func TestPEM(t *testing.T) {
	pair := made(t, template("a", false), nil)
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	read, err := tls.X509KeyPair(PEM(pair.Certificate), key)
	if err != nil {
		t.Fatal(err)
	}
	own := pair.TLS()
	same := read.Leaf.Equal(own.Leaf) && pair.Key.Equal(read.PrivateKey) && len(own.Certificate) == 1 && bytes.Equal(own.Certificate[0], read.Certificate[0])
	if !same {
		t.Error("the read pair differs from the written one")
	}
}

// TestForeignKey checks that a key that does not belong to the signer is rejected.
func TestForeignKey(t *testing.T) {
	one, two := made(t, template("one", true), nil), made(t, template("two", true), nil)
	if pair, err := New(template("leaf", false), &Pair{one.Certificate, two.Key}); err == nil {
		t.Errorf("got %s", pair.Certificate.Subject)
	}
}
