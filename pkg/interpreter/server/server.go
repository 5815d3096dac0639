// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package server is the edge of Karmada's wing: it listens with TLS, bounds what is asked for, and counts. What is asked for and what is answered are the
// business of wire and of the Interpreter; nothing of an object comes into its log.
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
	"golang.org/x/net/netutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Options are those of a server.
type Options struct {
	// Address is host:port; a port of 0 is any that is free.
	Address     string
	Interpreter wire.Interpreter
	// Prompt is that of wire.Options.
	Prompt bool
	// Certificate is asked for what is served, for each connection.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Draining says that the program is about to end, so that callers are sent elsewhere; nil: never.
	Draining func() bool
	Limits   Limits
	Metrics  *Metrics
	Log      logr.Logger
}

// Limits bound what callers can ask for at a time; what is 0 has its default.
type Limits struct {
	// Requests are how many are worked on; what is beyond waits. Default 256.
	Requests int
	// Waiting are how many wait; what is beyond is refused at once. Default four times Requests.
	Waiting int
	// Connections are how many are open; what is beyond waits. Default 1024.
	Connections int
	// BodyBytes bounds a body. Default wire.DefaultMaximumBytes.
	BodyBytes int64
	// BodiesBytes bounds all bodies together, without small ones; what is beyond waits. Default 128 MiB, and a body at least.
	BodiesBytes int64
	// Patience is the longest that a request is worked on, with its waiting. Default wire.DefaultPatience.
	Patience time.Duration
	// BodyTimeout is how long a body may take to come. Default 15s.
	BodyTimeout time.Duration
}

// writeTimeout is how long an answer may take to be taken, after it should be there.
const writeTimeout = 15 * time.Second

// bufferBytes is what is taken of bodies that wait, for each connection of HTTP/2.
const bufferBytes = 256 << 10

// streams are how many questions one connection of HTTP/2 may have open at a time; clients open another one for more.
const streams = 32

func (l *Limits) setDefaults() {
	orDefault(&l.Requests, 256)
	orDefault(&l.Waiting, 4*l.Requests)
	orDefault(&l.Connections, 1024)
	orDefault(&l.BodyBytes, int64(wire.DefaultMaximumBytes))
	orDefault(&l.BodiesBytes, 128<<20)
	l.BodiesBytes = max(l.BodiesBytes, l.BodyBytes+1)
	orDefault(&l.Patience, wire.DefaultPatience)
	orDefault(&l.BodyTimeout, 15*time.Second)
}

func orDefault[T int | int64 | time.Duration](field *T, otherwise T) {
	if *field <= 0 {
		*field = otherwise
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
	o.Limits.setDefaults()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("opening the address of the server: %w", err)
	}
	s := &Server{log: o.Log, listener: netutil.LimitListener(listener, o.Limits.Connections)}
	answers := wire.New(wire.Options{
		Interpreter: o.Interpreter, Prompt: o.Prompt, Log: o.Log,
		MaximumBytes: o.Limits.BodyBytes, Patience: o.Limits.Patience, Answered: o.Metrics.answered,
	})
	s.server = &http.Server{
		Handler: serving.Drain{Handler: newGuard(answers, o), Draining: o.Draining}, ErrorLog: serving.ErrorLog(o.Log), ConnState: o.Metrics.connection,
		// Bodies and answers have deadlines of their own, which the guard sets for each request.
		ReadHeaderTimeout: serving.HeadTimeout, IdleTimeout: serving.IdleTimeout, MaxHeaderBytes: serving.MaximumHead,
		// Bodies that wait fill these buffers: all connections together must not fill the memory.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, MaxReceiveBufferPerConnection: bufferBytes, MaxReceiveBufferPerStream: bufferBytes / 2,
		},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: o.Certificate},
	}
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
