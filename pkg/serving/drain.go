// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net/http"
)

// Drain sends callers elsewhere before the program ends. Clients keep their connections, which lead here long after a Service has forgotten the program; one
// that is closed just when a call is sent on it loses the call. So each answer is the last on its connection.
type Drain struct {
	Handler http.Handler
	// Draining says that the program is about to end; nil: never.
	Draining func() bool
}

// ServeHTTP implements http.Handler.
func (d Drain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Draining != nil && d.Draining() {
		w.Header().Set("Connection", "close")
	}
	d.Handler.ServeHTTP(w, r)
}

// Stays is an error while a program is about to end, for those who ask whether it is ready.
func Stays(draining func() bool) func(context.Context) error {
	return func(context.Context) error {
		if draining() {
			return errors.New("the program is shutting down")
		}
		return nil
	}
}
