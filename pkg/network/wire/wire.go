// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package wire is what the codecs of the contracts share: they read requests, ask the service, and write what it says in the words of their
// callers. Each contract is a package below this one; they know neither stores nor clouds nor each other.
//
// Who may connect, and how many at a time, is the server's business. Enter at NewMux, Read and Write.
package wire

import (
	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// DefaultMaximumBytes bounds the body of a request where Options do not.
const DefaultMaximumBytes = 1 << 20

// Options are those of a codec.
type Options struct {
	Service *service.Service
	// Policy is the active one.
	Policy func() *policy.Policy
	// Log is told of what fails: without payloads.
	Log logr.Logger
	// MaximumBytes bounds the body of a request. Default 1 MiB.
	MaximumBytes int64
	// Node is the machine that the server is for; empty: it is for many.
	Node string
}
