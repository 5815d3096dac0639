// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package apart runs measured servers in a separate process, so that their CPU time and allocations are counted without
// those of the caller. The command starts itself again with the flag -serve. Start reading at Start for the caller, and
// at Serve for the servers.
package apart

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
)

// Servers are the servers as seen by their caller.
type Servers struct {
	// URLs are the addresses: first that of the server started by Serve, then those passed to Serve.
	URLs   []string
	Client *http.Client
	// Authority is the servers' self-signed certificate in PEM.
	Authority []byte
	// Agent is the User-Agent of calls. The default is Go's own.
	Agent string

	command *exec.Cmd
	input   io.Closer
}

// Start runs this program again as the servers, with -serve before the arguments.
func Start(ctx context.Context, arguments ...string) (*Servers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, append([]string{"-serve"}, arguments...)...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the servers: %w", err)
	}
	s := &Servers{command: command, input: input}
	if err := s.meet(output); err != nil {
		s.Stop()
		return nil, fmt.Errorf("the servers do not serve: %w", err)
	}
	return s, nil
}

// meet reads the addresses of the servers.
func (s *Servers) meet(output io.Reader) error {
	var h hello
	if err := json.NewDecoder(output).Decode(&h); err != nil {
		return err
	}
	certificate, err := x509.ParseCertificate(h.Certificate)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	s.Client = NewClient(roots)
	s.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate})
	for _, address := range h.Addresses {
		s.URLs = append(s.URLs, "https://"+address)
	}
	return nil
}

// NewClient returns a client that calls as kube-apiserver and Karmada call webhooks: over HTTP/1.1 with connections
// that stay open.
func NewClient(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		MaxIdleConnsPerHost: 16, // the number of concurrent callers
	}}
}

// Stop stops the servers and waits until they have exited.
func (s *Servers) Stop() {
	_ = s.input.Close()
	_ = s.command.Wait()
}

// Post sends a request as kube-apiserver and Karmada do, and returns the answer. Any status except 200 is an error.
func (s *Servers) Post(ctx context.Context, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	if s.Agent != "" {
		request.Header.Set("User-Agent", s.Agent)
	}
	return Do(s.Client, request)
}

// Do returns the body of an answer. Any status except 200 is an error.
func Do(client *http.Client, request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", request.URL, response.Status, answer)
	}
	return answer, err
}

// Usage returns the resources that the servers' process has used.
func (s *Servers) Usage(ctx context.Context) (Usage, error) {
	answer, err := s.Post(ctx, s.URLs[0]+usagePath, nil)
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	err = json.Unmarshal(answer, &u)
	return u, err
}
