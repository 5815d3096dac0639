// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
)

// servers are the servers as their caller sees them.
type servers struct {
	floor, graft string
	client       *http.Client
	command      *exec.Cmd
	input        io.Closer
}

// start runs this program once more, as the servers.
func start(ctx context.Context) (*servers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, "-serve")
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
	s := &servers{command: command, input: input}
	if err := s.meet(output); err != nil {
		s.stop()
		return nil, fmt.Errorf("the servers do not serve: %w", err)
	}
	return s, nil
}

// meet reads where the servers are. The client calls as Karmada does: over HTTP/1.1, whose connections are kept.
func (s *servers) meet(output io.Reader) error {
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
	s.floor, s.graft = "https://"+h.Floor, "https://"+h.Graft
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}}
	return nil
}

// stop ends the servers and waits for them.
func (s *servers) stop() {
	_ = s.input.Close()
	_ = s.command.Wait()
}

// call asks one of the servers, and gives the answer as it comes.
func (s *servers) call(ctx context.Context, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return answer, err
}

// check asks the floor for something, and Graft for what Karmada would take.
func (s *servers) check(ctx context.Context, operation string, body []byte) error {
	var message dispatch.ContextMessage
	answer, err := s.call(ctx, s.floor, body)
	if err == nil {
		err = json.Unmarshal(answer, &message)
	}
	if err == nil && (message.Response == nil || message.Response.UID != uid || !message.Response.Successful) {
		err = errors.New("this is no answer of the floor: " + string(answer))
	}
	if err != nil {
		return err
	}
	if answer, err = s.call(ctx, s.graft, body); err != nil {
		return err
	}
	message = dispatch.ContextMessage{}
	if err := json.Unmarshal(answer, &message); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	return dispatch.VerifyContext(uid, operation, message.Response)
}

// usage is what the servers have used.
func (s *servers) usage(ctx context.Context) (usage, error) {
	answer, err := s.call(ctx, s.floor+"/usage", nil)
	if err != nil {
		return usage{}, err
	}
	var u usage
	err = json.Unmarshal(answer, &u)
	return u, err
}
