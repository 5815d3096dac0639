// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

// guarded is a server behind a guard, which runs until the test ends.
type guarded struct {
	t        *testing.T
	guard    *Guard
	registry *prometheus.Registry
	address  string
	client   *http.Client
}

// withLimits sets the limits that a test leaves out.
func withLimits(l Limits) Limits {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&l.Connections, 100)
	fill(&l.Streams, 32)
	fill(&l.Requests, 16)
	fill(&l.Waiting, 64)
	if l.BodyBytes == 0 {
		l.BodyBytes = 1 << 20
	}
	if l.BodyTimeout == 0 {
		l.BodyTimeout = time.Minute
	}
	return l
}

func serveGuarded(t *testing.T, l Limits, handle func(context.Context, http.ResponseWriter, *http.Request)) *guarded {
	t.Helper()
	f := &guarded{t: t, registry: prometheus.NewRegistry()}
	l = withLimits(l)
	f.guard = NewGuard(l, NewMetrics(f.registry, "test"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := f.guard.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f.guard.Serve(w, r, l.BodyBytes, handle); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}), logr.Discard())
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(f.guard.Listen(listener)) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	f.client = &http.Client{Transport: transport}
	return f
}

// echoLength answers with the length of the body, or with its error.
func echoLength(_ context.Context, w http.ResponseWriter, r *http.Request) {
	body, err := ReadAll(r, 1<<20)
	fmt.Fprint(w, len(body), " ", err)
}

func (f *guarded) post(body io.Reader) string {
	f.t.Helper()
	response, err := f.client.Post("http://"+f.address, "text/plain", body)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", strings.TrimSpace(string(text)))
}

// dial opens a connection and sends a text.
func (f *guarded) dial(text string) net.Conn {
	f.t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *guarded) count(name string, labels map[string]string) float64 {
	f.t.Helper()
	return metrics.Count(f.t, f.registry, name, labels)
}

func (f *guarded) eventually(about string, right func() bool) {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); !right(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: timed out waiting for this condition", about)
		}
	}
}

// partial is the head of a request that announces more than comes.
func partial(announced int, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", announced, body)
}

// TestWorkLongerThanBodyTimeout checks that the limit for the arrival of a body does not limit the work after it.
func TestWorkLongerThanBodyTimeout(t *testing.T) {
	const arrival = 200 * time.Millisecond
	f := serveGuarded(t, Limits{BodyTimeout: arrival}, func(ctx context.Context, w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ctx.Done():
		case <-time.After(2 * arrival):
		}
		fmt.Fprint(w, ctx.Err())
	})
	for range 2 { // the second request uses the same connection
		if got := f.post(strings.NewReader("abc")); got != "200 <nil>" {
			t.Errorf("the response is %q, want %q", got, "200 <nil>")
		}
	}
}

// TestSmallBodiesWhileLargeOnesAreInProgress checks that large bodies leave memory for small ones: those that are complete
// and in progress, and the beginnings of those that wait for memory.
func TestSmallBodiesWhileLargeOnesAreInProgress(t *testing.T) {
	const large = 1000 << 10
	release := make(chan struct{})
	var inside atomic.Int32
	f := serveGuarded(t, Limits{BodyBytes: 1 << 20, BodiesBytes: 4 << 20}, func(_ context.Context, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == large {
			inside.Add(1)
			<-release
		}
		fmt.Fprint(w, "done")
	})
	var all sync.WaitGroup
	send := func() { all.Go(func() { f.post(strings.NewReader(strings.Repeat("x", large))) }) }
	for n := range int32(4) { // one after the other, so that they take as much memory as they can
		send()
		f.eventually("a large request is in progress", func() bool { return inside.Load() == n+1 })
	}
	for range 4 {
		send()
	}
	f.eventually("the other large bodies wait for memory", func() bool {
		f.guard.mutex.Lock()
		defer f.guard.mutex.Unlock()
		return f.guard.waiting == 4
	})
	small := make(chan string)
	go func() { small <- f.post(strings.NewReader(strings.Repeat("x", 60<<10))) }()
	select {
	case got := <-small:
		if got != "200 done" {
			t.Errorf("the response to a small request is %q, want %q", got, "200 done")
		}
	case <-time.After(20 * time.Second):
		t.Error("a small request waits for large ones")
	}
	close(release)
	all.Wait()
}

// TestBytesThatHandlersRead checks the bytes that handlers read of complete, oversized, interrupted and chunked bodies.
func TestBytesThatHandlersRead(t *testing.T) {
	f := serveGuarded(t, Limits{}, echoLength)
	for about, test := range map[string]struct {
		body io.Reader
		want string
	}{
		"a request without a body":          {http.NoBody, "200 0 <nil>"},
		"a small body":                      {strings.NewReader("abc"), "200 3 <nil>"},
		"a body without a length":           {io.MultiReader(strings.NewReader("abc"), strings.NewReader("de")), "200 5 <nil>"},
		"a body at the limit of one buffer": {strings.NewReader(strings.Repeat("x", 1<<20)), "200 1048576 <nil>"},
		"one byte above that limit":         {strings.NewReader(strings.Repeat("x", 1<<20+1)), "200 1048577 <nil>"},
		"one byte below that limit":         {strings.NewReader(strings.Repeat("x", 1<<20-1)), "200 1048575 <nil>"},
	} {
		for range 3 { // buffers are used again
			if got := f.post(test.body); got != test.want {
				t.Errorf("%s: %s", about, got)
			}
			if seeker, ok := test.body.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			} else {
				break
			}
		}
	}
	c := f.dial(partial(10, "abc"))
	_ = c.(*net.TCPConn).CloseWrite()
	text, _ := io.ReadAll(c)
	if !strings.HasSuffix(string(text), "3 unexpected EOF") || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("broken off: %s", text)
	}
	f.eventually("all is given back", func() bool { return f.count("graft_server_body_bytes", nil) == 0 })
	if f.guard.here != 0 || f.guard.arriving.Len() != 0 || !f.guard.places.TryAcquire(16) {
		t.Errorf("%d are here, %d arrive", f.guard.here, f.guard.arriving.Len())
	}
}

// TestMemoryGrowsWithReceivedBytes checks that memory grows with received bytes, not with the announced length.
func TestMemoryGrowsWithReceivedBytes(t *testing.T) {
	for _, test := range []struct {
		held            int
		announced, most int64
		want            int
	}{
		{0, 8 << 20, 8 << 20, 4096},
		{4096, 8 << 20, 8 << 20, 16 << 10},
		{1 << 20, 8 << 20, 8 << 20, 4 << 20},
		{1 << 20, -1, 8 << 20, 4 << 20},
		{0, 100, 8 << 20, 1024},
	} {
		if got := cap(grow(make([]byte, test.held), test.announced, test.most)); got > test.want || got <= test.held {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// TestSlowBody checks that a body must arrive in time, that the handler gets the error, and that the limit ends with
// the body.
func TestSlowBody(t *testing.T) {
	got := make(chan error, 1)
	f := serveGuarded(t, Limits{BodyTimeout: 100 * time.Millisecond}, func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		select {
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
		got <- err
	})
	f.dial(partial(10, "abc"))
	if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("want a timeout of the read, got %v", err)
	}
	f.dial(partial(3, "abc"))
	if err := <-got; err != nil {
		t.Errorf("want the body to be read without an error, got %v", err)
	}
}

// TestStalledRequests checks that requests with stalled bodies are ended, the longest stalled first, instead of
// blocking others.
func TestStalledRequests(t *testing.T) {
	f := serveGuarded(t, Limits{Requests: 2, Waiting: 4}, echoLength)
	for range 40 {
		f.dial(partial(1<<20, "x"))
	}
	f.eventually("those before are ended", func() bool {
		return f.count("graft_server_refused_total", map[string]string{"kind": "body", "reason": "stalled"}) == 34
	})
	for range 20 {
		if got := f.post(strings.NewReader("abc")); got != "200 3 <nil>" {
			t.Fatalf("an honest caller: %s", got)
		}
	}
}

// TestEndedBodyIsRejectedAtOnce checks that a request whose body was ended for another is answered at once, instead of
// waiting for a turn without a place in the queue.
func TestEndedBodyIsRejectedAtOnce(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int32
	f := serveGuarded(t, Limits{Requests: 1, Waiting: 1, Patience: time.Hour}, func(context.Context, http.ResponseWriter, *http.Request) {
		inside.Add(1)
		<-release
	})
	// With HTTP/1, the end of the body also ends the connection and with it the request.
	overHTTP2 := &http.Transport{Protocols: &http.Protocols{}}
	overHTTP2.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(overHTTP2.CloseIdleConnections)
	f.client.Transport = overHTTP2
	answers, ended := make(chan string, 2), make(chan string, 1)
	post := func() { answers <- f.post(strings.NewReader("abc")) }
	go post()
	f.eventually("one is in progress", func() bool { return inside.Load() == 1 })
	body, write := io.Pipe()
	defer write.Close()
	go func() { ended <- f.post(body) }()
	if _, err := io.WriteString(write, "abc"); err != nil {
		t.Fatal(err)
	}
	f.eventually("a body is arriving", func() bool { return f.count("graft_server_body_bytes", nil) == 6 })
	go post()
	select {
	case got := <-ended:
		if got != "503 "+ErrBusy.Error() {
			t.Errorf("the ended request got the answer %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("the ended request has no answer after a minute")
	}
	close(release)
	for range 2 {
		if got := <-answers; got != "200 " {
			t.Errorf("another request got the answer %q", got)
		}
	}
}

// TestBytes checks that only received bytes count, and that a stalled request with many bytes is dropped for active
// ones.
func TestBytes(t *testing.T) {
	f := serveGuarded(t, Limits{Requests: 64, BodyBytes: 1 << 20, BodiesBytes: 4 << 20}, echoLength)
	for range 60 {
		f.dial(partial(1<<20, "x"))
	}
	f.eventually("all have arrived", func() bool { return f.count("graft_server_body_bytes", nil) == 60 })
	large := strings.Repeat("x", 1<<20)
	if got := f.post(strings.NewReader(large)); got != "200 1048576 <nil>" {
		t.Errorf("beside many that announce: %s", got)
	}
	if got := f.count("graft_server_refused_total", nil); got != 0 {
		t.Errorf("%v were refused", got)
	}
	for range 8 {
		go func() { // an ended request does not read all of its body
			c, err := net.Dial("tcp", f.address)
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = io.WriteString(c, partial(1<<20, large[1:]))
		}()
	}
	f.eventually("no room is left for large ones", func() bool { return f.count("graft_server_body_bytes", nil) >= 2<<20 })
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if got := f.post(strings.NewReader(large)); got != "200 1048576 <nil>" {
				t.Errorf("beside many that stall: %s", got)
			}
		})
	}
	for range 20 {
		if got := f.post(strings.NewReader("abc")); got != "200 3 <nil>" {
			t.Errorf("want a small body to be answered, got %s", got)
		}
	}
	all.Wait()
	if got := f.count("graft_server_refused_total", map[string]string{"reason": "busy"}); got != 0 {
		t.Errorf("%v were refused", got)
	}
}

// TestRequestsWaitForPlaces checks that requests wait up to their timeout, and are refused at once without one or with a full queue.
func TestRequestsWaitForPlaces(t *testing.T) {
	for about, test := range map[string]struct {
		limits Limits
		want   []string
	}{
		"requests wait for the only place":                   {Limits{Requests: 1, Waiting: 8, Patience: time.Minute}, []string{"200", "200", "200"}},
		"waiting requests time out while the place is taken": {Limits{Requests: 1, Waiting: 8, Patience: 50 * time.Millisecond}, []string{"200", "503", "503"}},
		"a request beyond the queue is rejected":             {Limits{Requests: 1, Waiting: 1, Patience: time.Minute}, []string{"200", "200", "503"}},
		"requests are rejected without a time to wait":       {Limits{Requests: 1, Waiting: 8}, []string{"200", "503", "503"}},
		"as many requests as places":                         {Limits{Requests: 3, Waiting: 1}, []string{"200", "200", "200"}},
		"rejects one request more than the limit":            {Limits{Requests: 2, Waiting: 1}, []string{"200", "200", "503"}},
	} {
		t.Run(about, func(t *testing.T) {
			release, answers := make(chan struct{}), make(chan string)
			f := serveGuarded(t, test.limits, func(context.Context, http.ResponseWriter, *http.Request) { <-release })
			for range 3 {
				go func() { answers <- f.post(strings.NewReader("abc"))[:3] }()
			}
			var got []string
			for _, want := range test.want {
				if want == "503" {
					got = append(got, <-answers)
				}
			}
			close(release)
			for len(got) < 3 {
				got = append(got, <-answers)
			}
			if slices.Sort(got); !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestWorkAfterAnswerKeepsPlace checks that work after the answer keeps its place, up to the limit of requests.
func TestWorkAfterAnswerKeepsPlace(t *testing.T) {
	hanging, done := make(chan struct{}), sync.WaitGroup{}
	f := serveGuarded(t, Limits{Requests: 3, Behind: 1}, func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) {
		release := Hold(ctx)
		done.Go(func() { <-hanging; release() })
	})
	taken := func(here, behind int) {
		t.Helper()
		f.eventually(fmt.Sprint(here, behind), func() bool {
			f.guard.mutex.Lock()
			defer f.guard.mutex.Unlock()
			return f.guard.here == here && f.guard.behind == behind
		})
	}
	for range 5 {
		if got := f.post(strings.NewReader("abc")); got != "200" && got != "200 " {
			t.Fatalf("got %q", got)
		}
		taken(1, 1)
	}
	close(hanging)
	done.Wait()
	taken(0, 0)
	if f.count("graft_server_body_bytes", nil) != 0 || !f.guard.places.TryAcquire(3) {
		t.Error("bytes of the limit were not released")
	}
}

// TestNewConnectionReplacesIdleOne checks that a new connection replaces the connection that has been idle the longest, and no busy one.
func TestNewConnectionReplacesIdleOne(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := serveGuarded(t, Limits{Connections: 4}, func(_ context.Context, w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "work" {
			entered <- struct{}{}
			<-release
		}
		fmt.Fprint(w, "done")
	})
	worked := f.dial(partial(4, "work"))
	<-entered
	// Each request of the honest caller needs its own connection: the server may close a kept one while the caller sends its next request on it.
	f.client.Transport.(*http.Transport).DisableKeepAlives = true
	first := f.dial("")
	f.eventually("two are open", func() bool { return f.count("graft_server_connections", nil) == 2 })
	for range 50 {
		f.dial(partial(10, "x"))
		if got := f.post(strings.NewReader("abc")); got != "200 done" {
			t.Fatalf("an honest caller: %s", got)
		}
	}
	if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("want the first connection closed, got %v", err)
	}
	close(release)
	if response, err := http.ReadResponse(bufio.NewReader(worked), nil); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the connection of an open request was closed: %v", err)
	} else {
		_ = response.Body.Close()
	}
	if got := f.count("graft_server_connections", nil); got > 4 {
		t.Errorf("%v are open", got)
	}
}

// TestBusyConnectionsAreKept checks that a connection beyond the limit is closed and counted if all others are busy.
func TestBusyConnectionsAreKept(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := serveGuarded(t, Limits{Connections: 2}, func(context.Context, http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	for range 2 {
		f.dial(partial(1, "x"))
		<-entered
	}
	if _, err := f.dial("").Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open, want it closed")
	}
	if got := f.count("graft_server_refused_total", map[string]string{"kind": "connection", "reason": "busy"}); got != 1 {
		t.Errorf("%v were refused", got)
	}
	close(release)
}

// TestPanicReleasesResources checks that a panic in a handler releases the resources of its request.
func TestPanicReleasesResources(t *testing.T) {
	g := NewGuard(withLimits(Limits{}), nil)
	func() {
		defer func() { _ = recover() }()
		_ = g.Serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("abc")), 10,
			func(context.Context, http.ResponseWriter, *http.Request) { panic("x") })
	}()
	if g.here != 0 || g.bytes != 0 || !g.places.TryAcquire(16) {
		t.Errorf("%d are here with %d bytes", g.here, g.bytes)
	}
}
