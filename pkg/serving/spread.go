// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"math/rand/v2"
	"net/http"
)

// Spread has callers connect anew now and then, so that their connections spread over all replicas. A client keeps its connections for as long as it uses
// them: after a replica was away, all lead to the others, and whatever becomes of one of these meets all callers. An answer says that it is the last on its
// connection, so that no call is lost.
type Spread struct {
	Handler http.Handler
	// Calls are how many there are on a connection, on the average.
	Calls int
	// Draw draws a number below another one; nil: by chance.
	Draw func(int) int
}

// ServeHTTP implements http.Handler.
func (s Spread) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	draw := s.Draw
	if draw == nil {
		draw = rand.IntN
	}
	if draw(s.Calls) == 0 {
		w.Header().Set("Connection", "close")
	}
	s.Handler.ServeHTTP(w, r)
}
