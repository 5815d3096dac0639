// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Certificates that are generated at start are valid from a short time ago, because clocks differ, and for
// longer than any program runs.
const (
	staticBefore = 5 * time.Minute
	staticAfter  = 10 * 365 * 24 * time.Hour
)

// writeStatic generates a CA and a certificate for a host, writes the certificate to the webhook server's
// folder, and returns the CA's certificate. It does not keep the CA's key.
func writeStatic(folder, host string, now time.Time) ([]byte, error) {
	authority, err := signing.New(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host + " CA"}, NotBefore: now.Add(-staticBefore), NotAfter: now.Add(staticAfter),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: authority.Certificate.NotBefore, NotAfter: authority.Certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if address := net.ParseIP(host); address != nil {
		template.IPAddresses = []net.IP{address}
	} else {
		template.DNSNames = []string{host}
	}
	server, err := signing.New(template, authority)
	if err != nil {
		return nil, err
	}
	key, err := server.KeyPEM()
	if err != nil {
		return nil, err
	}
	if err := writePair(folder, key, signing.PEM(server.Certificate)); err != nil {
		return nil, err
	}
	return signing.PEM(authority.Certificate), nil
}

// writePair writes a key and its certificate to the folder of the webhook server.
func writePair(folder string, key, certificate []byte) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("making the folder of the certificate: %w", err)
	}
	// The webhook server reads both files when the certificate changes.
	for _, file := range []struct {
		path    string
		content []byte
	}{
		{filepath.Join(folder, "tls.key"), key},
		{CertificateFile(folder), certificate},
	} {
		if err := replaceFile(file.path, file.content); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
	}
	return nil
}

// replaceFile writes a file atomically, readable by its owner only.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
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
