// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package wire contains the common code of the contracts: they parse requests, call the service, and write responses in
// the terms of their callers. Each contract is a package below this one; they use neither stores nor clouds nor each
// other.
//
// The server authorizes and limits connections. Start reading at NewMux, Read and Write.
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
	// Policy returns the active policy.
	Policy func() *policy.Policy
	// Log receives failures without payloads.
	Log logr.Logger
	// MaximumBytes bounds the body of a request. Default 1 MiB.
	MaximumBytes int64
	// Node is the machine that the server is for; empty: it is for many.
	Node string
}
