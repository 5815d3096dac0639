// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

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
	// known are the authorities of which callers were told, and since when.
	known []knownAuthority
}

type knownAuthority struct {
	certificate *x509.Certificate
	since       time.Time
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
	return nil
}

// read reads the files, and makes what is new wait.
func (f *Files) read() error {
	var files []source.File
	for _, name := range []string{f.CertFile, f.KeyFile, f.CAFile} {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, source.File{Name: name, Data: data})
	}
	sum := watch.DigestOf(files)
	if sum == f.tried {
		return nil
	}
	next, err := held(files)
	if err != nil {
		return err // and read again, as another file may be right soon
	}
	f.tried, f.next = sum, next
	f.widen()
	return nil
}

// held is what is in the files.
func held(files []source.File) (*Held, error) {
	pair, err := tls.X509KeyPair(files[0].Data, files[1].Data)
	if err != nil {
		return nil, err
	}
	h := &Held{Certificate: &pair, Ends: pair.Leaf.NotAfter}
	if len(files) < 3 {
		return h, nil
	}
	authorities := parseAll(files[2].Data)
	if !signedBy(&pair, authorities) {
		return nil, errors.New("it is not of an authority in the file of CAs")
	}
	h.Bundle, h.AuthorityEnds = united(authorities...), authorities[0].NotAfter
	return h, nil
}

// widen makes callers be told of what waits while they still need what is served; and afterwards, of what other replicas may still serve.
func (f *Files) widen() {
	now := f.current.Load()
	if now == nil || len(f.next.Bundle) == 0 {
		return
	}
	all := parseAll(f.next.Bundle)
	for _, c := range parseAll(now.Bundle) {
		if f.Clock.Now().Before(c.NotAfter) {
			all = append(all, c)
		}
	}
	f.next.Bundle = united(all...)
	wider := *now
	wider.Bundle = f.next.Bundle
	f.current.Store(&wider)
}

// mayServe says whether callers know what waits for long enough, or there is nothing else that they could know.
func (f *Files) mayServe() bool {
	now := f.current.Load()
	if now == nil || !f.Told || len(f.next.Bundle) == 0 || !f.Clock.Now().Before(now.Ends) {
		return true
	}
	var known []*x509.Certificate
	for _, k := range f.known {
		if !f.Clock.Now().Before(k.since.Add(f.Overlap)) {
			known = append(known, k.certificate)
		}
	}
	return signedBy(f.next.Certificate, known)
}

func (f *Files) adopt() {
	f.current.Store(f.next)
	f.Log.Info("Serving the certificate of the files", "ends", f.next.Ends)
	f.next = nil
}

// Registered implements Source.
func (f *Files) Registered(_ context.Context, bundle []byte) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var known []knownAuthority
	for _, c := range parseAll(bundle) {
		since := f.Clock.Now()
		for _, k := range f.known {
			if k.certificate.Equal(c) {
				since = k.since
			}
		}
		known = append(known, knownAuthority{c, since})
	}
	f.known = known
	return nil
}
