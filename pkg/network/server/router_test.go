// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

func TestRouter(t *testing.T) {
	w := newWorld(t, Listener{}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		case string(body) == "panic":
			panic("with a secret")
		case string(body) == "crash":
			_ = body[len(body):][0]
		case string(body) == "late":
			_, _ = w.Write([]byte("begun"))
			panic(errors.New("with a secret"))
		default:
			_, _ = w.Write(body)
		}
	})
	const failed = "500 Internal Server Error: the server failed; its log has the reason"
	for _, test := range []struct{ path, body, want string }{
		{"/do", "x", "200 OK: x"},
		{"/other", "x", "200 OK: x"},
		{"/do", strings.Repeat("x", 65), "413 Request Entity Too Large: "},
		{"/do", "panic", failed},
		{"/do", "crash", failed},
		{"/do", "late", "error"},
	} {
		if got := w.ask(t, w.client(nil), "http", test.path, test.body); got != test.want {
			t.Errorf("%s %.10s: %s", test.path, test.body, got)
		}
	}
	if log := w.logged(); strings.Contains(log, "secret") || !strings.Contains(log, "index out of range") || !strings.Contains(log, "router_test.go") {
		t.Errorf("the log is %s", log)
	}
	for labels, want := range map[[2]string]float64{{"do", "200"}: 2, {"do", "413"}: 1, {"do", "500"}: 2, {"other", "200"}: 1, {"/other", "200"}: 0} {
		if got := w.count(t, "graft_network_requests_total", map[string]string{"endpoint": labels[0], "code": labels[1]}); got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
	if panics, flying := w.count(t, "graft_network_panics_total", nil), w.count(t, "graft_network_requests_in_flight", nil); panics != 3 || flying != 0 {
		t.Errorf("%v panics, %v in flight", panics, flying)
	}
}

// TestBrowsers checks that requests of web pages over TCP are rejected with any body and host name, and that programs
// are served.
func TestBrowsers(t *testing.T) {
	const no, yes = "403 Forbidden: requests from web pages are refused", "200 OK: x"
	for _, test := range []struct{ network, header, value, want string }{
		{"tcp", "User-Agent", "dranet", yes},
		{"tcp", "Sec-Fetch-Site", "none", yes},
		{"tcp", "Sec-Fetch-Site", "cross-site", no},
		{"tcp", "Sec-Fetch-Site", "same-site", no},
		{"tcp", "Origin", "https://example.com", no},
		{"tcp", "Origin", "null", no},
		{"tcp", "Origin", "http://localhost", no},
		{"unix", "Origin", "https://example.com", yes},
	} {
		l := Listener{}
		if test.network == "tcp" {
			l.Network, l.Address = "tcp", "127.0.0.1:0"
		}
		w := newWorld(t, l, echo)
		if got := w.ask(t, w.client(nil), "http", "/do", "x", test.header, test.value); got != test.want {
			t.Errorf("%s %s: %s: %s", test.network, test.header, test.value, got)
		}
		if got := w.count(t, "graft_network_requests_refused_total", map[string]string{"reason": "page"}); (got == 1) != (test.want == no) {
			t.Errorf("%s %s: %s: %v are counted", test.network, test.header, test.value, got)
		}
	}
}

// TestIdleConnections checks that callers are answered at once, however many connections are open without requests: those are closed. Docker has a
// socket of its own.
func TestIdleConnections(t *testing.T) {
	ofDocker := docker.New(docker.Options{}).ServeHTTP
	capabilities := `200 OK: {"Scope":"local","ConnectivityScope":"local","GwAllocChecker":true}` + "\n"
	for _, c := range []struct {
		network, path, want string
		handle              http.HandlerFunc
	}{
		{"unix", "/do", "200 OK: x", echo},
		{"tcp", "/do", "200 OK: x", echo},
		{"unix", "/NetworkDriver.GetCapabilities", capabilities, ofDocker},
	} {
		network := c.network
		l := Listener{}
		if network == "tcp" {
			l.Network, l.Address = "tcp", "127.0.0.1:0"
		}
		limits := few()
		limits.Connections = 1024
		w := newLimitedWorld(t, time.Second, limits, l, c.handle)
		for range 1100 {
			c, err := net.Dial(network, w.Addresses()[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}
		client := w.client(nil)
		client.Timeout = 5 * time.Second // idle connections are closed after ten seconds anyway
		for range 20 {
			if got := w.ask(t, client, "http", c.path, "x"); got != c.want {
				t.Fatalf("%s%s: %s", network, c.path, got)
			}
		}
		if got := w.count(t, "graft_server_connections", nil); got > 1024 {
			t.Errorf("%s: %v are open", network, got)
		}
		if got := w.count(t, "graft_server_refused_total", map[string]string{"kind": "connection", "reason": "stalled"}); got < 76 {
			t.Errorf("%s: %v were closed", network, got)
		}
	}
}

// TestSeveralContracts checks that each contract gets its own requests.
func TestSeveralContracts(t *testing.T) {
	named := func(name string) Contract {
		return Contract{Name: name, Endpoint: func(path string) string { return map[string]string{"/" + name: name}[path] }, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(name)) })}
	}
	g := &router{contracts: []Contract{named("a"), named("b")}, guard: serving.NewGuard(few(), nil), metrics: NewMetrics(prometheus.NewRegistry())}
	for path, want := range map[string]string{"/a": "200 a", "/b": "200 b", "/c": "404 no contract of this listener has this path"} {
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if got := fmt.Sprint(recorder.Code, " ", recorder.Body); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestRequestsBeyondLimitAreRefused checks that requests beyond the limit are refused at once, and that health checks are answered.
func TestRequestsBeyondLimitAreRefused(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	w := newWorld(t, Listener{}, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			entered <- struct{}{}
			<-leave
		}
	})
	for range 2 {
		go w.ask(t, w.client(nil), "http", "/do", "x")
		<-entered
	}
	response, err := w.client(nil).Post("http://localhost/do", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" {
		t.Errorf("got %s, %s", response.Status, response.Header)
	}
	question, err := w.client(nil).Get("http://localhost/do")
	if err != nil {
		t.Fatal(err)
	}
	defer question.Body.Close()
	if question.StatusCode != http.StatusOK {
		t.Errorf("a question: %s", question.Status)
	}
	close(leave)
	go func() { <-entered }()
	for w.count(t, "graft_network_requests_in_flight", nil) > 0 {
		time.Sleep(time.Millisecond)
	}
	if got := w.ask(t, w.client(nil), "http", "/do", "x"); got != "200 OK: " {
		t.Errorf("afterwards: %s", got)
	}
}

// TestSlowBody checks that a body must arrive in time, and that a long operation after it continues.
func TestSlowBody(t *testing.T) {
	const patience = time.Second
	outcomes := make(chan error, 1)
	limits := few()
	limits.BodyTimeout = patience
	w := newLimitedWorld(t, time.Second, limits, Listener{}, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			outcomes <- err
			return
		}
		takes := patience + 100*time.Millisecond
		if string(body) == "go" {
			takes = time.Minute
		}
		select {
		case <-r.Context().Done():
			outcomes <- context.Cause(r.Context())
		case <-time.After(takes):
			outcomes <- nil
		}
	})
	send := func(body string) net.Conn {
		connection, err := net.Dial("unix", w.Addresses()[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(connection, "POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		return connection
	}
	defer send("a").Close()
	if err := <-outcomes; err == nil {
		t.Error("half a body is waited for")
	}
	defer send("ab").Close()
	if err := <-outcomes; err != nil {
		t.Errorf("a long request was aborted: %v", err)
	}
	send("go").Close()
	if err := <-outcomes; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that leaves: %v", err)
	}
}

// TestShutdown checks that open requests may finish within the timeout of the shutdown, and are cancelled after it.
func TestShutdown(t *testing.T) {
	for name, test := range map[string]struct {
		grace    time.Duration
		finishes bool
		want     string
	}{
		"a request that was answered":         {time.Minute, true, "200 OK: done"},
		"a request that the client broke off": {50 * time.Millisecond, false, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			entered, finish := make(chan struct{}), make(chan struct{})
			w := newWorldWithin(t, test.grace, Listener{}, func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				select {
				case <-r.Context().Done():
				case <-finish:
					_, _ = w.Write([]byte("done"))
				}
			})
			answers := make(chan string)
			go func() { answers <- w.ask(t, w.client(nil), "http", "/do", "x") }()
			<-entered
			w.stop()
			for listens := true; listens && test.finishes; time.Sleep(time.Millisecond) { // until it has begun to end
				connection, err := net.Dial("unix", w.options.Listeners[0].Address)
				if listens = err == nil; listens {
					_ = connection.Close()
				}
			}
			if test.finishes {
				close(finish)
			}
			if got := <-answers; got != test.want {
				t.Errorf("got %s", got)
			}
			if err := <-w.ended; err != nil {
				t.Error(err)
			}
			if got := w.ask(t, w.client(nil), "http", "/do", "x"); got != "error" {
				t.Errorf("the stopped server still answers: %s", got)
			}
		})
	}
}

// TestInsecure checks that an address that everyone can reach is logged as an error.
func TestInsecure(t *testing.T) {
	w := newWorld(t, Listener{Network: "tcp", Address: "127.0.0.1:0", Insecure: true}, echo)
	if got := w.ask(t, w.client(nil), "http", "/do", "x"); got != "200 OK: x" {
		t.Error(got)
	}
	if !strings.Contains(w.logged(), "INSECURE") {
		t.Errorf("the log is %s", w.logged())
	}
}
