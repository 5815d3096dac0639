// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// backdated is subtracted from the begin of certificates, for callers whose clocks are behind.
const backdated = time.Hour

// newAuthority returns a new CA certificate with its key.
func newAuthority(now time.Time, validity time.Duration) (*signing.Pair, error) {
	made, err := signing.New(&x509.Certificate{
		Subject:   pkix.Name{CommonName: "graft-resource-interpreter " + now.UTC().Format(time.RFC3339)},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	return made, nil
}

// sign returns a new certificate for DNS names and IP addresses, which expires with the authority at the latest.
func sign(a *signing.Pair, now time.Time, validity time.Duration, names []string) (*leaf, error) {
	end := now.Add(validity)
	if end.After(a.Certificate.NotAfter) {
		end = a.Certificate.NotAfter
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "graft-resource-interpreter"}, NotBefore: now.Add(-backdated), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if address := net.ParseIP(name); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	made, err := signing.New(template, a)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	key, err := made.KeyPEM()
	if err != nil {
		return nil, err
	}
	return parseLeaf(signing.PEM(made.Certificate), key)
}

// parseAuthority parses a CA certificate with its key.
func parseAuthority(certificate, key []byte) (*signing.Pair, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	signer, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("the certificate must be a CA with an ECDSA key")
	}
	return &signing.Pair{Certificate: pair.Leaf, Key: signer}, nil
}

// leaf is a server certificate, parsed and in PEM.
type leaf struct {
	pair             *tls.Certificate
	certificate, key []byte
}

func parseLeaf(certificate, key []byte) (*leaf, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return &leaf{&pair, certificate, key}, nil
}

// namesOf returns the DNS names and the IP addresses in a certificate.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, address := range c.IPAddresses {
		names = append(names, address.String())
	}
	return names
}

// union returns all names once.
func union(names, more []string) []string {
	all := slices.Clone(names)
	for _, name := range more {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
