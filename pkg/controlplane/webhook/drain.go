// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import "net/http"

// Drain sends callers elsewhere before the program ends. A kube-apiserver keeps its connections, and they lead here long after the Service has forgotten
// the program; one that is closed just when a call is sent on it loses the call. So each answer is the last on its connection.
type Drain struct {
	Handler http.Handler
	// Draining says that the program is about to end.
	Draining func() bool
}

// ServeHTTP implements http.Handler.
func (d Drain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Draining() {
		w.Header().Set("Connection", "close")
	}
	d.Handler.ServeHTTP(w, r)
}
