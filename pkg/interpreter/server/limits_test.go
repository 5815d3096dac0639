// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/net/http2"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

// TestLargeObjects checks that an object of 20 MiB is answered, and that a larger one is rejected with a code.
func TestLargeObjects(t *testing.T) {
	f := serve(t, working(healthy), serving.Limits{})
	for length, want := range map[int]string{20<<20 - 512: "0 ", 20 << 20: "413 the body is larger than 20971520 bytes"} {
		body := strings.Replace(fmt.Sprintf(message, "InterpretHealth"), `{"a":1}`, `{"text":"`+strings.Repeat("x", length)+`"}`, 1)
		if status, text := f.post(f.client(nil), body, ""); status != http.StatusOK || text != want {
			t.Errorf("%d bytes: %d %s", length, status, text)
		}
	}
	eventually(t, "no bytes are left", func() bool { return metrics.Count(t, f.registry, "graft_server_body_bytes", nil) == 0 })
}

// TestRequestsBeyondLimitWait checks that requests beyond the limit wait, are refused after their timeout, and are answered when a place
// is free.
func TestRequestsBeyondLimitWait(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		inside.Add(1)
		<-release
		return healthy(ctx, r)
	}), serving.Limits{Requests: 2})
	client := f.client(nil)
	answers := make(chan string, 3)
	for range 2 {
		go func() { _, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), ""); answers <- text }()
	}
	eventually(t, "two work", func() bool { return inside.Load() == 2 })
	if status, _ := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=50ms"); status != http.StatusServiceUnavailable {
		t.Errorf("while all places are taken: want a timeout, got status %d", status)
	}
	go func() {
		_, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=200s")
		answers <- text
	}()
	close(release)
	for range 3 {
		if got := <-answers; got != "0 " {
			t.Errorf("want the waiting request answered after a place is free, got %s", got)
		}
	}
	if got := testutil.ToFloat64(f.entrance().Metrics.refused); got != 1 {
		t.Errorf("%v were refused", got)
	}
}

// TestLargeBodiesWaitForMemory checks that large bodies wait for memory, and small ones do not.
func TestLargeBodiesWaitForMemory(t *testing.T) {
	release := make(chan struct{})
	var inside, most atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		if len(r.Object) > 64<<10 {
			<-release
		}
		return healthy(ctx, r)
	}), serving.Limits{BodyBytes: 1 << 20, BodiesBytes: 4 << 20})
	// Over HTTP/2, waiting bodies would block other requests of the same connection, too.
	client := f.client(func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	ask := func(object string) {
		if status, text := f.post(client, strings.Replace(fmt.Sprintf(message, "InterpretHealth"), `{"a":1}`, object, 1), ""); text != "0 " {
			t.Errorf("%d %s", status, text)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { ask(`{"text":"` + strings.Repeat("x", 1000<<10) + `"}`) })
	}
	// All eight may share the first half of the memory. The other half completes two of them.
	eventually(t, "two are there", func() bool { return inside.Load() >= 2 })
	for range 5 {
		ask("{}")
	}
	close(release)
	if all.Wait(); most.Load() > 5 {
		t.Errorf("want at most 5 requests at once, got %d", most.Load())
	}
}

// protocols are settings of a client, by name.
var protocols = map[string]func(*tls.Config){"HTTP/2": nil, "HTTP/1.1": func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}

// inTime repeats a time-dependent check with increasing time limits for bodies.
func inTime(t *testing.T, try func(most time.Duration) error) {
	t.Helper()
	for most := 50 * time.Millisecond; ; most *= 4 {
		err := try(most)
		if err == nil {
			return
		}
		if most > 10*time.Second {
			t.Fatal(err)
		}
	}
}

// TestStalledBodyIsDropped checks that a stalled body is dropped.
func TestStalledBodyIsDropped(t *testing.T) {
	for about, change := range protocols {
		inTime(t, func(most time.Duration) error {
			f := serve(t, working(healthy), serving.Limits{BodyTimeout: most})
			body, write := io.Pipe()
			defer write.Close()
			go func() { _, _ = io.WriteString(write, fmt.Sprintf(message, "InterpretHealth")[:150]) }()
			response, err := f.client(change).Post("https://"+f.Address(), "application/json", body)
			if err != nil {
				if !strings.Contains(err.Error(), "EOF") {
					t.Errorf("%s: %v", about, err)
				}
				return nil
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if !strings.Contains(string(text), "did not arrive before the timeout") || !strings.Contains(string(text), `"uid":"u"`) {
				return fmt.Errorf("%s: %d %s", about, response.StatusCode, text)
			}
			return nil
		})
	}
}

// TestBodyTimeoutDoesNotLimitWork checks that the time limit of a body does not limit the work after it.
func TestBodyTimeoutDoesNotLimitWork(t *testing.T) {
	for about, change := range protocols {
		inTime(t, func(most time.Duration) error {
			f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
				select {
				case <-ctx.Done():
					return interpreter.Response{}, ctx.Err()
				case <-time.After(2 * most):
					return healthy(ctx, r)
				}
			}), serving.Limits{BodyTimeout: most})
			if status, text := f.post(f.client(change), fmt.Sprintf(message, "InterpretHealth"), "?timeout=60s"); text != "0 " {
				return fmt.Errorf("%s: %d %s", about, status, text)
			}
			return nil
		})
	}
}

// TestRequestsBeyondQueueAreRejected checks that at most Limits.Waiting requests wait. Of two that arrive for one such
// place, one is rejected at once, and the other one and the request in progress are answered. A request whose body has
// not arrived when the next one begins is the one that is rejected.
func TestRequestsBeyondQueueAreRejected(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int32
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		inside.Add(1)
		<-release
		return healthy(ctx, r)
	}), serving.Limits{Requests: 1, Waiting: 1})
	client := f.client(nil)
	type answer struct {
		status int
		text   string
	}
	answers := make(chan answer, 3)
	post := func() {
		status, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=100s")
		answers <- answer{status, text}
	}
	go post()
	eventually(t, "one works", func() bool { return inside.Load() == 1 })
	go post()
	go post()
	select {
	case got := <-answers:
		if got.status != http.StatusServiceUnavailable {
			t.Errorf("too many wait: %d %s", got.status, got.text)
		}
	case <-time.After(time.Minute): // less than the timeout of the requests
		t.Error("no request was rejected while the others wait")
	}
	close(release)
	for range 2 {
		if got := <-answers; got.text != "0 " {
			t.Errorf("the waiting request: want the answer 0, got %d %s", got.status, got.text)
		}
	}
	if status, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), ""); status != http.StatusOK {
		t.Errorf("after the waiting requests have ended: want an answer, got %d %s", status, text)
	}
}

// TestConcurrentRequestsOfOneConnection checks the limit of concurrent requests on a connection.
func TestConcurrentRequestsOfOneConnection(t *testing.T) {
	f := serve(t, working(healthy), serving.Limits{})
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	config.RootCAs.AppendCertsFromPEM(f.source.Held().Bundle)
	connection, err := tls.Dial("tcp", f.Address(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	framer := http2.NewFramer(connection, connection)
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("unexpected first HTTP/2 frame: %s", frame)
	}
	if streams, said := settings.Value(http2.SettingMaxConcurrentStreams); !said || streams != 32 {
		t.Errorf("%d streams", streams)
	}
}
