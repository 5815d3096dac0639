// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package server is the edge of the allocation wing: it listens on sockets and on TCP, knows who may ask, bounds what is asked for, and
// counts. What is asked for and what is answered are the codecs' business; no payload and no secret comes into its log.
//
// Enter at New; those who watch the program are answered by pkg/serving.
package server

import (
	"io/fs"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Contract is what is answered at an address.
type Contract struct {
	// Name is that of the contract in metrics.
	Name    string
	Handler http.Handler
	// Refuse answers what the server refuses before the contract is asked, and what it panicked of; nil: the problem's text does.
	Refuse func(http.ResponseWriter, *http.Request, *wire.Problem)
	// Endpoint names what is asked for by a path, in metrics; empty: the path is none of the contract. There are few names.
	Endpoint func(path string) string
	// Timeout bounds one request; 0: nothing does.
	Timeout time.Duration
	// MaximumBytes bounds the body of a request; 0: wire.DefaultMaximumBytes does, and nothing where it is answered Always.
	MaximumBytes int64
	// Always says that it is answered however much there is to do.
	Always bool
}

// Listener is an address with what is answered there.
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
	// TokenFile holds the tokens of which callers must show one; empty: they need none.
	TokenFile string
	// Insecure says that others than this machine may come without that anything is encrypted, or all users of the machine, which is logged.
	Insecure bool
	// Permit says that a socket of systemd may be Insecure; Certificates, that callers must show one where it is of TCP.
	Permit, Certificates bool
}

// TLS are files.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile holds the CAs by which callers must be signed; empty: they need no certificate.
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
