// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package signing makes certificates with keys of their own, and signs them. All keys are on P-256, which take no time: two of RSA take half a second and more.
// What a certificate says is its caller's; nothing here knows a clock, files or clusters. Enter at New.
package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
)

// Pair is a certificate, and the key that belongs to it.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// New makes a key and a certificate of it that says what the template does, signed by another one; nil: it signs itself, as authorities do. Without a serial
// number in the template it gets one of 127 random bits.
func New(template *x509.Certificate, signer *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	its := *template
	if its.SerialNumber == nil {
		if its.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
			return nil, fmt.Errorf("making a serial number: %w", err)
		}
	}
	if signer == nil {
		signer = &Pair{&its, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &its, signer.Certificate, key.Public(), signer.Key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate that was signed: %w", err)
	}
	return &Pair{made, key}, nil
}

// TLS is the pair as servers and clients want it.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key, Leaf: p.Certificate}
}

// KeyPEM is the key in PEM, as PKCS #8.
func (p *Pair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// TypeCertificate is the type of blocks in PEM that are certificates.
const TypeCertificate = "CERTIFICATE"

// PEM is a certificate in PEM.
func PEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: TypeCertificate, Bytes: c.Raw})
}
