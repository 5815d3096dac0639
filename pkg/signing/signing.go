// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package signing creates and signs certificates with new P-256 keys. RSA keys would take more than half a second for a
// CA and a server. Callers provide the template with names and times. Start reading at New.
package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// Pair is a certificate with its private key.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// New returns a new key with a certificate from the template, signed by signer. A nil signer makes it self-signed. If
// the template has no serial number, New chooses 127 random bits. It fails for templates that crypto/x509 rejects.
func New(template *x509.Certificate, signer *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	unsigned := *template
	if unsigned.SerialNumber == nil {
		if unsigned.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
			return nil, fmt.Errorf("making a serial number: %w", err)
		}
	}
	if signer == nil {
		signer = &Pair{&unsigned, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &unsigned, signer.Certificate, key.Public(), signer.Key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate that was signed: %w", err)
	}
	return &Pair{made, key}, nil
}

// TLS returns the pair for crypto/tls.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key, Leaf: p.Certificate}
}

// KeyPEM returns the key as PKCS #8 in PEM. It fails if the key cannot be encoded.
func (p *Pair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// MarshalText returns the certificate and its key in PEM. It fails if the key cannot be encoded.
func (p *Pair) MarshalText() ([]byte, error) {
	key, err := p.KeyPEM()
	return append(PEM(p.Certificate), key...), err
}

// UnmarshalText reads a certificate and its ECDSA key in PEM. It fails if the two do not belong together, or the key is
// of another type.
func (p *Pair) UnmarshalText(text []byte) error {
	parsed, err := tls.X509KeyPair(text, text)
	if err != nil {
		return err
	}
	key, ok := parsed.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return errors.New("the key must be an ECDSA key")
	}
	p.Certificate, p.Key = parsed.Leaf, key
	return nil
}

// TypeCertificate is the type of blocks in PEM that are certificates.
const TypeCertificate = "CERTIFICATE"

// PEM is a certificate in PEM.
func PEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: TypeCertificate, Bytes: c.Raw})
}

// Certificates returns the certificates of a PEM bundle. It ignores other blocks, and those that cannot be read.
func Certificates(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if parsed, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == TypeCertificate {
			all = append(all, parsed)
		}
	}
	return all
}
