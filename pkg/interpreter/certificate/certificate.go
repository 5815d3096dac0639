// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package certificate provides the server's TLS certificate: from files that another program writes, or issued
// by the server itself and kept in a Store (a Secret or a folder). A Source serves a certificate only after
// callers know its authority, and keeps an authority in the bundle as long as a replica may serve a certificate
// of it. So no call fails during a rotation.
//
// The package does not know the callers; Registered tells it which authorities they trust. The clock is an
// option. Start reading at NewIssued and NewFiles.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Source provides a certificate and rotates it.
type Source interface {
	// Held returns the current certificate, or nil if there is none yet.
	Held() *Held
	// Refresh makes all rotations that are due. After an error, the current certificate stays in use.
	Refresh(ctx context.Context) error
	// Registered tells the source which authorities callers trust now.
	Registered(ctx context.Context, bundle []byte) error
}

// Held is the immutable state of a source.
type Held struct {
	// Certificate is the certificate to serve.
	Certificate *tls.Certificate
	// Bundle contains the authorities, in PEM, that callers must trust for the current and the next
	// certificate. Empty means the system's authorities.
	Bundle []byte
	// Ends is the expiry of the certificate, or of the first authority in its chain if that is earlier.
	// AuthorityEnds is the expiry of its authority. Zero means unknown.
	Ends, AuthorityEnds time.Time
	// authorities are the certificates of a CA file. state belongs to an issued certificate.
	authorities []*x509.Certificate
	state       *state
}

// Serve returns a tls.Config.GetCertificate for a source.
func Serve(s Source) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if held := s.Held(); held != nil {
			return held.Certificate, nil
		}
		return nil, errors.New("there is no certificate yet")
	}
}

// Covers reports whether callers that trust bundle accept the certificate.
func (h *Held) Covers(bundle []byte) bool {
	return len(h.Bundle) == 0 || signedBy(h.Certificate, signing.Certificates(bundle))
}

// signedBy reports whether one of the authorities signed the certificate, at any time.
func signedBy(c *tls.Certificate, authorities []*x509.Certificate) bool {
	return chainOf(c, authorities) != nil
}

// chainOf returns the chain from a certificate to an authority, or nil if there is none. Issuers such as
// cert-manager may let a certificate outlive its authority; of several chains, chainOf returns one with the
// latest expiry.
func chainOf(c *tls.Certificate, authorities []*x509.Certificate) []*x509.Certificate {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	ends := []time.Time{c.Leaf.NotAfter}
	for _, a := range authorities {
		roots.AddCert(a)
		ends = append(ends, a.NotAfter)
	}
	for _, der := range c.Certificate[1:] {
		if parsed, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(parsed)
			ends = append(ends, parsed.NotAfter)
		}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	for _, end := range ends {
		chains, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: end.Add(-time.Second)})
		if err == nil {
			return chains[0]
		}
	}
	return nil
}

// united returns a PEM bundle of the certificates without duplicates, in order.
func united(all ...*x509.Certificate) []byte {
	var bundle bytes.Buffer
	for i, c := range all {
		if !slices.ContainsFunc(all[:i], c.Equal) {
			bundle.Write(signing.PEM(c))
		}
	}
	return bundle.Bytes()
}

// Keep refreshes a source periodically until the context ends. It logs a failure if its text differs from the
// one before, and registers metrics.
func Keep(ctx context.Context, s Source, every time.Duration, registry prometheus.Registerer, log logr.Logger) {
	failing := serving.NewGauge(registry, "graft_interpreter_certificate_failed",
		"1 if the last refresh of the certificate failed; the previous certificate stays in use.")
	failures := serving.NewCounter(registry, "graft_interpreter_certificate_failures_total", "Failed refreshes of the certificate.")
	expiry := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "graft_interpreter_certificate_expiry_timestamp_seconds",
		Help: "Expiry time of the certificate in use (serving) and of its authority (authority).",
	}, []string{"certificate"})
	registry.MustRegister(expiry)
	problem := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := s.Refresh(ctx)
		if held := s.Held(); held != nil {
			for name, end := range map[string]time.Time{"serving": held.Ends, "authority": held.AuthorityEnds} {
				expiry.DeleteLabelValues(name)
				if !end.IsZero() {
					expiry.WithLabelValues(name).Set(float64(end.Unix()))
				}
			}
		}
		switch {
		case ctx.Err() != nil:
		case err == nil:
			problem = ""
			failing.Set(0)
		default:
			failing.Set(1)
			failures.Inc()
			if err.Error() != problem {
				problem = err.Error()
				log.Error(err, "Refreshing the certificate failed; the previous certificate stays in use")
			}
		}
	}, every)
}
