// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Monitor serves /metrics, /healthz and /readyz.
type Monitor struct {
	// Program is the name of the program in messages.
	Program string
	// Address is host:port. "0" disables the server.
	Address string
	Metrics prometheus.Gatherer
	// Ready has the readiness checks, by name.
	Ready map[string]func(context.Context) error
	// Profiling also serves /debug/pprof.
	Profiling bool
}

// checkTimeout limits all checks together. A kubelet's probe waits one second by default.
const checkTimeout = 900 * time.Millisecond

// watchedConnections limits the connections for monitoring.
const watchedConnections = 16

// ListenWatched returns a listener for monitoring, with a limit of its own.
func ListenWatched(l net.Listener) net.Listener {
	return NewConnections(watchedConnections, nil).Listen(l)
}

// Watched returns a server for monitoring.
func Watched(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: working(handler), ErrorLog: ErrorLog(log), ConnContext: withConnection,
		ReadHeaderTimeout: HeadTimeout, ReadTimeout: HeadTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: MaximumHead,
	}
}

// Open listens on the address, if there is one, and logs it. The server answers until stop is called, which
// waits for its end. It fails if the address is in use or invalid.
func (m *Monitor) Open(ctx context.Context, log logr.Logger) (stop func(), err error) {
	if m.Address == "0" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("opening the address of metrics: %w: is another %s running? set metrics.address for a second one", err, m.Program)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the address of metrics: %w", err)
	}
	server := Watched(m.handler(), log)
	listener = ListenWatched(listener)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // Serve returns when the server is closed
	}()
	log.Info("Serving metrics", "metrics", listener.Addr().String())
	return func() { _ = server.Close(); <-done }, nil
}

func (m *Monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", m.ready)
	if m.Profiling {
		for path, serve := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.HandleFunc(path, serve)
		}
	}
	return mux
}

// ready writes one line for each failed check.
func (m *Monitor) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(m.Ready)) {
		if err := m.Ready[name](ctx); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
