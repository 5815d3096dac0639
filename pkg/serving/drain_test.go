// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestDrain checks that responses close connections only during the shutdown, with HTTP/1.1 and HTTP/2.
func TestDrain(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			draining, connections := atomic.Bool{}, map[string]bool{}
			server := httptest.NewUnstartedServer(Drain{Draining: draining.Load, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				connections[r.RemoteAddr] = true
				if r.Proto != name {
					t.Errorf("the call is made by %s", r.Proto)
				}
			})})
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			call := func(want int) {
				t.Helper()
				response, err := server.Client().Post(server.URL, "application/json", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if len(connections) != want {
					t.Errorf("there were %d connections, want %d", len(connections), want)
				}
			}
			call(1)
			call(1)
			draining.Store(true)
			call(1)
			call(2)
		})
	}
}

// TestReadyUntilShutdown checks that a program is ready until its shutdown begins.
func TestReadyUntilShutdown(t *testing.T) {
	ends := false
	stays := Ready(func() bool { return ends })
	if err := stays(t.Context()); err != nil {
		t.Error(err)
	}
	if ends = true; stays(t.Context()) == nil {
		t.Error("the program is ready during its shutdown")
	}
}
