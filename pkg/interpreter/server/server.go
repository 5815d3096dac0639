// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package server is the HTTPS server for Karmada: it terminates TLS, limits requests, and counts them. Decoding
// and answering belong to package api and the Interpreter. The log contains no content of objects.
//
// Start reading at New.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Options configure a Server.
type Options struct {
	// Address is host:port. Port 0 selects a free port.
	Address     string
	Interpreter api.Interpreter
	// Certificate returns the certificate for a connection.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Draining reports whether the program is about to end, so that connections are closed. It may be nil.
	Draining func() bool
	// Limits bound the use of the server. The default is DefaultLimits.
	Limits  serving.Limits
	Metrics *Metrics
	Log     logr.Logger
}

// DefaultLimits returns the default limits of a server.
func DefaultLimits() serving.Limits {
	return serving.Limits{
		Connections: 1024, Streams: 32, Requests: 256, Waiting: 1024, Behind: 256, BodyBytes: api.DefaultMaximumBytes, BodiesBytes: 128 << 20,
		Patience: api.DefaultPatience, BodyTimeout: serving.BodyTimeout,
	}
}

// Server serves on one address.
type Server struct {
	log      logr.Logger
	listener net.Listener
	server   *http.Server
}

// New listens on the address. Clients can connect, and wait until Serve is called. Serve or Close releases the address.
// It fails if the address is in use or invalid.
func New(ctx context.Context, o Options) (*Server, error) {
	o.Limits = cmp.Or(o.Limits, DefaultLimits())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("opening the address of the server: %w", err)
	}
	guard := serving.NewGuard(o.Limits, o.Metrics.guard)
	s := &Server{log: o.Log, listener: guard.Listen(listener)}
	answers := api.New(api.Options{
		Interpreter: o.Interpreter, Log: o.Log,
		MaximumBytes: o.Limits.BodyBytes, Patience: o.Limits.Patience, Answered: o.Metrics.answered,
	})
	s.server = guard.Server(serving.Drain{Handler: &entrance{next: answers, guard: guard, Options: o}, Draining: o.Draining}, o.Log)
	s.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: o.Certificate}
	return s, nil
}

// Address returns the address in use.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close releases the address if Serve was not called.
func (s *Server) Close() error { return s.listener.Close() }

// Serve serves until the context ends. It then accepts no new requests, and aborts requests that take longer than
// grace. It fails if it cannot accept connections any more.
func (s *Server) Serve(ctx context.Context, grace time.Duration) error {
	s.log.Info("Listening", "address", s.Address())
	if err := serving.Serve(ctx, s.server, s.listener, grace, s.log, func(err error) { s.log.Error(err, "Accepting connections failed: the program ends") }); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// codec answers with a separate context, which avoids the copy of http.Request.WithContext.
type codec interface {
	ServeIn(ctx context.Context, w http.ResponseWriter, r *http.Request)
}

// entrance passes requests through the guard to the codec and counts them.
type entrance struct {
	Options
	next  codec
	guard *serving.Guard
}

// ServeHTTP implements http.Handler.
func (e *entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.Metrics.inFlight.Inc()
	defer e.Metrics.inFlight.Dec()
	defer e.abort()
	if err := e.guard.Serve(w, r, e.Limits.BodyBytes, e.next.ServeIn); err != nil {
		// Kubernetes clients retry after this until their timeout.
		e.Metrics.refused.Inc()
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// abort closes the connection after a panic that the codec did not recover. Call it deferred.
func (e *entrance) abort() {
	panicked := recover()
	if panicked == nil {
		return
	}
	if !serving.Aborted(panicked) {
		e.Metrics.panics.Inc()
		e.Log.Error(serving.Panicked(panicked), "A request panicked: this is a bug", "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler)
}
