// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package authority signs certificates for tests of TLS. They hold for an hour. Enter at New.
package authority

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Authority signs certificates, and ends the test when it cannot.
type Authority struct {
	// PEM is its own certificate.
	PEM []byte

	t    testing.TB
	pair *signing.Pair
}

// New is an authority that nobody trusts yet.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.pair = a.make(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.PEM = signing.PEM(a.pair.Certificate)
	return a
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.pair.Certificate)
	return pool
}

// Issue makes a certificate and its key, both in PEM: for servers on this machine, and for clients, with a name in its subject. Servers may be known by
// other hosts' names, too.
func (a *Authority) Issue(name string, hosts ...string) (certificate, key []byte) {
	a.t.Helper()
	made := a.issue(name, hosts)
	key, err := made.KeyPEM()
	if err != nil {
		a.t.Fatal(err)
	}
	return signing.PEM(made.Certificate), key
}

// Pair is what Issue makes, as Go wants it.
func (a *Authority) Pair(name string, hosts ...string) tls.Certificate {
	a.t.Helper()
	return a.issue(name, hosts).TLS()
}

func (a *Authority) issue(name string, hosts []string) *signing.Pair {
	a.t.Helper()
	return a.make(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: append(hosts, "localhost"), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// make signs what holds for an hour; the first is its own.
func (a *Authority) make(template *x509.Certificate) *signing.Pair {
	a.t.Helper()
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
	made, err := signing.New(template, a.pair)
	if err != nil {
		a.t.Fatal(err)
	}
	return made
}
