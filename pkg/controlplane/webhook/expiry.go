// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// Expiry is a collector for the expiry of the webhook server's certificate and of the CA that signed it.
type Expiry struct {
	// File is the certificate file of the webhook server, which reads it again when it changes.
	File string
	// Bundle returns the CAs that the API server trusts.
	Bundle BundleReader
}

// CertificateFile returns the path of the webhook server's certificate in a folder.
func CertificateFile(folder string) string { return filepath.Join(folder, "tls.crt") }

var descExpiry = prometheus.NewDesc("graft_certificate_expiry_timestamp_seconds",
	"When the certificate of the webhook server ends (serving), and when the registered CA does that has signed it (authority); none where there is no such CA.",
	[]string{"certificate"}, nil)

// bundleTimeout limits reading the CAs for metrics; they come from a cache.
const bundleTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (e Expiry) Describe(to chan<- *prometheus.Desc) { to <- descExpiry }

// Collect implements prometheus.Collector. It exports no series for unreadable certificates, which triggers an
// alert; readiness reports the reason.
func (e Expiry) Collect(to chan<- prometheus.Metric) {
	raw, err := disk.ReadFile(e.File, disk.CertificateSize)
	if err != nil {
		return
	}
	served, _ := nextCertificate(raw)
	if served == nil {
		return
	}
	tell := func(name string, c *x509.Certificate) {
		to <- prometheus.MustNewConstMetric(descExpiry, prometheus.GaugeValue, float64(c.NotAfter.Unix()), name)
	}
	tell("serving", served)
	ctx, cancel := context.WithTimeout(context.Background(), bundleTimeout)
	defer cancel()
	if authority, err := e.authority(ctx, served); err == nil && authority != nil {
		tell("authority", authority)
	}
}

// authority returns the CA in the bundle that signed a certificate, or nil. It fails if the bundle cannot be
// read.
func (e Expiry) authority(ctx context.Context, served *x509.Certificate) (*x509.Certificate, error) {
	bundle, err := e.Bundle.ReadBundle(ctx)
	if err != nil {
		return nil, err
	}
	for authority, rest := nextCertificate(bundle); authority != nil; authority, rest = nextCertificate(rest) {
		if served.CheckSignatureFrom(authority) == nil {
			return authority, nil
		}
	}
	return nil, nil
}

// Check returns an error if the certificate or its CA has expired, is not yet valid, or is no longer trusted,
// for instance after a jump of the clock or a long suspension. Gardener's library renews it within minutes, but
// a restart does at once, and no caller trusts the current certificate anyway. Check does not fail if the
// context ends before the CAs were read.
func (e Expiry) Check(ctx context.Context, now time.Time) error {
	raw, err := disk.ReadFile(e.File, disk.CertificateSize)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	served, _ := nextCertificate(raw)
	if served == nil {
		return nil
	}
	if err := holds("certificate", served, now); err != nil {
		return err
	}
	switch authority, err := e.authority(ctx, served); {
	case err != nil:
		return nil //nolint:nilerr // readiness reports it, and a restart does not help
	case authority == nil:
		return errors.New("the certificate of the webhook server is of none of the CAs that the API server is to trust")
	default:
		return holds("CA", authority, now)
	}
}

// holds returns an error if a certificate is not valid at a time.
func holds(what string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the %s of the webhook server has ended at %s", what, c.NotAfter.Format(time.RFC3339))
	case now.Add(skew).Before(c.NotBefore):
		return fmt.Errorf("the %s of the webhook server begins at %s only: the clock was set back", what, c.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// nextCertificate returns the first certificate in PEM and the rest, or nil if there is none.
func nextCertificate(raw []byte) (*x509.Certificate, []byte) {
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			return nil, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			return c, raw
		}
	}
}
