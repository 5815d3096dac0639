// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// counting counts the writes of accepted connections.
type counting struct {
	net.Listener
	writes *atomic.Int32
}

type countingConn struct {
	net.Conn
	writes *atomic.Int32
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

func (c countingConn) Write(part []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(part)
}

// TestAnswer checks that answers of all lengths arrive over all protocols, and that HTTP/1 sends a response of up to
// two buffers in one write.
func TestAnswer(t *testing.T) {
	start := map[string]func(*httptest.Server){
		"HTTP/1.1":          (*httptest.Server).Start,
		"HTTP/1.1 over TLS": (*httptest.Server).StartTLS,
		"HTTP/2.0 over TLS": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	}
	for protocol, start := range start {
		t.Run(protocol, func(t *testing.T) {
			var writes atomic.Int32
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				length, _ := strconv.Atoi(r.URL.Query().Get("length"))
				Answer(w, r, http.StatusAccepted, []byte(strings.Repeat("x", length)))
			}))
			s.Listener = NewConnections(10, nil).Listen(counting{s.Listener, &writes})
			s.Config.ConnContext = withConnection
			start(s)
			defer s.Close()
			// The first answers of a connection have small TLS records.
			for _, length := range []int{1 << 18, 0, 1, 3000, 4096, 5000, 7000, 8000, 8192, 20000, 1 << 18, 7000, 10} {
				before := writes.Load()
				response, err := s.Client().Get(fmt.Sprintf("%s/?length=%d", s.URL, length))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || !strings.HasPrefix(protocol, response.Proto) || response.StatusCode != http.StatusAccepted ||
					response.ContentLength != int64(length) || string(body) != strings.Repeat("x", length) {
					t.Errorf("%d bytes: got %d bytes over %s, %s, %v", length, len(body), response.Proto, response.Status, err)
				}
				if made := writes.Load() - before; response.ProtoMajor == 1 && length < 1<<18 && made != 1 {
					t.Errorf("%d bytes: want one write, got %d", length, made)
				}
			}
		})
	}
}
