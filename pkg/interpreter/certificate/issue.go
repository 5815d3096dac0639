// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
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

// sign returns a new server certificate, which expires with the authority at the latest.
func sign(a *signing.Pair, now time.Time, validity time.Duration, n names) (*leaf, error) {
	end := now.Add(validity)
	if end.After(a.Certificate.NotAfter) {
		end = a.Certificate.NotAfter
	}
	made, err := signing.New(&x509.Certificate{
		Subject: pkix.Name{CommonName: "graft-resource-interpreter"}, NotBefore: now.Add(-backdated), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: n.dns, IPAddresses: n.addresses,
	}, a)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	encoded, err := encodeKey(made.Key)
	if err != nil {
		return nil, err
	}
	return parseLeaf(signing.PEM(made.Certificate), encoded)
}

// typeKey is the PEM type of private keys in a store.
const typeKey = "EC PRIVATE KEY"

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: typeKey, Bytes: der}), nil
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

// names are the names and addresses of a server.
type names struct {
	dns       []string
	addresses []net.IP
}

// namesOf returns the names in a certificate.
func namesOf(c *x509.Certificate) names { return names{c.DNSNames, c.IPAddresses} }

// and returns the union of both.
func (n names) and(others names) names {
	all := names{append([]string(nil), n.dns...), append([]net.IP(nil), n.addresses...)}
	for _, name := range others.dns {
		if !all.has(names{dns: []string{name}}) {
			all.dns = append(all.dns, name)
		}
	}
	for _, address := range others.addresses {
		if !all.has(names{addresses: []net.IP{address}}) {
			all.addresses = append(all.addresses, address)
		}
	}
	return all
}

// has reports whether all others are in n.
func (n names) has(others names) bool {
	for _, name := range others.dns {
		found := false
		for _, mine := range n.dns {
			found = found || mine == name
		}
		if !found {
			return false
		}
	}
	for _, address := range others.addresses {
		found := false
		for _, mine := range n.addresses {
			found = found || mine.Equal(address)
		}
		if !found {
			return false
		}
	}
	return true
}
