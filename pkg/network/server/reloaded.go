// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// certificates are loaded from files, and again when the files change. If that fails, the old ones stay active.
type certificates struct {
	names   []string
	log     logr.Logger
	current atomic.Pointer[tls.Config]
	// mutex is held while files are checked. tried is the digest of the last attempt, and problem its error; only load
	// and reload use them.
	mutex   sync.Mutex
	tried   watch.Digest
	problem error
}

func (r *certificates) load() error {
	files := make([]source.File, len(r.names))
	contents := make([][]byte, len(r.names))
	for i, name := range r.names {
		data, err := disk.ReadFile(name, disk.CertificateSize)
		if err != nil {
			return err
		}
		files[i], contents[i] = source.File{Name: name, Data: data}, data
	}
	sum := watch.DigestOf(files)
	if sum == r.tried {
		return r.problem
	}
	made, err := tlsConfig(contents)
	if r.tried = sum; err == nil {
		r.current.Store(made)
	}
	return err
}

// reload loads the certificates again if the files have changed. It logs each error once.
func (r *certificates) reload() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before := r.current.Load()
	err := r.load()
	switch {
	case err != nil && (r.problem == nil || r.problem.Error() != err.Error()):
		r.log.Error(err, "Loading certificates failed; the previous version stays active")
	case r.current.Load() != before:
		r.log.Info("Loaded certificates")
	}
	r.problem = err
}

// tlsConfig creates the configuration from a certificate, its key, and optional client CAs.
func tlsConfig(contents [][]byte) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if len(contents) > 2 {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, errors.New("there is no certificate in the file of client CAs")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
		// A resumed session would not be verified with the current CAs.
		config.SessionTicketsDisabled = true
	}
	return config, nil
}

// Check returns the error of loading the files. It accepts a nil receiver.
func (t *TLS) Check() error {
	if t == nil {
		return nil
	}
	_, err := t.load(logr.Discard())
	return err
}

func (t *TLS) load(log logr.Logger) (*certificates, error) {
	c := &certificates{names: t.files(), log: log.WithValues("files", t.files())}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("loading certificates: %w", err)
	}
	return c, nil
}

// files returns the names in the order of tlsConfig.
func (t *TLS) files() []string {
	names := []string{t.CertFile, t.KeyFile}
	if t.ClientCAFile != "" {
		names = append(names, t.ClientCAFile)
	}
	return names
}
