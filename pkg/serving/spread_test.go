// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestConnectionsAreClosedAtRandom checks that a connection is closed with the drawn answer and no other, and that all calls are answered.
func TestConnectionsAreClosedAtRandom(t *testing.T) {
	var calls, below, connections atomic.Int32
	server := httptest.NewUnstartedServer(ConnectionSpread{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), Calls: 16,
		Draw: func(n int) int {
			below.Store(int32(n))
			return int(calls.Add(1)) % 4
		},
	})
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	for range 9 {
		response, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			t.Errorf("the answer is %s", response.Status)
		}
	}
	if connections.Load() != 3 || below.Load() != 16 {
		t.Errorf("%d connections for nine calls, of which two were the last; drawn below %d", connections.Load(), below.Load())
	}
	chance := httptest.NewRecorder()
	ConnectionSpread{Handler: http.NotFoundHandler(), Calls: 1}.ServeHTTP(chance, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if chance.Header().Get("Connection") != "close" {
		t.Error("with a chance of one, the connection is not closed")
	}
}
