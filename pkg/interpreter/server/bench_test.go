// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// BenchmarkLayers measures the guard, the codec and the metrics around the rules, without the network.
func BenchmarkLayers(b *testing.B) {
	o := Options{Interpreter: working(healthy), Log: logr.Discard(), Metrics: NewMetrics(prometheus.NewRegistry(), knowsQueues)}
	o.Limits = DefaultLimits()
	codec := api.New(api.Options{Interpreter: o.Interpreter, Log: o.Log, Answered: o.Metrics.answered})
	for name, handler := range map[string]http.Handler{"codec": codec, "guard": serving.Drain{Handler: &entrance{next: codec, guard: serving.NewGuard(o.Limits, nil), Options: o}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			body := fmt.Appendf(nil, message, "InterpretHealth")
			target := &url.URL{Path: "/", RawQuery: "timeout=10s"}
			for b.Loop() {
				w := &discard{header: http.Header{}}
				handler.ServeHTTP(w, &http.Request{
					Method: http.MethodPost, URL: target, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				})
				if w.status != http.StatusOK {
					b.Fatal(w.status)
				}
			}
		})
	}
}

// discard is a ResponseWriter that drops the response and keeps its status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) Write(p []byte) (int, error)      { return len(p), nil }
func (d *discard) WriteHeader(status int)           { d.status = status }
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }
