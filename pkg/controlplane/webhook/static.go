// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates that are made at the start are good from a while ago, so that clocks may differ, and for as long as no program runs.
const (
	staticBefore = 5 * time.Minute
	staticAfter  = 10 * 365 * 24 * time.Hour
)

// writeStatic makes a CA and a certificate of it for the host that is called, writes the latter to the folder where the webhook server finds it, and returns
// the former. Nobody keeps the CA's key. The keys are on P-256, which take no time: two of RSA, as Gardener's library makes them, take half a second and more,
// before which the program cannot be ready.
func writeStatic(folder, host string, now time.Time) ([]byte, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host + " CA"}, NotBefore: now.Add(-staticBefore), NotAfter: now.Add(staticAfter),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if address := net.ParseIP(host); address != nil {
		server.IPAddresses = []net.IP{address}
	} else {
		server.DNSNames = []string{host}
	}
	bundle, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	if authority, err = x509.ParseCertificate(bundle); err != nil {
		return nil, err
	}
	served, err := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of the certificate: %w", err)
	}
	// The webhook server reads both when the certificate changes.
	for _, file := range []struct {
		path  string
		block pem.Block
	}{
		{filepath.Join(folder, "tls.key"), pem.Block{Type: "PRIVATE KEY", Bytes: key}},
		{CertificateFile(folder), pem.Block{Type: certificateBlock, Bytes: served}},
	} {
		if err := replaceFile(file.path, pem.EncodeToMemory(&file.block)); err != nil {
			return nil, fmt.Errorf("writing the certificate: %w", err)
		}
	}
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: bundle}), nil
}

const certificateBlock = "CERTIFICATE"

// replaceFile writes a file that is there as a whole or not at all, and that nobody else can read.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with the mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
