// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// FilesOptions are those of a Files.
type FilesOptions struct {
	// CertFile and KeyFile are what is served, and CAFile what callers must know; empty: they know it.
	CertFile, KeyFile, CAFile string
	// Told says that Registered tells what callers know: a certificate of an authority that is new to them waits, for Overlap longer than that.
	Told    bool
	Overlap time.Duration
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Files is a Source of files that somebody else writes, such as cert-manager.
type Files struct {
	FilesOptions
	current atomic.Pointer[Held]

	// mutex guards what follows.
	mutex sync.Mutex
	tried watch.Digest
	// next is what waits; nil: nothing does.
	next *Held
	// own and coming are the authorities in the file beside what is served, and beside what waits.
	own, coming []*x509.Certificate
	// known are the authorities by which callers know servers, and those of what other replicas may still serve.
	known []knownAuthority
}

// knownAuthority is one that was registered, or in the file, once.
type knownAuthority struct {
	certificate *x509.Certificate
	// seen is when this replica learned of it, and since is for how long it has been registered; zero: it is not.
	seen, since time.Time
}

// NewFiles begins with nothing: Refresh reads the files.
func NewFiles(o FilesOptions) *Files { return &Files{FilesOptions: o} }

// Held implements Source.
func (f *Files) Held() *Held { return f.current.Load() }

// Refresh implements Source.
func (f *Files) Refresh(context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.read(); err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	if f.next != nil && f.mayServe() {
		f.adopt()
	}
	f.widen()
	return nil
}

// read reads the files, and makes what is new wait.
func (f *Files) read() error {
	var files []source.File
	for _, name := range []string{f.CertFile, f.KeyFile, f.CAFile} {
		if name == "" {
			continue
		}
		data, err := disk.ReadFile(name, disk.CertificateSize)
		if err != nil {
			return err
		}
		files = append(files, source.File{Name: name, Data: data})
	}
	sum := watch.DigestOf(files)
	if sum == f.tried {
		return nil
	}
	next, authorities, err := held(files)
	if err != nil {
		return err // and read again, as another file may be right soon
	}
	f.tried, f.next, f.coming = sum, next, authorities
	return nil
}

// held is what is in the files.
func held(files []source.File) (*Held, []*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(files[0].Data, files[1].Data)
	if err != nil {
		return nil, nil, err
	}
	h := &Held{Certificate: &pair, Ends: pair.Leaf.NotAfter}
	if len(files) < 3 {
		return h, nil, nil
	}
	authorities := parseAll(files[2].Data)
	chain := chainOf(&pair, authorities)
	if chain == nil {
		return nil, nil, errors.New("it is not of an authority in the file of CAs")
	}
	h.Bundle, h.Ends, h.AuthorityEnds = united(authorities...), endOf(chain), chain[len(chain)-1].NotAfter
	return h, authorities, nil
}

// widen makes callers be told of what waits, of what is served, and of what other replicas may still serve: one that begins anew reads the newest files, and
// has not seen those before.
func (f *Files) widen() {
	now := f.current.Load()
	if now == nil || len(f.own) == 0 {
		return
	}
	all := append([]*x509.Certificate(nil), f.own...)
	if f.next != nil {
		all = append(append([]*x509.Certificate(nil), f.coming...), all...)
	}
	settled := signedBy(now.Certificate, f.registered(2*f.Overlap))
	f.known = slices.DeleteFunc(f.known, func(k knownAuthority) bool {
		if f.Clock.Now().Before(k.certificate.NotAfter) && (!settled || f.Clock.Now().Before(k.seen.Add(2*f.Overlap))) {
			all = append(all, k.certificate)
			return false
		}
		return k.since.IsZero()
	})
	bundle := united(all...)
	if bytes.Equal(bundle, now.Bundle) {
		return
	}
	wider := *now
	wider.Bundle = bundle
	f.current.Store(&wider)
}

// registered are the authorities by which callers have known servers for a time.
func (f *Files) registered(long time.Duration) []*x509.Certificate {
	var all []*x509.Certificate
	for _, k := range f.known {
		if !k.since.IsZero() && !f.Clock.Now().Before(k.since.Add(long)) {
			all = append(all, k.certificate)
		}
	}
	return all
}

// mayServe says whether callers know what waits for long enough, or there is nothing else that they could know.
func (f *Files) mayServe() bool {
	now := f.current.Load()
	if now == nil || !f.Told || len(f.coming) == 0 || !f.Clock.Now().Before(now.Ends) {
		return true
	}
	return signedBy(f.next.Certificate, f.registered(f.Overlap))
}

func (f *Files) adopt() {
	if f.Told {
		f.remember(f.own)
	}
	f.current.Store(f.next)
	f.Log.Info("Serving the certificate of the files", "ends", f.next.Ends)
	f.own, f.next, f.coming = f.coming, nil, nil
}

// remember notes authorities, so that they stay in the bundle for a while.
func (f *Files) remember(authorities []*x509.Certificate) {
	for _, c := range authorities {
		if !slices.ContainsFunc(f.known, func(k knownAuthority) bool { return k.certificate.Equal(c) }) {
			f.known = append(f.known, knownAuthority{certificate: c, seen: f.Clock.Now()})
		}
	}
}

// Registered implements Source.
func (f *Files) Registered(_ context.Context, bundle []byte) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	there := parseAll(bundle)
	f.remember(there)
	for i, k := range f.known {
		switch {
		case !contains(there, k.certificate):
			f.known[i].since = time.Time{}
		case k.since.IsZero():
			f.known[i].since = f.Clock.Now()
		}
	}
	f.widen()
	return nil
}
