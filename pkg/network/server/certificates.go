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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TLS has the paths of certificate files.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile contains the CAs of client certificates; if empty, callers need none.
	ClientCAFile string
}

// Check returns the error of loading the files. It accepts a nil receiver.
func (t *TLS) Check() error {
	if t == nil {
		return nil
	}
	return newCertificates(t).load()
}

// certificates are loaded from files, and again when the files change. If that fails, the old ones stay active.
type certificates struct {
	*TLS
	current atomic.Pointer[tls.Config]

	mutex sync.Mutex
	files serving.CertificateFiles
	// problem is the error of the last reload, which is logged once.
	problem string
}

func newCertificates(t *TLS) *certificates {
	return &certificates{TLS: t, files: serving.CertificateFiles{CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.ClientCAFile}}
}

// load loads the files if they have changed.
func (c *certificates) load() error {
	err := c.files.Load(func(certificate tls.Certificate, authorities []byte) error {
		config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
		if c.ClientCAFile != "" {
			config.ClientCAs = x509.NewCertPool()
			if !config.ClientCAs.AppendCertsFromPEM(authorities) {
				return errors.New("there is no certificate in the file of client CAs")
			}
			config.ClientAuth = tls.RequireAndVerifyClientCert
			// A resumed session would not be verified with the current CAs.
			config.SessionTicketsDisabled = true
		}
		c.current.Store(config)
		return nil
	})
	if err != nil {
		return fmt.Errorf("loading certificates: %w", err)
	}
	return nil
}

// reload loads the files if they have changed. It logs each error once.
func (c *certificates) reload(log logr.Logger) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := c.current.Load()
	if err := c.load(); err == nil {
		c.problem = ""
	} else if c.problem != err.Error() {
		c.problem = err.Error()
		log.Error(err, "Loading certificates failed; the previous version stays active")
	}
	if c.current.Load() != before {
		log.Info("Loaded certificates")
	}
}
