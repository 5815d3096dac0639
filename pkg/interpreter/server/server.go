// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package server is the edge of Karmada's wing: it listens with TLS, bounds what is asked for, and counts. What is asked for and what is answered are the
// business of api and of the Interpreter; nothing of an object comes into its log.
//
// Enter at New.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Options are those of a server.
type Options struct {
	// Address is host:port; a port of 0 is any that is free.
	Address     string
	Interpreter api.Interpreter
	// Prompt is that of api.Options.
	Prompt bool
	// Certificate is asked for what is served, for each connection.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Draining says that the program is about to end, so that callers are sent elsewhere; nil: never.
	Draining func() bool
	// Limits bound what callers take of the server; DefaultLimits where nothing is said.
	Limits  serving.Limits
	Metrics *Metrics
	Log     logr.Logger
}

// DefaultLimits are those of a server where nothing else is said.
func DefaultLimits() serving.Limits {
	return serving.Limits{
		Connections: 1024, Streams: 32, Requests: 256, Waiting: 1024, Behind: 256, BodyBytes: api.DefaultMaximumBytes, BodiesBytes: 128 << 20,
		Patience: api.DefaultPatience, BodyTimeout: serving.BodyTimeout,
	}
}

// Server answers at an address.
type Server struct {
	log      logr.Logger
	listener net.Listener
	server   *http.Server
}

// New opens the address: callers can connect, and wait until Serve begins. What is opened is closed by Serve, or by Close.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Limits == (serving.Limits{}) {
		o.Limits = DefaultLimits()
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("opening the address of the server: %w", err)
	}
	guard := serving.NewGuard(o.Limits, o.Metrics.guard)
	s := &Server{log: o.Log, listener: guard.Listen(listener)}
	answers := api.New(api.Options{
		Interpreter: o.Interpreter, Prompt: o.Prompt, Log: o.Log,
		MaximumBytes: o.Limits.BodyBytes, Patience: o.Limits.Patience, Answered: o.Metrics.answered,
	})
	s.server = guard.Server(serving.Drain{Handler: &entrance{next: answers, guard: guard, Options: o}, Draining: o.Draining}, o.Log)
	s.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: o.Certificate}
	return s, nil
}

// Address is the one that is open.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close closes what New has opened, when it is not served.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers until the context ends. Then it lets nobody in any more, and finishes what it works on; what takes longer than the grace is broken off.
func (s *Server) Serve(ctx context.Context, grace time.Duration) error {
	s.log.Info("Listening", "address", s.Address())
	failed := make(chan error, 1)
	go func() { failed <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.server.Shutdown(ending); err != nil {
		s.log.Info("Breaking off what is not finished")
		_ = s.server.Close() // what it closes is open no longer
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
