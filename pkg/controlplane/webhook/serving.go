// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// Serving checks the webhook server as the API server sees it.
type Serving struct {
	// Address is host:port; an empty host means this machine.
	Address string
	// Name is the required name in the certificate.
	Name string
	// Bundle returns the CAs that must have signed the certificate.
	Bundle BundleReader
}

// Check opens a connection with the server name and the CAs of the registration.
func (s Serving) Check(ctx context.Context) error {
	bundle, err := s.Bundle.ReadBundle(ctx)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: s.Name, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("reaching the webhook server: %w", err)
	}
	return connection.Close()
}
