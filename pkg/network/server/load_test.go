// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestDepartedCallersUseHalfOfThePlaces checks that work of departed callers takes at most half of the places, so that a hanging cloud does not
// block other requests.
func TestDepartedCallersUseHalfOfThePlaces(t *testing.T) {
	const plain, busy = "200 OK: plain", "429 Too Many Requests: "
	var hanging sync.WaitGroup
	entered, recovered := make(chan struct{}), make(chan struct{})
	w := newWorld(t, Listener{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "hangs" {
			release := serving.Hold(r.Context())
			hanging.Go(func() { <-recovered; release() })
			entered <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = w.Write(body)
	})
	// bytes of bodies are held by those that are worked on
	working := func(want float64) {
		t.Helper()
		held := func() float64 { return w.count(t, "graft_server_body_bytes", nil) }
		flying := func() bool { return w.count(t, "graft_network_requests_in_flight", nil) > 0 }
		for end := time.Now().Add(10 * time.Second); flying() || held() != 5*want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%v bytes are held, want those of %v", held(), want)
			}
		}
	}
	call := func() (leave func()) {
		connection, err := net.Dial("unix", w.Addresses()[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(connection, "POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhangs"); err != nil {
			t.Fatal(err)
		}
		<-entered
		return func() { _ = connection.Close() }
	}
	for range 20 {
		call()()
		working(1)
		if got := w.ask(t, w.client(nil), "http", "/do", "plain"); got != plain {
			t.Fatalf("a plain pool: %s", got)
		}
	}
	working(1)
	leave := call()
	if got := w.ask(t, w.client(nil), "http", "/do", "plain"); !strings.HasPrefix(got, busy) {
		t.Errorf("want a busy answer beyond the waiting requests, got %s", got)
	}
	leave()
	working(1)
	close(recovered)
	hanging.Wait()
	working(0)
}
