// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// client trusts the server.
func (f *fixture) client(change func(*tls.Config)) *http.Client {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AppendCertsFromPEM(f.source.Held().Bundle)
	if change != nil {
		change(config)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: len(config.NextProtos) == 0}
	f.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const message = `{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterContext","request":{"uid":"u","kind":{"group":"acme.com","version":"v1",` +
	`"kind":"Queue"},"name":"q","operation":"%s","object":{"a":1}}}`

// TestProtocols checks the supported protocols.
func TestProtocols(t *testing.T) {
	f := serve(t, working(healthy), serving.Limits{})
	for about, test := range map[string]struct {
		change func(*tls.Config)
		want   string
	}{
		"accepts HTTP/2 with the newest TLS":                {nil, "HTTP/2.0 304"},
		"accepts TLS 1.2":                                   {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "HTTP/2.0 303"},
		"accepts HTTP/1.1":                                  {func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, "HTTP/1.1 304"},
		"rejects TLS 1.1":                                   {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, "protocol version not supported"},
		"is rejected by a client without the CA":            {func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }, "unknown authority"},
		"is rejected by a client that expects another name": {func(c *tls.Config) { c.ServerName = "other.example.com" }, "not other.example.com"},
	} {
		response, err := f.client(test.change).Post("https://"+f.Address()+"/", "application/json", strings.NewReader(fmt.Sprintf(message, "InterpretHealth")))
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %x", response.Proto, response.TLS.Version)
			_ = response.Body.Close()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", about, got)
		}
	}
}

// TestDepartedCallerKeepsPlaceUntilWorkEnds checks that work of a departed caller keeps its place until it ends.
func TestDepartedCallerKeepsPlaceUntilWorkEnds(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		inside.Add(1)
		<-release // regardless of the context
		return healthy(ctx, r)
	}), serving.Limits{Requests: 2})
	client := f.client(nil)
	for range 6 {
		if status, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=30ms"); status == http.StatusOK && text == "0 " {
			t.Error("the request was answered before its timeout")
		}
	}
	if got := inside.Load(); got > 2 {
		t.Errorf("%d work where 2 may", got)
	}
	close(release)
	eventually(t, "there are places again", func() bool {
		_, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=200s")
		return text == "0 "
	})
}

// TestPanics checks that the server answers after a panic and continues.
func TestPanics(t *testing.T) {
	f := serve(t, working(func(context.Context, interpreter.Request) (interpreter.Response, error) { panic("a secret") }), serving.Limits{})
	for range 2 {
		if status, text := f.post(f.client(nil), fmt.Sprintf(message, "InterpretHealth"), ""); status != 200 || text != "500 the server failed; its log has the reason" {
			t.Errorf("%d, %s", status, text)
		}
	}
	o := Options{Metrics: NewMetrics(prometheus.NewRegistry(), knowsQueues), Log: logr.Discard()}
	o.Limits = DefaultLimits()
	for about, handler := range map[string]http.HandlerFunc{
		"before an answer": func(http.ResponseWriter, *http.Request) { panic(errors.New("x")) },
		"of Go itself":     func(http.ResponseWriter, *http.Request) { var nothing *Options; _ = nothing.Address },
		"amid an answer":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")); panic("x") },
		"it is aborted":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		aborted := func() (aborted any) {
			defer func() { aborted = recover() }()
			(&entrance{next: anywhere{handler}, guard: serving.NewGuard(o.Limits, nil), Options: o}).ServeHTTP(
				httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
			return nil
		}()
		if aborted != http.ErrAbortHandler {
			t.Errorf("%s: %v", about, aborted)
		}
	}
	if got := testutil.ToFloat64(o.Metrics.panics); got != 3 {
		t.Errorf("%v panics are counted", got)
	}
}

// anywhere is a handler as a codec.
type anywhere struct{ http.Handler }

func (a anywhere) ServeIn(_ context.Context, w http.ResponseWriter, r *http.Request) {
	a.ServeHTTP(w, r)
}

// TestMetrics checks that no input of a caller becomes a label, and that kinds are removed with their profiles.
func TestMetrics(t *testing.T) {
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		if r.Kind != queue {
			return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: "no"}
		}
		return healthy(ctx, r)
	}), serving.Limits{})
	client := f.client(nil)
	f.post(client, fmt.Sprintf(message, "InterpretHealth"), "")
	f.post(client, fmt.Sprintf(message, "Destroy"), "")
	f.post(client, strings.ReplaceAll(fmt.Sprintf(message, "InterpretHealth"), "Queue", "Evil"), "")
	f.post(client, "no JSON", "")
	const name, head = "graft_interpreter_requests_total", "# HELP graft_interpreter_requests_total Requests by dialect, operation, kind and code: 200, or the code of the failure (not the HTTP status).\n# TYPE graft_interpreter_requests_total counter\n"
	counted := func(want string) error {
		return testutil.GatherAndCompare(f.registry, strings.NewReader(head+want), name)
	}
	want := `graft_interpreter_requests_total{code="200",dialect="ResourceInterpreterContext",kind="Queue.acme.com",operation="health"} 1
graft_interpreter_requests_total{code="400",dialect="other",kind="other",operation="other"} 1
graft_interpreter_requests_total{code="404",dialect="ResourceInterpreterContext",kind="other",operation="health"} 1
graft_interpreter_requests_total{code="404",dialect="ResourceInterpreterContext",kind="other",operation="other"} 1
`
	eventually(t, "all are counted", func() bool {
		count, _ := testutil.GatherAndCount(f.registry, name)
		return count == 4
	})
	if err := counted(want); err != nil {
		t.Error(err)
	}
	metrics := f.entrance().Metrics
	metrics.knows = func(k interpreter.Kind) bool { return k.Version != "v0" }
	about := func(version string) api.Answered {
		of := interpreter.Kind{Group: queue.Group, Version: version, Kind: queue.Kind}
		return api.Answered{Dialect: api.KindContext, Operation: interpreter.Health, Kind: of, Code: 200}
	}
	for version := range 100 {
		metrics.answered(about("v" + strconv.Itoa(version)))
	}
	if len(metrics.seen) != 1 {
		t.Errorf("%d are remembered for versions of a kind", len(metrics.seen))
	}
	if err := counted(strings.Replace(want, "} 1\n", "} 100\n", 1) +
		`graft_interpreter_requests_total{code="200",dialect="ResourceInterpreterContext",kind="other",operation="health"} 1
`); err != nil {
		t.Error(err)
	}
	metrics.knows = func(interpreter.Kind) bool { return false }
	metrics.Forget()
	if text, err := testutil.GatherAndCount(f.registry, name); text != 4 || err != nil {
		t.Errorf("unexpected number of metrics: %d, %v", text, err)
	}
}
