// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package authority signs certificates for tests of TLS. They hold for an hour. Enter at New.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs certificates, and ends the test when it cannot.
type Authority struct {
	// PEM is its own certificate.
	PEM []byte

	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New is an authority that nobody trusts yet.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.key = a.newKey()
	a.certificate = &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw := a.sign(a.certificate, a.key)
	var err error
	if a.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.PEM = block("CERTIFICATE", raw)
	return a
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue makes a certificate and its key, both in PEM: for servers on this machine, and for clients, with a name in its subject. Servers may be known by
// other hosts' names, too.
func (a *Authority) Issue(name string, hosts ...string) (certificate, key []byte) {
	a.t.Helper()
	own := a.newKey()
	signed := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: append(hosts, "localhost"), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, own)
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	return block("CERTIFICATE", signed), block("PRIVATE KEY", raw)
}

// Pair is what Issue makes, as Go wants it.
func (a *Authority) Pair(name string, hosts ...string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(name, hosts...))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(certificate *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	now := time.Now()
	certificate.SerialNumber, certificate.NotBefore, certificate.NotAfter = big.NewInt(now.UnixNano()), now.Add(-time.Hour), now.Add(time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return raw
}

func block(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
