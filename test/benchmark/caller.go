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
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// callers is how many call at the same time when the rate is measured.
const callers = 8

// server is the server as its caller sees it.
type server struct {
	url     string
	client  *http.Client
	command *exec.Cmd
	input   io.Closer
}

// start runs this program once more, as the server.
func start(ctx context.Context, folder string) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, "-serve", "-testdata", folder)
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
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	s := &server{command: command, input: input}
	var h hello
	if err := json.NewDecoder(output).Decode(&h); err != nil {
		s.stop()
		return nil, fmt.Errorf("the server does not serve: %w", err)
	}
	certificate, err := x509.ParseCertificate(h.Certificate)
	if err != nil {
		s.stop()
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	s.url = "https://" + h.Address
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
		MaxIdleConnsPerHost: callers,
	}}
	return s, nil
}

// stop ends the server and waits for it.
func (s *server) stop() {
	_ = s.input.Close()
	_ = s.command.Wait()
}

// call sends a review as kube-apiserver does, and returns the answer's bytes.
func (s *server) call(ctx context.Context, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", path, response.Status, answer)
	}
	return answer, err
}

// ask calls, and decodes the answer.
func (s *server) ask(ctx context.Context, path string, body []byte) (*admissionv1.AdmissionResponse, error) {
	answer, err := s.call(ctx, path, body)
	if err != nil {
		return nil, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	if review.Response == nil {
		return nil, fmt.Errorf("%s answers without a response", path)
	}
	return review.Response, nil
}

func (s *server) usage(ctx context.Context) (usage, error) {
	answer, err := s.call(ctx, "/usage", nil)
	if err != nil {
		return usage{}, err
	}
	var u usage
	err = json.Unmarshal(answer, &u)
	return u, err
}

// measure adds a sample: one caller first, then all of them.
func (r *row) measure(ctx context.Context, s *server, window time.Duration) error {
	before, err := s.usage(ctx)
	if err != nil {
		return err
	}
	count, took, err := r.repeat(ctx, s, 1, window)
	if err != nil {
		return err
	}
	after, err := s.usage(ctx)
	if err != nil {
		return err
	}
	n := float64(count)
	one := round{
		perOp: took / time.Duration(count), cpu: (after.CPU - before.CPU) / time.Duration(count),
		allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.Bytes-before.Bytes) / n,
	}
	count, took, err = r.repeat(ctx, s, callers, window)
	one.rate = float64(count) / took.Seconds()
	r.rounds = append(r.rounds, one)
	return err
}

// repeat calls from several goroutines until the window is over; it returns how many calls were answered in which time.
func (r *row) repeat(ctx context.Context, s *server, parallel int, window time.Duration) (int64, time.Duration, error) {
	var (
		group  sync.WaitGroup
		count  atomic.Int64
		failed atomic.Pointer[error]
		begun  = time.Now()
	)
	for range parallel {
		group.Go(func() {
			for time.Since(begun) < window {
				if _, err := s.call(ctx, r.path, r.next(count.Load())); err != nil {
					failed.Store(&err)
					return
				}
				count.Add(1)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, fmt.Errorf("measuring %s: %w", r.name, *err)
	}
	return count.Load(), time.Since(begun), nil
}
