// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package server listens on sockets and TCP for the network provider, authorizes callers, limits requests, and counts
// them. Packages of contracts parse requests and write responses; the log of this package contains no payload and no
// secret.
//
// Start reading at New; pkg/serving serves probes and metrics.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Contract is a protocol served at an address.
type Contract struct {
	// Name is the name of the contract in metrics.
	Name    string
	Handler http.Handler
	// Refuse writes the response to a request that the server refuses before it calls the contract, or that panicked;
	// if nil, the response is the problem's text.
	Refuse func(http.ResponseWriter, *http.Request, *api.Problem)
	// Endpoint returns the name of a path's endpoint for metrics, or an empty string for an unknown path. The number of
	// names is small.
	Endpoint func(path string) string
	// Timeout limits one request; 0 means no limit.
	Timeout time.Duration
	// MaximumBytes limits the body of a request. 0 means api.DefaultMaximumBytes, or no limit if Always is set.
	MaximumBytes int64
	// Always exempts the contract from the limit of concurrent requests.
	Always bool
}

// Listener is an address with its contracts.
type Listener struct {
	// Network is unix with a path as Address, tcp with host:port, or systemd with the name of a socket that systemd has
	// opened.
	Network, Address string
	// Mode, UID and GID are the socket's mode and owner; -1 keeps an owner.
	Mode     fs.FileMode
	UID, GID int
	// Contracts are tried in their order.
	Contracts []Contract
	// TLS has the certificates; nil disables encryption.
	TLS *TLS
	// Insecure permits unencrypted access by other machines, or access by all users of the machine; it is logged.
	Insecure bool
	// Permit allows Insecure for a socket of systemd. Certificates requires client certificates over TCP.
	Permit, Certificates bool
}

// Options configure a Server.
type Options struct {
	Listeners []Listener
	// Limits apply to all listeners together.
	Limits serving.Limits
	// Draining reports whether the program is shutting down, so that clients close their connections; nil means never.
	Draining func() bool
	Metrics  *Metrics
	Log      logr.Logger
}

// Server serves contracts at several addresses.
type Server struct {
	options Options
	places  []*openAddress
}

// openAddress is a listener that is open.
type openAddress struct {
	Listener
	listener net.Listener
	server   *http.Server
	tls      *certificates
	log      logr.Logger
}

// New opens all addresses: clients can connect, and wait until Serve starts. Serve or Close closes them. It fails if an
// address is in use or invalid; no address stays open. It logs sockets from systemd that no listener uses, and closes
// them: their clients would wait forever.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o}
	guard := serving.NewGuard(o.Limits, o.Metrics.guard)
	named, err := activation.ListenersWithNames()
	if err != nil {
		return nil, fmt.Errorf("taking sockets of systemd: %w", err)
	}
	for _, l := range o.Listeners {
		p, err := s.open(ctx, l, named, guard)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", l, err), s.Close())
		}
		s.places = append(s.places, p)
	}
	s.reloadCertificates()
	for name, listeners := range named {
		o.Log.Info("A socket of systemd has no listener: its clients wait without an answer; configure a listener for it", "name", name)
		for _, listener := range listeners {
			_ = listener.Close() // it was not used
		}
	}
	return s, nil
}

// String returns the address in the form of the configuration.
func (l Listener) String() string { return l.Network + "://" + l.Address }

// open opens an address; named are the sockets from systemd.
func (s *Server) open(ctx context.Context, l Listener, named map[string][]net.Listener, guard *serving.Guard) (*openAddress, error) {
	p := &openAddress{Listener: l, log: s.options.Log.WithValues("listener", l.String())}
	var err error
	if l.TLS != nil {
		p.tls = newCertificates(l.TLS)
		if err := p.tls.load(); err != nil {
			return nil, err
		}
	}
	if p.listener, err = p.listen(ctx, named); err != nil {
		return nil, err
	}
	browsers := p.listener.Addr().Network() == "tcp"
	p.listener = guard.Listen(p.listener)
	p.server = guard.Server(serving.Drain{Draining: s.options.Draining, Handler: &router{
		contracts: l.Contracts, browsers: browsers, guard: guard, metrics: s.options.Metrics, log: p.log,
	}}, p.log)
	if p.tls != nil {
		p.server.TLSConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return p.tls.current.Load(), nil },
		}
	}
	return p, nil
}

func (p *openAddress) address() string {
	if p.Network == "unix" {
		return p.Address // a socket is opened under another name
	}
	return p.listener.Addr().String()
}

// Close closes the listeners if Serve was not called. It fails if a listener cannot be closed.
func (s *Server) Close() error {
	var problems []error
	for _, p := range s.places {
		problems = append(problems, p.listener.Close())
	}
	return errors.Join(problems...)
}

// Serve handles requests until the context ends. Then it accepts no connections, completes running requests, and aborts
// them after the grace period. It returns the error of a failed address.
func (s *Server) Serve(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	for _, p := range s.places {
		p.logOpen(s.options.Log)
		work.Go(func() {
			broken := func(err error) { cancel(fmt.Errorf("serving %s: %w", p.Listener, err)) }
			if err := serving.Serve(ctx, p.server, p.listener, grace, p.log, broken); err != nil {
				broken(err)
			}
		})
	}
	work.Go(func() { watch.Poll(ctx, nil, func(context.Context) { s.reloadCertificates() }) })
	work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// logOpen logs the open addresses, with a warning for those open to all users.
func (p *openAddress) logOpen(log logr.Logger) {
	var names []string
	for _, c := range p.Contracts {
		names = append(names, c.Name)
	}
	listener := p.Network + "://" + p.address()
	if p.Network == networkSystemd {
		listener = p.Listener.String()
		log = log.WithValues("socket", p.listener.Addr().String())
	}
	log = log.WithValues("listener", listener, "contracts", names)
	if !p.Insecure {
		log.Info("Listening", "tls", p.tls != nil, "clientCertificates", p.TLS != nil && p.TLS.ClientCAFile != "")
		return
	}
	log.Error(nil, "INSECURE: every client that reaches this address can read all traffic, and can allocate and release everything; "+
		"restrict the mode of a socket, or configure tls with clientCAFile")
}

// reloadCertificates loads changed certificates, and reports their expiry.
func (s *Server) reloadCertificates() {
	for _, p := range s.places {
		if p.tls == nil {
			continue
		}
		p.tls.reload(p.log)
		if leaf := p.tls.current.Load().Certificates[0].Leaf; leaf != nil {
			s.options.Metrics.expiry.WithLabelValues(p.Listener.String()).Set(float64(leaf.NotAfter.Unix()))
		}
	}
}
