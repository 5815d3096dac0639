// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
)

// authority makes a CA that lasts so long.
func authority(t *testing.T, lasts time.Duration) *secretsutils.Certificate {
	t.Helper()
	ca, err := (&secretsutils.CertificateSecretConfig{
		Name: "ca", CommonName: "ca", CertType: secretsutils.CACert, Validity: &lasts,
	}).GenerateCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestExpiry(t *testing.T) {
	old, current := authority(t, 24*time.Hour), authority(t, 72*time.Hour)
	lasts := 48 * time.Hour
	served, err := (&secretsutils.CertificateSecretConfig{
		Name: "server", CommonName: "server", CertType: secretsutils.ServerCert, SigningCA: current, Validity: &lasts,
	}).GenerateCertificate()
	if err != nil {
		t.Fatal(err)
	}
	ends := func(c *secretsutils.Certificate) float64 { return float64(c.Certificate.NotAfter.Unix()) }
	both := append(append([]byte{}, old.CertificatePEM...), current.CertificatePEM...)
	for name, test := range map[string]struct {
		file   []byte
		bundle staticBundle
		want   map[string]float64
	}{
		"a certificate and its CA":         {served.CertificatePEM, both, map[string]float64{"serving": ends(served), "authority": ends(current)}},
		"the key before the certificate":   {append(append([]byte{}, served.PrivateKeyPEM...), served.CertificatePEM...), nil, map[string]float64{"serving": ends(served)}},
		"a CA that is not registered":      {served.CertificatePEM, old.CertificatePEM, map[string]float64{"serving": ends(served)}},
		"a bundle that cannot be read yet": {served.CertificatePEM, nil, map[string]float64{"serving": ends(served)}},
		"no certificate in the file":       {[]byte("none"), both, map[string]float64{}},
		"reports nothing without a file":   {nil, both, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := Expiry{File: CertificateFile(t.TempDir()), Bundle: test.bundle}
			if test.file != nil {
				if err := os.WriteFile(e.File, test.file, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(e)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, family := range families {
				for _, metric := range family.GetMetric() {
					got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestExpiredCertificatesAreReported checks that exactly certificates that are expired, or have an expired CA, are reported.
func TestExpiredCertificatesAreReported(t *testing.T) {
	ca, lasts := authority(t, time.Hour), 2*time.Hour
	served, err := (&secretsutils.CertificateSecretConfig{
		Name: "server", CommonName: "server", CertType: secretsutils.ServerCert, SigningCA: ca, Validity: &lasts,
	}).GenerateCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file   []byte
		bundle BundleReader
		after  time.Duration
		want   string
	}{
		"it is valid":                  {file: ca.CertificatePEM, after: 59 * time.Minute},
		"it is expired":                {file: ca.CertificatePEM, after: 61 * time.Minute, want: "the certificate of the webhook server expired"},
		"it is not valid yet":          {file: ca.CertificatePEM, after: -time.Hour, want: "is not valid before"},
		"the clock is a little behind": {file: ca.CertificatePEM, after: -skew},
		"its CA is valid":              {file: served.CertificatePEM, bundle: staticBundle(ca.CertificatePEM), after: 59 * time.Minute},
		"its CA is expired": {
			file: served.CertificatePEM, bundle: staticBundle(ca.CertificatePEM), after: 61 * time.Minute, want: "the CA of the webhook server expired",
		},
		"a CA that cannot be read":             {file: served.CertificatePEM, bundle: staticBundle(nil), after: 61 * time.Minute},
		"ignores a file without a certificate": {file: []byte("none")}, // which the server does not start with
		"reports a certificate of another CA":  {file: served.CertificatePEM, bundle: staticBundle(authority(t, time.Hour).CertificatePEM), want: "no CA of the registration"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Expiry{File: CertificateFile(t.TempDir()), Bundle: test.bundle}
			if e.Bundle == nil {
				e.Bundle = staticBundle(nil)
			}
			if e.Check(t.Context(), time.Now()) == nil {
				t.Error("the check passes without a certificate file, want an error")
			}
			if err := os.WriteFile(e.File, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			err := e.Check(t.Context(), time.Now().Add(test.after))
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the check says %v, want %q", err, test.want)
			}
		})
	}
}

// cachedBundle is read as long as the context lasts.
type cachedBundle []byte

func (b cachedBundle) ReadBundle(ctx context.Context) ([]byte, error) { return b, ctx.Err() }

// TestExpiryCheckStopsAtDeadline checks that reading the CAs stops at the caller's deadline without failing the check, and that an
// expired certificate is still reported.
func TestExpiryCheckStopsAtDeadline(t *testing.T) {
	e := Expiry{File: CertificateFile(t.TempDir()), Bundle: cachedBundle(authority(t, time.Hour).CertificatePEM)}
	if err := os.WriteFile(e.File, authority(t, time.Hour).CertificatePEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if e.Check(t.Context(), time.Now()) == nil {
		t.Error("the check passes with another CA, want an error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Check(ended, time.Now()); err != nil {
		t.Errorf("the check fails: %v", err)
	}
	if e.Check(ended, time.Now().Add(2*time.Hour)) == nil {
		t.Error("the check passes with an expired certificate, want an error")
	}
}
