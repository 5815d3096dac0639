// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// files are those of the server, by path; empty ones are not used.
type files struct {
	ca, cert, key, token string
}

// client makes a new transport when a certificate has changed.
type client struct {
	files files

	mutex   sync.Mutex
	content [3][]byte
	current *http.Client
}

// get returns the client for the current files. While the files do not match, because they are being replaced, it
// returns the previous client.
func (c *client) get() (*http.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	content, err := readAll(c.files.ca, c.files.cert, c.files.key)
	if err == nil && c.current != nil && same(content, c.content) {
		return c.current, nil
	}
	var made *http.Client
	if err == nil {
		made, err = newClient(content)
	}
	if err != nil {
		if c.current != nil {
			return c.current, nil
		}
		return nil, err
	}
	if c.current != nil {
		c.current.CloseIdleConnections()
	}
	c.current, c.content = made, content
	return made, nil
}

func same(a, b [3][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func readAll(paths ...string) (content [3][]byte, err error) {
	for i, path := range paths {
		if path == "" {
			continue
		}
		if content[i], err = readFile(path); err != nil {
			return content, err
		}
	}
	return content, nil
}

func readFile(path string) ([]byte, error) {
	raw, err := disk.ReadFile(path, disk.CertificateSize)
	if err != nil {
		return nil, fmt.Errorf("reading a file of the cloud: %w", err)
	}
	return raw, nil
}

// newClient makes a client of a CA, a certificate and its key.
func newClient(content [3][]byte) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(content[0]) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(content[0]) {
			return nil, errors.New("reading caFile: there is no certificate in it")
		}
	}
	if len(content[1]) > 0 || len(content[2]) > 0 {
		certificate, err := tls.X509KeyPair(content[1], content[2])
		if err != nil {
			return nil, errors.New("reading certFile and keyFile: they are no certificate with its key")
		}
		trust.Certificates = []tls.Certificate{certificate}
	}
	return &http.Client{
		CheckRedirect: redirect,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
	}, nil
}

// redirect follows the cloud on its own host only, with the same method; otherwise the redirect itself is the answer.
func redirect(next *http.Request, before []*http.Request) error {
	const most = 5
	first := before[0]
	if len(before) > most || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme || next.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// token returns the current bearer token, or an empty string if none is configured.
func (c *client) token() (string, error) {
	if c.files.token == "" {
		return "", nil
	}
	raw, err := readFile(c.files.token)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(raw))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("reading tokenFile: there is no token in it, or more than that")
	}
	return token, nil
}
