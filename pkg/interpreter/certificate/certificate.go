// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package certificate is where the certificate of the server comes from: files of somebody else, or what it issues itself and keeps in a store, a Secret or
// a folder. No certificate is served whose authority callers have not been told of, and none is forgotten that something served may be of: so no call
// fails while one follows another.
//
// It knows no callers, and is told what they know. The clock comes in. Enter at NewIssued and NewFiles.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Source has a certificate, and replaces it.
type Source interface {
	// Held is what it has now; nil: nothing yet.
	Held() *Held
	// Refresh looks whether something is to be replaced, and does so. With an error, what there is stays in force.
	Refresh(ctx context.Context) error
	// Registered tells it by which authorities callers know servers now.
	Registered(ctx context.Context, bundle []byte) error
}

// Held is what a source has at a moment. It does not change.
type Held struct {
	// Certificate is served.
	Certificate *tls.Certificate
	// Bundle are the authorities, in PEM, by which callers must know what is served now and what comes next. Empty: those of their machine will do.
	Bundle []byte
	// Ends is when the certificate does, or before it what has signed it, and AuthorityEnds when its authority does; zero where that is not known.
	Ends, AuthorityEnds time.Time
}

// errNone says that there is no certificate yet.
var errNone = errors.New("there is no certificate yet")

// Serve gives the certificate of a source to those who connect.
func Serve(s Source) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if held := s.Held(); held != nil {
			return held.Certificate, nil
		}
		return nil, errNone
	}
}

// Covers says whether callers that know these authorities know the certificate that is served.
func (h *Held) Covers(bundle []byte) bool {
	return len(h.Bundle) == 0 || signedBy(h.Certificate, parseAll(bundle))
}

// signedBy says whether a certificate leads to one of the authorities, whenever that is.
func signedBy(c *tls.Certificate, authorities []*x509.Certificate) bool {
	return chainOf(c, authorities) != nil
}

// chainOf is how a certificate leads to an authority, which is the last of it; nil: it leads to none. Those who issue files may let a certificate outlive what
// signed it, as cert-manager does: of several ways, it is one that holds longest.
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

// endOf is when the first of a chain ends, from when on callers refuse it.
func endOf(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// parseAll are the certificates of a bundle; what is none is left out.
func parseAll(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for {
		block, rest := pem.Decode(bundle)
		if block == nil {
			return all
		}
		if parsed, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == signing.TypeCertificate {
			all = append(all, parsed)
		}
		bundle = rest
	}
}

// united is a bundle of certificates, each once, in their order.
func united(all ...*x509.Certificate) []byte {
	var bundle bytes.Buffer
	for i, c := range all {
		if !contains(all[:i], c) {
			bundle.Write(signing.PEM(c))
		}
	}
	return bundle.Bytes()
}

func contains(all []*x509.Certificate, c *x509.Certificate) bool {
	for _, other := range all {
		if other.Equal(c) {
			return true
		}
	}
	return false
}
