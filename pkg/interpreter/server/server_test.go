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
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/wire"
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

// TestProtocols holds what is spoken.
func TestProtocols(t *testing.T) {
	f := serve(t, working(healthy), Limits{})
	for about, test := range map[string]struct {
		change func(*tls.Config)
		want   string
	}{
		"the newest":  {nil, "HTTP/2.0 304"},
		"TLS 1.2":     {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "HTTP/2.0 303"},
		"HTTP/1.1":    {func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, "HTTP/1.1 304"},
		"TLS 1.1":     {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, "protocol version not supported"},
		"no trust":    {func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }, "unknown authority"},
		"other names": {func(c *tls.Config) { c.ServerName = "other.example.com" }, "not other.example.com"},
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

// TestLarge holds that there is an answer about an object of 20 MiB, and that one that is larger is refused with a code.
func TestLarge(t *testing.T) {
	f := serve(t, working(healthy), Limits{})
	for length, want := range map[int]string{20<<20 - 512: "0 ", 20 << 20: "413 the body is larger than 20971520 bytes"} {
		body := strings.Replace(fmt.Sprintf(message, "InterpretHealth"), `{"a":1}`, `{"text":"`+strings.Repeat("x", length)+`"}`, 1)
		if status, text := f.post(f.client(nil), body, ""); status != http.StatusOK || text != want {
			t.Errorf("%d bytes: %d %s", length, status, text)
		}
	}
	if got := testutil.ToFloat64(bodies(f)); got != 0 {
		t.Errorf("%v bytes are still worked on", got)
	}
}

func bodies(f *fixture) prometheus.Gauge { return f.server.Handler.(*guard).metrics.bodies }

// TestBusy holds that what is beyond the places waits, that it is refused when it has waited in vain, and answered when there is a place again.
func TestBusy(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		inside.Add(1)
		<-release
		return healthy(ctx, r)
	}), Limits{Requests: 2})
	client := f.client(nil)
	answers := make(chan string, 3)
	for range 2 {
		go func() { _, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), ""); answers <- text }()
	}
	eventually(t, "two work", func() bool { return inside.Load() == 2 })
	if status, _ := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=50ms"); status != http.StatusServiceUnavailable {
		t.Errorf("there is no place: %d", status)
	}
	go func() {
		_, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=20s")
		answers <- text
	}()
	close(release)
	for range 3 {
		if got := <-answers; got != "0 " {
			t.Errorf("there is a place again: %s", got)
		}
	}
	if got := testutil.ToFloat64(f.server.Handler.(*guard).metrics.refused); got != 1 {
		t.Errorf("%v were refused", got)
	}
}

// TestRoom holds that large bodies wait for others, and small ones do not.
func TestRoom(t *testing.T) {
	release := make(chan struct{})
	var inside, most atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		if len(r.Object) > small {
			<-release
		}
		return healthy(ctx, r)
	}), Limits{BodyBytes: 1 << 20, BodiesBytes: 1 << 20})
	// Over HTTP/2, bodies that wait would keep others of the same connection waiting, too.
	client := f.client(func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	ask := func(object string) {
		if status, text := f.post(client, strings.Replace(fmt.Sprintf(message, "InterpretHealth"), `{"a":1}`, object, 1), ""); text != "0 " {
			t.Errorf("%d %s", status, text)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { ask(`{"text":"` + strings.Repeat("x", 600<<10) + `"}`) })
	}
	eventually(t, "one is there", func() bool { return inside.Load() == 1 })
	for range 5 {
		ask("{}")
	}
	close(release)
	if all.Wait(); most.Load() > 2 {
		t.Errorf("%d were there at the same time, with a small one", most.Load())
	}
}

// TestSlow holds that a body that does not come is not waited for.
func TestSlow(t *testing.T) {
	f := serve(t, working(healthy), Limits{BodyTimeout: 50 * time.Millisecond})
	for about, change := range map[string]func(*tls.Config){"HTTP/2": nil, "HTTP/1.1": func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }} {
		body, write := io.Pipe()
		go func() { _, _ = io.WriteString(write, fmt.Sprintf(message, "InterpretHealth")[:150]) }()
		response, err := f.client(change).Post("https://"+f.Address(), "application/json", body)
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if !strings.Contains(string(text), "did not come in time") || !strings.Contains(string(text), `"uid":"u"`) {
				t.Errorf("%s: %d %s", about, response.StatusCode, text)
			}
		} else if !strings.Contains(err.Error(), "EOF") {
			t.Errorf("%s: %v", about, err)
		}
		_ = write.Close()
	}
}

// TestPanics holds that the server answers whatever panics, and goes on.
func TestPanics(t *testing.T) {
	f := serve(t, working(func(context.Context, interpreter.Request) (interpreter.Response, error) { panic("a secret") }), Limits{})
	for range 2 {
		if status, text := f.post(f.client(nil), fmt.Sprintf(message, "InterpretHealth"), ""); status != 200 || text != "500 the server failed; its log says why" {
			t.Errorf("%d, %s", status, text)
		}
	}
	o := Options{Metrics: NewMetrics(prometheus.NewRegistry(), knowsQueues), Log: logr.Discard()}
	o.Limits.setDefaults()
	for about, test := range map[string]struct {
		handler http.HandlerFunc
		aborts  bool
	}{
		"before an answer": {func(http.ResponseWriter, *http.Request) { panic(errors.New("x")) }, false},
		"of Go itself":     {func(http.ResponseWriter, *http.Request) { var nothing *Options; _ = nothing.Address }, false},
		"amid an answer":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")); panic("x") }, true},
		"it is aborted":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
	} {
		recorder := httptest.NewRecorder()
		aborted := func() (aborted bool) {
			defer func() { aborted = recover() != nil }()
			newGuard(test.handler, o).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
			return false
		}()
		if aborted != test.aborts || !aborted && recorder.Code != http.StatusInternalServerError {
			t.Errorf("%s: %t, %d", about, aborted, recorder.Code)
		}
	}
	if got := testutil.ToFloat64(o.Metrics.panics); got != 3 {
		t.Errorf("%v panics are counted", got)
	}
}

// TestDrain holds that what is worked on is answered when the server ends, and that nobody is let in any more.
func TestDrain(t *testing.T) {
	release, inside := make(chan struct{}), make(chan struct{})
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		close(inside)
		<-release
		return healthy(ctx, r)
	}), Limits{})
	answered := make(chan error, 1)
	go func() {
		_, err := f.caller(wire.KindContext, 20).Interpret(context.Background(), asked(interpreter.Health, 10))
		answered <- err
	}()
	<-inside
	f.stop()
	eventually(t, "nobody is let in", func() bool {
		status, _ := f.post(f.client(nil), "{}", "")
		return status == 0
	})
	close(release)
	if err := errors.Join(<-answered, <-f.ended); err != nil {
		t.Error(err)
	}
}

// TestMetrics holds that nothing that a caller sends becomes a label, and that kinds are forgotten with their profiles.
func TestMetrics(t *testing.T) {
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		if r.Kind != queue {
			return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: "no"}
		}
		return healthy(ctx, r)
	}), Limits{})
	client := f.client(nil)
	f.post(client, fmt.Sprintf(message, "InterpretHealth"), "")
	f.post(client, fmt.Sprintf(message, "Destroy"), "")
	f.post(client, strings.ReplaceAll(fmt.Sprintf(message, "InterpretHealth"), "Queue", "Evil"), "")
	f.post(client, "no JSON", "")
	const name, head = "graft_interpreter_requests_total", "# HELP graft_interpreter_requests_total Questions by dialect, operation, kind, and code of the answer: 200, or that of the failure, whatever the status of HTTP was.\n# TYPE graft_interpreter_requests_total counter\n"
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
	metrics := f.server.Handler.(*guard).metrics
	metrics.knows = func(interpreter.Kind) bool { return false }
	metrics.Forget()
	if text, err := testutil.GatherAndCount(f.registry, name); text != 3 || err != nil {
		t.Errorf("%d are left, %v", text, err)
	}
}

// TestNoCertificate holds that nobody gets through before there is a certificate.
func TestNoCertificate(t *testing.T) {
	source := certificate.NewFiles(certificate.FilesOptions{})
	if _, err := certificate.Serve(source)(nil); err == nil {
		t.Error("there is one")
	}
	if _, err := New(t.Context(), Options{Address: "256.0.0.1:1"}); err == nil {
		t.Error("the address is none")
	}
}

// TestRotation takes the authority away twice under steady calls, each over a connection of its own. Callers learn of authorities as they do from a
// registration. No call fails.
func TestRotation(t *testing.T) {
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	f.source, f.clock = issued(t, 55*time.Minute)
	f.begin(working(healthy), Limits{})
	f.server.SetKeepAlivesEnabled(false)
	var caller atomic.Pointer[func() error]
	register := func() {
		asks := f.caller(wire.KindContext, 20)
		call := func() error {
			_, err := asks.Interpret(context.Background(), asked(interpreter.Health, 10))
			return err
		}
		caller.Store(&call)
		if err := f.source.Registered(t.Context(), f.source.Held().Bundle); err != nil {
			t.Fatal(err)
		}
	}
	register()
	var (
		calls   atomic.Int64
		ending  = make(chan struct{})
		callers sync.WaitGroup
	)
	for range 2 {
		callers.Go(func() {
			for {
				select {
				case <-ending:
					return
				default:
				}
				if err := (*caller.Load())(); err != nil {
					t.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	authorities := map[time.Time]bool{}
	for end := time.Now().Add(40 * time.Minute); f.clock.Now().Before(end); f.clock.SetTime(f.clock.Now().Add(3 * time.Minute)) {
		if err := f.source.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		authorities[f.source.Held().AuthorityEnds] = true
		before := calls.Load()
		eventually(t, "calls go on", func() bool { return calls.Load() > before+2 || t.Failed() })
		register()
		before = calls.Load()
		eventually(t, "calls go on", func() bool { return calls.Load() > before+2 || t.Failed() })
	}
	close(ending)
	callers.Wait()
	if len(authorities) != 3 {
		t.Errorf("there were %d authorities, in %d calls", len(authorities), calls.Load())
	}
}
