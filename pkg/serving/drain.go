// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net/http"
)

// Drain moves clients to other servers before the program ends. Clients keep connections long after a Service
// has removed the endpoint, and lose a call that they send while the connection is closed. So Drain answers
// each request with "Connection: close".
type Drain struct {
	Handler http.Handler
	// Draining reports whether the program is about to end. It may be nil.
	Draining func() bool
}

// ServeHTTP implements http.Handler.
func (d Drain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Draining != nil && d.Draining() {
		w.Header().Set("Connection", "close")
	}
	d.Handler.ServeHTTP(w, r)
}

// Ready returns a readiness check that fails while the program drains.
func Ready(draining func() bool) func(context.Context) error {
	return func(context.Context) error {
		if draining() {
			return errors.New("the program is shutting down")
		}
		return nil
	}
}
