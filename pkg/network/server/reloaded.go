// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// reloaded is a value loaded from files, and again when they change. If that fails, the old value stays.
type reloaded[T any] struct {
	what    string
	names   []string
	build   func(contents [][]byte) (T, error)
	log     logr.Logger
	current atomic.Pointer[T]
	// mutex is held while files are checked. tried is the digest of the last attempt, and problem its error; only load
	// and look use them.
	mutex   sync.Mutex
	tried   watch.Digest
	problem error
}

// newReloaded makes it the first time.
func newReloaded[T any](log logr.Logger, what string, build func([][]byte) (T, error), names ...string) (*reloaded[T], error) {
	r := &reloaded[T]{what: what, names: names, build: build, log: log.WithValues("files", names)}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("loading %s: %w", what, err)
	}
	return r, nil
}

func (r *reloaded[T]) load() error {
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
	made, err := r.build(contents)
	if r.tried = sum; err == nil {
		r.current.Store(&made)
	}
	return err
}

// look loads the value again if the files have changed. It logs each error once.
func (r *reloaded[T]) look() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before := r.current.Load()
	err := r.load()
	switch {
	case err != nil && (r.problem == nil || r.problem.Error() != err.Error()):
		r.log.Error(err, "Loading "+r.what+" failed; the previous version stays active")
	case r.current.Load() != before:
		r.log.Info("Loaded " + r.what)
	}
	r.problem = err
}

func (r *reloaded[T]) get() T { return *r.current.Load() }

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
		// A session that is resumed is not verified with the CAs of today.
		config.SessionTicketsDisabled = true
	}
	return config, nil
}

// shortestToken keeps tokens that can be guessed out, in bytes.
const shortestToken = 16

// tokens are those that callers may show, as sums.
type tokens [][sha256.Size]byte

// parseTokens reads one a line.
func parseTokens(contents [][]byte) (tokens, error) {
	var all tokens
	for line := range strings.Lines(string(contents[0])) {
		token := strings.TrimSpace(line)
		if token == "" {
			continue
		}
		if len(token) < shortestToken {
			return nil, fmt.Errorf("a token has less than %d characters", shortestToken)
		}
		all = append(all, sha256.Sum256([]byte(token)))
	}
	if len(all) == 0 {
		return nil, errors.New("there is no token in the file")
	}
	return all, nil
}

// permit reports whether the Authorization header contains a valid token, in constant time.
func (t tokens) permit(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for _, known := range t {
		found |= subtle.ConstantTimeCompare(known[:], sum[:])
	}
	return found == 1 && strings.EqualFold(scheme, "Bearer")
}

// CheckFiles returns the errors of loading the files for TLS and tokens.
func (l Listener) CheckFiles() error {
	var problems []error
	if l.TLS != nil {
		_, err := newReloaded(logr.Discard(), "certificates", tlsConfig, l.TLS.files()...)
		problems = append(problems, err)
	}
	if l.TokenFile != "" {
		_, err := newReloaded(logr.Discard(), "tokens", parseTokens, l.TokenFile)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// files returns the names in the order of tlsConfig.
func (t *TLS) files() []string {
	names := []string{t.CertFile, t.KeyFile}
	if t.ClientCAFile != "" {
		names = append(names, t.ClientCAFile)
	}
	return names
}
