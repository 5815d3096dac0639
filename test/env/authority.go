// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Authority is a certificate authority. It fails the test when it cannot sign.
type Authority struct {
	// PEM is the certificate of the authority.
	PEM []byte

	t    testing.TB
	pair *signing.Pair
}

// NewAuthority returns a new authority, valid for an hour.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.pair = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.PEM = signing.PEM(a.pair.Certificate)
	return a
}

// Pool returns a pool that contains only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.pair.Certificate)
	return pool
}

// Issue returns a certificate and its key in PEM, for servers on localhost and the given hosts, and for clients. The
// name becomes the common name.
func (a *Authority) Issue(name string, hosts ...string) (certificate, key []byte) {
	a.t.Helper()
	pair := a.issue(name, hosts)
	key, err := pair.KeyPEM()
	if err != nil {
		a.t.Fatal(err)
	}
	return signing.PEM(pair.Certificate), key
}

// Pair returns the certificate and key of Issue for crypto/tls.
func (a *Authority) Pair(name string, hosts ...string) tls.Certificate {
	a.t.Helper()
	return a.issue(name, hosts).TLS()
}

func (a *Authority) issue(name string, hosts []string) *signing.Pair {
	a.t.Helper()
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: append(hosts, "localhost"),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
	})
}

// sign returns a certificate that is valid for an hour. The first one, of the authority, is self-signed.
func (a *Authority) sign(template *x509.Certificate) *signing.Pair {
	a.t.Helper()
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
	pair, err := signing.New(template, a.pair)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}
