// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

// world is a server under test, with one contract.
type world struct {
	*Server
	options  Options
	registry *prometheus.Registry
	stop     context.CancelFunc
	ended    chan error
	mutex    sync.Mutex
	log      strings.Builder
}

// contract is one with a single endpoint, /do.
func contract(handle http.HandlerFunc) Contract {
	return Contract{Name: "test", Handler: handle, Timeout: time.Minute, MaximumBytes: 64, Endpoint: func(path string) string {
		if path == "/do" {
			return "do"
		}
		return ""
	}}
}

// newWorld serves the listener until the test ends.
func newWorld(t *testing.T, l Listener, handle http.HandlerFunc) *world {
	t.Helper()
	return newWorldWithin(t, 500*time.Millisecond, l, handle)
}

// few are the limits of most tests.
func few() serving.Limits {
	return serving.Limits{Connections: 4, Streams: 32, Requests: 2, Behind: 1, BodyBytes: 1 << 20, BodyTimeout: serving.BodyTimeout}
}

// newWorldWithin is newWorld with a time limit for open requests.
func newWorldWithin(t *testing.T, grace time.Duration, l Listener, handle http.HandlerFunc) *world {
	t.Helper()
	return newLimitedWorld(t, grace, few(), l, handle)
}

// newLimitedWorld is newWorldWithin with other limits.
func newLimitedWorld(t *testing.T, grace time.Duration, limits serving.Limits, l Listener, handle http.HandlerFunc) *world {
	t.Helper()
	w := &world{registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	if l.Contracts = []Contract{contract(handle)}; l.Network == "" {
		l.Network, l.Address, l.Mode, l.UID, l.GID = "unix", filepath.Join(t.TempDir(), "s.sock"), 0o600, -1, -1
	}
	w.options = Options{Listeners: []Listener{l}, Limits: limits, Metrics: NewMetrics(w.registry), Log: funcr.New(func(_, line string) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.log.WriteString(line + "\n")
	}, funcr.Options{Verbosity: 1})}
	var err error
	if w.Server, err = New(t.Context(), w.options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() { w.ended <- w.Serve(ctx, grace); close(w.ended) }()
	t.Cleanup(func() {
		cancel()
		<-w.ended
	})
	return w
}

func (w *world) logged() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.log.String()
}

// client talks to the first address; config is nil without TLS.
func (w *world) client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, w.options.Listeners[0].Network, w.Addresses()[0])
		},
		TLSClientConfig: config, DisableKeepAlives: true,
	}}
}

// ask posts a body, and returns the answer, or the error, in a line.
func (w *world) ask(t *testing.T, c *http.Client, scheme, path, body string, header ...string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	if len(header) == 2 {
		request.Header.Set(header[0], header[1])
	}
	response, err := c.Do(request)
	if err != nil {
		return "error"
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.Status + ": " + string(text)
}

// count is the value of a metric with labels that contain all pairs.
func (w *world) count(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	return metrics.Count(t, w.registry, name, labels)
}

// echo answers with the body of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = w.Write(body)
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Addresses returns the open addresses in the order of the listeners, with the actual port if it was 0.
func (s *Server) Addresses() []string {
	var all []string
	for _, p := range s.places {
		all = append(all, p.address())
	}
	return all
}
