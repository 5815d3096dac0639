// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"math/rand/v2"
	"net/http"
)

// ConnectionSpread closes connections now and then, so that clients distribute over all replicas. Clients keep their
// connections as long as they use them: after the restart of a replica, all use the other replicas. Responses
// announce the close, so that no call is lost.
type ConnectionSpread struct {
	Handler http.Handler
	// Calls is the average number of calls of a connection.
	Calls int
	// Draw returns a random number below n. Nil uses math/rand.
	Draw func(int) int
}

// ServeHTTP implements http.Handler.
func (s ConnectionSpread) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	draw := s.Draw
	if draw == nil {
		draw = rand.IntN
	}
	if draw(s.Calls) == 0 {
		w.Header().Set("Connection", "close")
	}
	s.Handler.ServeHTTP(w, r)
}
