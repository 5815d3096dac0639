// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// FilesOptions configure a Files.
type FilesOptions struct {
	// CertFile and KeyFile contain the certificate to serve, CAFile the authorities that callers must trust.
	// CAFile is empty if callers trust them already.
	CertFile, KeyFile, CAFile string
	// Told states that Registered reports the callers' authorities. A certificate of a new authority is then
	// served only after callers have trusted it for Overlap.
	Told    bool
	Overlap time.Duration
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Files is a Source of files that another program, such as cert-manager, writes.
type Files struct {
	FilesOptions
	current atomic.Pointer[Held]

	// mutex guards the fields below.
	mutex sync.Mutex
	files serving.CertificateFiles
	// next waits until callers trust it; nil if there is none.
	next *Held
	// registered holds the authorities that callers trust, and since the start of each, as this replica saw it, by the
	// certificate's bytes.
	registered []*x509.Certificate
	since      map[string]time.Time
}

// NewFiles returns an empty source. Call Refresh to read the files.
func NewFiles(o FilesOptions) *Files {
	return &Files{FilesOptions: o, files: serving.CertificateFiles{CertFile: o.CertFile, KeyFile: o.KeyFile, CAFile: o.CAFile}}
}

// Held implements Source.
func (f *Files) Held() *Held { return f.current.Load() }

// Refresh implements Source.
func (f *Files) Refresh(context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.read(); err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	if f.next != nil {
		f.serveNext()
	}
	f.widen()
	return nil
}

// read reads the files. New content becomes next. It fails if the certificate is not signed by an authority in CAFile.
func (f *Files) read() error {
	return f.files.Load(func(pair tls.Certificate, authorities []byte) error {
		h := &Held{Certificate: &pair, Ends: pair.Leaf.NotAfter}
		if f.CAFile != "" {
			h.authorities = signing.Certificates(authorities)
			chain := chainOf(&pair, h.authorities)
			if chain == nil {
				return errors.New("the certificate is not signed by an authority in the CA file")
			}
			h.Bundle, h.AuthorityEnds = united(h.authorities...), chain[len(chain)-1].NotAfter
			for _, c := range chain { // callers reject the chain after the earliest expiry in it
				h.Ends = slices.MinFunc([]time.Time{h.Ends, c.NotAfter}, time.Time.Compare)
			}
		}
		f.next = h
		return nil
	})
}

// widen adds to the bundle the authorities of next, of current, and those that other replicas may still use: a
// replica that restarts reads the newest files only.
func (f *Files) widen() {
	now := f.current.Load()
	if now == nil || len(now.authorities) == 0 {
		return
	}
	all := slices.Clone(now.authorities)
	if f.next != nil {
		all = slices.Concat(f.next.authorities, all)
	}
	old := f.trusted(2 * f.Overlap)
	settled := signedBy(now.Certificate, old)
	for _, r := range f.registered {
		if f.Clock.Now().Before(r.NotAfter) && (!settled || !slices.ContainsFunc(old, r.Equal)) {
			all = append(all, r)
		}
	}
	bundle := united(all...)
	if bytes.Equal(bundle, now.Bundle) {
		return
	}
	wider := *now
	wider.Bundle = bundle
	f.current.Store(&wider)
}

// trusted returns the authorities that callers have trusted for at least the given time.
func (f *Files) trusted(long time.Duration) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(f.registered), func(c *x509.Certificate) bool {
		return f.Clock.Now().Before(f.since[string(c.Raw)].Add(long))
	})
}

// serveNext serves next if callers have trusted it for Overlap, or if there is no alternative.
func (f *Files) serveNext() {
	now := f.current.Load()
	if waits := now != nil && f.Told && len(f.next.authorities) > 0 && f.Clock.Now().Before(now.Ends); waits &&
		!signedBy(f.next.Certificate, f.trusted(f.Overlap)) {
		return
	}
	f.current.Store(f.next)
	f.Log.Info("Serving the certificate of the files", "ends", f.next.Ends)
	f.next = nil
}

// Registered implements Source.
func (f *Files) Registered(_ context.Context, bundle []byte) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	before := f.since
	f.registered, f.since = signing.Certificates(bundle), map[string]time.Time{}
	for _, c := range f.registered {
		f.since[string(c.Raw)] = cmp.Or(before[string(c.Raw)], f.Clock.Now())
	}
	f.widen()
	return nil
}
