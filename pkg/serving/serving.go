// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package serving is what the programs that serve have in common: how long callers may take, and the port of those who watch a program. It knows no
// contract. Enter at Main and Monitor.
package serving

import (
	"log"
	"time"

	"github.com/go-logr/logr"
)

const (
	// HeadTimeout is how long the head of a request may take to come.
	HeadTimeout = 10 * time.Second
	// IdleTimeout is how long a connection may be without a request.
	IdleTimeout = 2 * time.Minute
	// MaximumHead bounds the head of a request, in bytes.
	MaximumHead = 16 << 10
)

// ErrorLog is what net/http says of connections, which is of interest to few.
func ErrorLog(to logr.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

type lines struct{ log logr.Logger }

// Write implements io.Writer.
func (l lines) Write(text []byte) (int, error) {
	l.log.V(1).Info("Of a connection", "said", string(text[:max(0, len(text)-1)]))
	return len(text), nil
}
