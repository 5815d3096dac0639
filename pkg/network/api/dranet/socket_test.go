// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestUnixSocketClient sends requests like DRANET's client: over one connection of a unix socket, with answers decoded from
// the stream, and without reading the body of a release.
func TestUnixSocketClient(t *testing.T) {
	w := newWorld(t, document, nil)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(w.handler)
	server.Listener = listener
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for i := range 4 {
		body := ask(fmt.Sprint("c", i), `{"name":"dummy1"}`)
		for _, path := range []string{"/GetDeviceAttributes", "/GetDeviceConfig", "/GetProfileConfig", "/ReleaseProfileConfig"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			var answer map[string]any
			if path != "/ReleaseProfileConfig" {
				if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer == nil {
					t.Errorf("%s: got %v, error %v", path, answer, err)
				}
			}
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s: got %s, error %v", path, response.Status, err)
			}
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections were made", got)
	}
}
