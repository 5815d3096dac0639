// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
)

// Limits bound the resources that clients can use.
type Limits struct {
	// Connections is the number of open connections of all listeners together.
	Connections int
	// Streams is the number of concurrent requests of one HTTP/2 connection. Clients open further connections
	// if they need more.
	Streams int
	// Requests is the number of requests in progress, Waiting the number of further requests that may arrive or
	// wait. Requests beyond that are rejected at once.
	Requests, Waiting int
	// Behind is the number of requests that may continue after their answer, or after their client
	// disconnected, and still count as in progress.
	Behind int
	// BodyBytes limits one body. BodiesBytes limits the received bytes of all bodies; it is at least four times
	// BodyBytes.
	BodyBytes, BodiesBytes int64
	// Patience limits both the wait for a turn and the work on a request. 0 rejects requests that would wait,
	// and does not limit the work.
	Patience time.Duration
	// BodyTimeout limits the time until a body has arrived.
	BodyTimeout time.Duration
}

const (
	// WriteTimeout limits the time for sending a response, after the time for its work.
	WriteTimeout = 15 * time.Second
	// BodyTimeout is the default limit for the arrival of a body.
	BodyTimeout = 15 * time.Second
	// streamBuffer limits unread data of one HTTP/2 connection, in bytes.
	streamBuffer = 256 << 10
)

// Guard limits connections, streams, requests and bytes of all listeners of a server together. A request takes
// its turn only when its body has arrived, so that clients that send nothing do not block other clients. At a limit, the
// requests that have waited longest for their clients end first.
type Guard struct {
	limits      Limits
	connections *Connections
	metrics     *Metrics
	places      *semaphore.Weighted

	// mutex guards the fields below, and those marked in received.
	mutex sync.Mutex
	// here counts the requests that arrive, wait or are in progress; behind counts those that continue without
	// a client.
	here, behind int
	bytes        int64
	// arriving lists the bodies that are arriving, the earliest first.
	arriving list.List
	// changed is closed when resources are released while bodies wait for them. waiting counts these bodies.
	changed chan struct{}
	waiting int
}

// NewGuard returns a guard. The metrics may be nil.
func NewGuard(l Limits, m *Metrics) *Guard {
	l.BodiesBytes = max(l.BodiesBytes, 4*l.BodyBytes)
	return &Guard{
		limits: l, connections: NewConnections(l.Connections, m), metrics: m, places: semaphore.NewWeighted(int64(l.Requests)),
		changed: make(chan struct{}),
	}
}

// Listen returns a listener with limited connections. It must be served by the result of Server.
func (g *Guard) Listen(l net.Listener) net.Listener { return g.connections.Listen(l) }

// Server returns a server with the limits. ReadHeaderTimeout also limits TLS handshakes.
func (g *Guard) Server(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: ErrorLog(log), ConnContext: withConnection,
		// Bodies and responses have separate deadlines.
		ReadHeaderTimeout: HeadTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: MaximumHead,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: g.limits.Streams, MaxReceiveBufferPerConnection: streamBuffer, MaxReceiveBufferPerStream: streamBuffer / 2,
		},
	}
}

// Serve calls next when the request's body has arrived, or failed to, and a place is free. It reads at most one
// byte more than most from the body. The context ends with the request's and keeps its resources: see Hold.
// Serve returns ErrBusy if it did not call next, also for a body that was ended in favor of another request.
func (g *Guard) Serve(w http.ResponseWriter, r *http.Request, most int64, next func(context.Context, http.ResponseWriter, *http.Request)) error {
	b, err := g.admit(w, r)
	if err != nil {
		CloseAfter(w, r)
		return err
	}
	err = b.receive(r.ContentLength, most)
	if g.arrived(b) {
		err = ErrBusy // another request has its place, so it must not wait for a turn
	}
	defer connectionOf(r.Context()).work()()
	if !b.whole() {
		lastAnswer(w, r)
	}
	ctx, end := r.Context(), func() {}
	if err == nil {
		ctx, end, err = g.waitTurn(r, b)
	}
	if err != nil {
		g.leave(b, false)
		return err
	}
	defer end()
	ctx, release := WithHold(ctx, func() { g.leave(b, true); b.recycle() })
	defer g.depart(b, release)
	if g.limits.Patience > 0 {
		_ = b.control.SetWriteDeadline(time.Now().Add(g.limits.Patience + WriteTimeout))
	}
	r.Body = b
	next(ctx, w, r)
	b.done = true
	return nil
}

// lastAnswer makes net/http send the response at once and close the connection, instead of waiting for the rest
// of the body.
func lastAnswer(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
		w.Header().Set("Connection", "close")
	}
}

// CloseAfter prepares the response to a request that is rejected before its body is read. It closes the
// connection after the response and reads the rest of the body for at most a second.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	lastAnswer(w, r)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
}

// Free calls next at once. It is for cheap requests, and for those that are limited elsewhere.
func (g *Guard) Free(w http.ResponseWriter, r *http.Request, next func(http.ResponseWriter, *http.Request)) {
	defer connectionOf(r.Context()).work()()
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.limits.BodyTimeout))
	}
	next(w, r)
}

// admit registers a request. At the limit, it ends the body that has been arriving longest.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request) (*received, error) {
	now := time.Now()
	b := &received{
		ReadCloser: r.Body, guard: g, announced: r.ContentLength, control: http.NewResponseController(w), began: now, markedAt: now, ended: make(chan struct{}),
	}
	if b.ReadCloser == nil {
		b.ReadCloser = http.NoBody
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.here >= g.limits.Requests+g.limits.Waiting {
		first := g.arriving.Front()
		if first == nil {
			g.metrics.refuse(refusedRequest, reasonBusy)
			return nil, ErrBusy
		}
		g.end(first.Value.(*received))
	}
	g.here++
	if b.ReadCloser != http.NoBody {
		_ = b.control.SetReadDeadline(now.Add(g.limits.BodyTimeout)) // connections without deadlines cannot block
		b.place = g.arriving.PushBack(b)
	}
	return b, nil
}

// waitTurn waits for a free place and returns a context for the request's work. After a wait, the context ends if
// the client disconnects.
func (g *Guard) waitTurn(r *http.Request, b *received) (ctx context.Context, end func(), err error) {
	if g.places.TryAcquire(1) {
		return r.Context(), func() {}, nil
	}
	if g.limits.Patience > 0 {
		patience := g.limits.Patience
		if said := Timeout(r); said > 0 {
			patience = min(patience, said)
		}
		limited, end := context.WithDeadline(r.Context(), b.began.Add(patience))
		if g.places.Acquire(limited, 1) == nil {
			return limited, end, nil
		}
		end()
	}
	g.metrics.refuse(refusedRequest, reasonBusy)
	return nil, nil, ErrBusy
}

// arrived records that no more of a body will be read, and reports whether another request has its place.
func (g *Guard) arrived(b *received) (displaced bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if b.place != nil {
		g.arriving.Remove(b.place)
		b.place = nil
		g.notify() // another body may be the earliest now
	}
	return b.displaced
}

// depart is called after the response. Work that continues without a client keeps its resources, up to Limits.Behind.
func (g *Guard) depart(b *received, release func()) {
	if !b.done {
		b.buffer = new([]byte) // after a panic, another goroutine may still use the buffer
	}
	g.mutex.Lock()
	if b.behind = g.behind < g.limits.Behind; b.behind {
		g.behind++
	}
	g.mutex.Unlock()
	if !b.behind {
		g.leave(b, true)
	}
	release()
}

// leave releases the resources of a request, and its place if it had one. Further calls do nothing.
func (g *Guard) leave(b *received, placed bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if b.gone {
		return
	}
	b.gone = true
	if !b.displaced {
		g.here--
	}
	if b.behind {
		g.behind--
	}
	if placed {
		g.places.Release(1)
	}
	g.bytes -= b.counted
	g.metrics.addBytes(-b.counted)
	g.notify()
}

// notify wakes all goroutines that wait for resources. The caller holds the mutex.
func (g *Guard) notify() {
	if g.waiting == 0 {
		return
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// take counts received bytes of a body and waits until they fit. It returns ErrBusy if they do not fit in time,
// or if the body was ended in favor of another.
func (g *Guard) take(b *received, n int64) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for !g.fits(b, n) {
		b.waits = true
		g.endStalled()
		changed := g.changed
		g.waiting++
		g.mutex.Unlock()
		left := time.NewTimer(min(stallTime, time.Until(b.began.Add(g.limits.BodyTimeout))))
		select {
		case <-changed:
		case <-left.C:
		case <-b.ended:
		}
		left.Stop()
		g.mutex.Lock()
		g.waiting--
		if time.Since(b.began) >= g.limits.BodyTimeout {
			g.metrics.refuse(refusedBody, reasonBusy)
			return ErrBusy
		}
	}
	b.waits = false
	if b.displaced {
		return ErrBusy
	}
	b.counted += n
	g.bytes += n
	g.metrics.addBytes(n)
	return nil
}

// fits reports whether n more bytes of a body fit. Half of the limit is for all bodies. The rest is for small
// bodies and the earliest large one, so that large bodies complete one after the other. The caller holds the
// mutex.
func (g *Guard) fits(b *received, n int64) bool {
	switch {
	case b.displaced || n == 0:
		return true
	case g.bytes+n > g.limits.BodiesBytes:
		return false
	case b.counted+n <= smallBody && b.announced <= smallBody:
		return true
	case g.bytes+n > g.limits.BodiesBytes-smallBody:
		return false // the last part is for small bodies, also if large ones are in progress
	case b.counted+n <= smallBody || g.bytes+n <= g.limits.BodiesBytes/2:
		return true
	}
	for e := g.arriving.Front(); e != nil; e = e.Next() {
		if other := e.Value.(*received); other == b || other.waits || other.counted > smallBody {
			return other == b
		}
	}
	return true
}

// endStalled ends bodies that send almost no data while other bodies wait. The caller holds the mutex.
func (g *Guard) endStalled() {
	now := time.Now()
	for e := g.arriving.Front(); e != nil; {
		b := e.Value.(*received)
		e = e.Next()
		switch {
		case b.waits:
			b.marked, b.markedAt = b.counted, now
		case now.Sub(b.markedAt) < stallTime:
		case b.counted-b.marked < smallBody:
			g.end(b)
		default:
			b.marked, b.markedAt = b.counted, now
		}
	}
}

// end ends a body so that another request can take its place. The caller holds the mutex.
func (g *Guard) end(b *received) {
	g.arriving.Remove(b.place)
	b.place, b.displaced = nil, true
	g.here--
	g.metrics.refuse(refusedBody, reasonStalled)
	close(b.ended)
	_ = b.control.SetReadDeadline(time.Now().Add(-time.Second))
}
