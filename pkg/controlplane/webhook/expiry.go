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

// Expiry tells, when it is asked, when the certificate ends that the webhook server serves, and when the CA does that has signed it.
type Expiry struct {
	// File is what the webhook server serves; it reads it again when it changes.
	File string
	// Bundle has the CAs that the API server trusts.
	Bundle BundleReader
}

// CertificateFile is where the webhook server finds its certificate in a folder.
func CertificateFile(folder string) string { return filepath.Join(folder, "tls.crt") }

var descExpiry = prometheus.NewDesc("graft_certificate_expiry_timestamp_seconds",
	"When the certificate of the webhook server ends (serving), and when the registered CA does that has signed it (authority); none where there is no such CA.",
	[]string{"certificate"}, nil)

// bundleTimeout bounds the reading of CAs for metrics; they come from a cache.
const bundleTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (e Expiry) Describe(to chan<- *prometheus.Desc) { to <- descExpiry }

// Collect implements prometheus.Collector. What cannot be read has no series, which an alert sees; readiness says why.
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

// authority is the CA that has signed a certificate; nil where it is none of the bundle. The error says that the bundle cannot be read.
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

// Check fails when the certificate does not hold, or the CA that has signed it, which ends long before, or is trusted no more: as after a clock has
// jumped, or a machine was off for weeks. Gardener's library fetches the next one within minutes; a program that is started again has it at once, and
// has nothing to lose: nobody who calls trusts it. Where the context ends before the CAs are read, nobody can tell, and it does not fail.
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
		return nil //nolint:nilerr // readiness says so, and a restart would not help
	case authority == nil:
		return errors.New("the certificate of the webhook server is of none of the CAs that the API server is to trust")
	default:
		return holds("CA", authority, now)
	}
}

// holds says what is wrong with the time of a certificate.
func holds(what string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the %s of the webhook server has ended at %s", what, c.NotAfter.Format(time.RFC3339))
	case now.Add(skew).Before(c.NotBefore):
		return fmt.Errorf("the %s of the webhook server begins at %s only: the clock was set back", what, c.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// nextCertificate is the first certificate in PEM, and what follows it; nil where there is none.
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
