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
	"io/fs"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Contract is a protocol served at an address.
type Contract struct {
	// Name is that of the contract in metrics.
	Name    string
	Handler http.Handler
	// Refuse writes the response to a request that the server refuses before it calls the contract, or that panicked;
	// if nil, the response is the problem's text.
	Refuse func(http.ResponseWriter, *http.Request, *wire.Problem)
	// Endpoint returns the name of a path's endpoint for metrics, or an empty string for an unknown path. The number of
	// names is small.
	Endpoint func(path string) string
	// Timeout bounds one request; 0: nothing does.
	Timeout time.Duration
	// MaximumBytes bounds the body of a request; 0: wire.DefaultMaximumBytes does, and nothing where it is answered Always.
	MaximumBytes int64
	// Always says that it is answered however much there is to do.
	Always bool
}

// Listener is an address with its contracts.
type Listener struct {
	// Network is unix, with a path as Address, tcp, with host:port, or systemd, with the name of a socket that systemd has opened.
	Network, Address string
	// Mode, UID and GID are those of the socket; -1 leaves an owner as it is.
	Mode     fs.FileMode
	UID, GID int
	// Contracts are tried in their order.
	Contracts []Contract
	// TLS encrypts; nil: nothing does.
	TLS *TLS
	// TokenFile contains the accepted tokens; if empty, callers need none.
	TokenFile string
	// Insecure permits unencrypted access by other machines, or access by all users of the machine; it is logged.
	Insecure bool
	// Permit says that a socket of systemd may be Insecure; Certificates, that callers must show one where it is of TCP.
	Permit, Certificates bool
}

// TLS are files.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile contains the CAs of client certificates; if empty, callers need none.
	ClientCAFile string
}

// Options are those of a server.
type Options struct {
	Listeners []Listener
	// Limits are those of all listeners together.
	Limits serving.Limits
	// Draining says that the program is about to end, so that callers are sent elsewhere; nil: never.
	Draining func() bool
	Metrics  *Metrics
	Log      logr.Logger
}
